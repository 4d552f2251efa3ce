//! Whom a conversation is with: one of the providers that are known, its model, and
//! where and with which key it is asked.
//!
//! Keys and addresses that are not given come from the environment, under the names that
//! each provider's manual uses.

use ::provider::providers::{self, PROVIDERS, ProviderSpec};
use ::provider::{Endpoint, Parameters, Patience, Secret, Thinking, catalogue};
use std::fmt;
use std::sync::Arc;

use chat::Problem;

use crate::transport::Asker;

/// A model provider.
///
/// ```
/// use agent::Provider;
///
/// # fn main() -> Result<(), agent::Problem> {
/// let local = Provider::named("openai_compatible")?
///     .with_base_url("http://127.0.0.1:8080/v1")
///     .with_model("qwen3-4b");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Provider {
    place: Place,
    base_url: Option<String>,
    api_key: Option<Secret>,
    parameters: Parameters,
    /// Who may have another key when one is refused.
    pub(crate) asker: Option<Arc<dyn Asker>>,
}

/// Where a provider is.
#[derive(Debug, Clone)]
enum Place {
    /// Where its manual says, or the program, or the environment.
    Known(&'static ProviderSpec),
    /// Where somebody else has found out.
    Found(Endpoint),
}

impl Provider {
    /// The provider of that name: `anthropic`, `openai`, `gemini`, `ollama`,
    /// `openai_compatible` and so on, with the model that is usual for it, if one is.
    ///
    /// # Errors
    ///
    /// None has that name; the message lists them.
    pub fn named(name: &str) -> Result<Self, Problem> {
        let offered = || PROVIDERS.iter().filter(|it| it.name != providers::LOCAL);
        let Some(known) = offered().find(|known| known.name == name) else {
            let names: Vec<&str> = offered().map(|known| known.name).collect();
            return Err(Problem::new(
                format!("There is no provider \"{name}\"."),
                format!("Providers: {}.", names.join(", ")),
            ));
        };
        let parameters = Parameters {
            model: known.model.to_owned(),
            ..Parameters::default()
        };
        Ok(Self::at(Place::Known(known), parameters))
    }

    /// A provider whose address, key and parameters were found out elsewhere; they are
    /// taken as they are.
    pub fn found(endpoint: Endpoint, parameters: Parameters) -> Self {
        Self::at(Place::Found(endpoint), parameters)
    }

    fn at(place: Place, parameters: Parameters) -> Self {
        Self {
            place,
            base_url: None,
            api_key: None,
            parameters,
            asker: None,
        }
    }

    /// The first provider whose key, or address, is in the environment.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn from_environment() -> Result<Self, Problem> {
        match providers::set_up(&variable) {
            Some(name) => Self::named(name),
            None => Err(Problem::new(
                "The environment names no provider.",
                "Set a key such as $ANTHROPIC_API_KEY, or $OPENAI_COMPATIBLE_BASE_URL to the address of a server.",
            )),
        }
    }

    /// Asks this model.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.parameters.model = model.into();
        self
    }

    /// Asks at this address instead of the provider's own: for Chat Completions and
    /// OpenAI with `/v1`, for Anthropic and Gemini without.
    #[must_use]
    pub fn with_base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sends this key. It is never printed.
    #[must_use]
    pub fn with_api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(Secret::new(key));
        self
    }

    /// Lets an answer have at most so many tokens, thinking included.
    #[must_use]
    pub fn with_max_tokens(mut self, tokens: u32) -> Self {
        self.parameters.max_tokens = Some(tokens);
        self
    }

    /// Sets the sampling temperature.
    #[must_use]
    pub fn with_temperature(mut self, temperature: f64) -> Self {
        self.parameters.temperature = Some(temperature);
        self
    }

    /// Says how much the model is to think.
    #[must_use]
    pub fn with_thinking(mut self, thinking: Thinking) -> Self {
        self.parameters.thinking = Some(thinking);
        self
    }

    /// Says how long and how often to wait for an answer.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.parameters.patience = patience;
        self
    }

    /// Asks this for another key when one is refused.
    #[must_use]
    pub fn with_asker(mut self, asker: Arc<dyn Asker>) -> Self {
        self.asker = Some(asker);
        self
    }

    /// Where a request goes and what goes with it.
    ///
    /// # Errors
    ///
    /// The key, the address or the model is missing.
    pub(crate) fn target(&self) -> Result<(Endpoint, Parameters), Problem> {
        let known = match &self.place {
            Place::Known(known) => known,
            Place::Found(endpoint) => {
                let mut endpoint = endpoint.clone();
                endpoint.api_key = self.api_key.clone().or(endpoint.api_key);
                endpoint.base_url = self.base_url.clone().unwrap_or(endpoint.base_url);
                return Ok((endpoint, self.parameters.clone()));
            }
        };
        let given = self.base_url.clone();
        let base_url = given
            .or_else(|| variable(known.base_url_variable))
            .unwrap_or_else(|| known.base_url.to_owned());
        let missing = |what: &str, fix: String| {
            let what = format!("{} has no {what}, so nothing was sent.", known.name);
            Problem::new(what, fix)
        };
        if base_url.is_empty() {
            let fix = format!("Set ${} or call with_base_url.", known.base_url_variable);
            return Err(missing("address", fix));
        }
        let at_hand = || variable(known.key_variable).map(Secret::new);
        let api_key = self.api_key.clone().or_else(at_hand);
        if known.needs_key && api_key.is_none() {
            let fix = format!("Set ${} or call with_api_key.", known.key_variable);
            return Err(missing("key", fix));
        }
        if known.needs_key && self.parameters.model.trim().is_empty() {
            let fix = "Call with_model with one that it offers.".to_owned();
            return Err(missing("model", fix));
        }
        let mut parameters = self.parameters.clone();
        let about = catalogue::model(known.name, &parameters.model, None);
        parameters.text_tools = about.tools == Some(false);
        parameters.about = Box::new(about);
        let endpoint = Endpoint {
            provider: known.name.to_owned(),
            protocol: known.protocol,
            base_url,
            api_key,
            key_source: format!("${}", known.key_variable),
            ca_file: None,
        };
        Ok((endpoint, parameters))
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("place", &self.place)
            .field("base_url", &self.base_url)
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}

fn variable(name: &str) -> Option<String> {
    let value = tools::variable(name)?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}
