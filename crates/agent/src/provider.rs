//! A model provider: its model, address, key, and request parameters.
//!
//! Missing keys and addresses come from the environment variables that each provider
//! documents.

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
    source: ProviderSource,
    base_url: Option<String>,
    api_key: Option<Secret>,
    parameters: Parameters,
    /// Supplies another key if the provider rejects the current one.
    pub(crate) asker: Option<Arc<dyn Asker>>,
}

/// Source of a provider's address and key.
#[derive(Debug, Clone)]
enum ProviderSource {
    /// A built-in provider; the program or the environment may override its address.
    Known(&'static ProviderSpec),
    /// An endpoint resolved by the caller.
    Found(Endpoint),
}

impl Provider {
    /// Returns the provider with this name, such as `anthropic`, `openai`, `gemini`,
    /// `ollama`, or `openai_compatible`, with its default model, if it has one.
    ///
    /// # Errors
    ///
    /// There is no provider with this name; the message lists them.
    pub fn named(name: &str) -> Result<Self, Problem> {
        // This library starts no server, so it can't offer the provider that needs one.
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
        Ok(Self::at(ProviderSource::Known(known), parameters))
    }

    /// Returns a provider with an address, key, and parameters resolved by the caller.
    pub fn found(endpoint: Endpoint, parameters: Parameters) -> Self {
        Self::at(ProviderSource::Found(endpoint), parameters)
    }

    fn at(source: ProviderSource, parameters: Parameters) -> Self {
        Self {
            source,
            base_url: None,
            api_key: None,
            parameters,
            asker: None,
        }
    }

    /// Returns the first provider whose key or address is set in the environment.
    ///
    /// # Errors
    ///
    /// The environment names no provider.
    pub fn from_environment() -> Result<Self, Problem> {
        match providers::set_up(&variable) {
            Some(name) => Self::named(name),
            None => Err(Problem::new(
                "The environment names no provider.",
                "Set a key such as $ANTHROPIC_API_KEY, or $OPENAI_COMPATIBLE_BASE_URL to the address of a server.",
            )),
        }
    }

    /// Sets the model.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.parameters.model = model.into();
        self
    }

    /// Sets the base URL: with `/v1` for Chat Completions and OpenAI, without it for
    /// Anthropic and Gemini.
    #[must_use]
    pub fn with_base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the API key, which is never printed.
    #[must_use]
    pub fn with_api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(Secret::new(key));
        self
    }

    /// Limits the tokens of an answer, thinking included.
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

    /// Sets how much the model thinks.
    #[must_use]
    pub fn with_thinking(mut self, thinking: Thinking) -> Self {
        self.parameters.thinking = Some(thinking);
        self
    }

    /// Sets time limits and retries.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.parameters.patience = patience;
        self
    }

    /// Sets the source of another key if the provider rejects the current one.
    #[must_use]
    pub fn with_asker(mut self, asker: Arc<dyn Asker>) -> Self {
        self.asker = Some(asker);
        self
    }

    /// Sends no signed thinking of earlier answers from now on.
    pub(crate) fn leave_out_thinking(&mut self) {
        self.parameters.without.signed_thinking = true;
    }

    /// Returns the endpoint and parameters of a request.
    ///
    /// # Errors
    ///
    /// The key, the address, or the model is missing.
    pub(crate) fn target(&self) -> Result<(Endpoint, Parameters), Problem> {
        let known = match &self.source {
            ProviderSource::Known(known) => known,
            ProviderSource::Found(endpoint) => {
                let mut endpoint = endpoint.clone();
                // A key that the program sets precedes one that was found.
                endpoint.api_key = self.api_key.clone().or(endpoint.api_key);
                endpoint.base_url = self.base_url.clone().unwrap_or(endpoint.base_url);
                return Ok((endpoint, self.parameters.clone()));
            }
        };
        let endpoint = self.known_endpoint(known)?;
        let mut parameters = self.parameters.clone();
        let about = catalogue::model(known.name, &parameters.model, None);
        // Models without tool calling get the tools in the prompt instead.
        parameters.text_tools = about.tools == Some(false);
        parameters.about = Box::new(about);
        Ok((endpoint, parameters))
    }

    /// Returns the endpoint of a built-in provider, completed from the environment.
    fn known_endpoint(&self, known: &ProviderSpec) -> Result<Endpoint, Problem> {
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
        // Only a local server can be asked for the model that it holds.
        if known.needs_key && self.parameters.model.trim().is_empty() {
            let fix = "Call with_model with one that it offers.".to_owned();
            return Err(missing("model", fix));
        }
        Ok(Endpoint {
            provider: known.name.to_owned(),
            protocol: known.protocol,
            base_url,
            api_key,
            key_source: format!("${}", known.key_variable),
            ca_file: None,
        })
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the key.
        f.debug_struct("Provider")
            .field("source", &self.source)
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
