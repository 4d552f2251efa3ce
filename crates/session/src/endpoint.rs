//! Determines the provider that a request goes to, with its key and parameters: from the
//! options and the environment, never from a document.
//!
//! Opens no connection; `local` finds out whether a server answers.

mod parameters;
mod vertex;

use chat::Problem;
use policy::settings::Settings;
use provider::providers::{self, PROVIDERS, ProviderSpec, VERTEX};
use provider::{Endpoint, Parameters, Secret};
use serde_json::{Map, Value};

use crate::credentials::Wanted;

pub use parameters::{patience, unmet, web_tools};

/// The destination of a request.
#[derive(Debug, Clone)]
pub enum Destination {
    /// A server.
    Server(Endpoint, Box<Parameters>),
    /// The built-in tutor, which needs neither network nor key.
    Tutor,
}

/// The provider and the model of a request, as far as the options say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestTarget {
    /// The provider's name.
    pub provider: String,
    /// The model's name at the provider; empty if a server chooses it.
    pub model: String,
    /// Maximum tokens of a prompt and its answer, if known.
    pub context: Option<u64>,
    /// True if the model rejects its thinking after a change of anything before it.
    pub binds_thinking: bool,
}

impl RequestTarget {
    /// Returns the target of a chat that the tutor answers.
    pub fn tutor() -> Self {
        Self {
            provider: "tutor".to_owned(),
            ..Self::default()
        }
    }

    /// Returns true if a request can say no more about it.
    pub fn is_complete(&self) -> bool {
        self.provider == "tutor" || !self.model.is_empty()
    }
}

/// Returns where the options send a request. Needs no key.
pub fn target(settings: &Settings, variables: GetVariable<'_>) -> RequestTarget {
    let named = Some(settings.provider.as_str()).filter(|it| *it != "auto");
    let provider = named.or_else(|| from_environment(variables));
    let Some(spec) = provider.and_then(providers::find) else {
        return RequestTarget {
            provider: settings.provider.clone(),
            ..RequestTarget::default()
        };
    };
    let parameters = parameters::given(spec, settings);
    RequestTarget {
        provider: spec.name.to_owned(),
        model: parameters.model,
        context: parameters.about.context,
        binds_thinking: parameters.about.preserved_thinking == Some(true),
    }
}

/// The provider whose server the host starts, and the name under which `variables` of
/// [`destination`] contains its address.
pub use provider::providers::LOCAL;

/// The names of the providers, without `tutor` and `auto`.
pub fn provider_names() -> Vec<String> {
    PROVIDERS.iter().map(|spec| spec.name.to_owned()).collect()
}

/// The usual addresses of servers on this machine.
pub fn local_addresses() -> impl Iterator<Item = &'static str> {
    providers::on_this_machine().map(|spec| spec.base_url)
}

/// Reads an environment variable; a parameter, so that tests need no environment.
pub type GetVariable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns the destination that the option `provider` names.
///
/// # Errors
///
/// The provider is unknown, or its key, address, or model is missing.
pub fn destination(
    settings: &Settings,
    variables: GetVariable<'_>,
) -> Result<Destination, Problem> {
    if settings.provider == "tutor" {
        return Ok(Destination::Tutor);
    }
    let spec = providers::find(&settings.provider);
    let spec = spec.ok_or_else(|| unknown_provider(&settings.provider))?;
    if let Some(name) = preset_not_taken(settings) {
        return Err(Problem::new(
            format!("The model is \"{name}\", a preset with an error, so nothing was sent."),
            "Correct it in setup{}, or choose another with `:Flemma switch`.",
        ));
    }
    let endpoint = endpoint(spec, settings, variables)?;
    let parameters = Box::new(parameters::given(spec, settings));
    // A server on this machine has a model of its own.
    if spec.needs_key && parameters.model.trim().is_empty() {
        return Err(Problem::new(
            format!("No model is set for {}, so nothing was sent.", spec.name),
            "Set model in setup{} to one that it offers.",
        ));
    }
    Ok(Destination::Server(endpoint, parameters))
}

/// Adds to the parameters of a request what the provider's own list says about the model.
pub fn refine(
    endpoint: &Endpoint,
    parameters: &mut Parameters,
    settings: &Settings,
    list: &Map<String, Value>,
) {
    if let Some(spec) = providers::find(&endpoint.provider)
        && !list.is_empty()
    {
        *parameters = parameters::with_list(spec, settings, list);
    }
}

fn unknown_provider(name: &str) -> Problem {
    let names = PROVIDERS.iter().map(|spec| spec.name);
    let names: Vec<&str> = names.chain(["tutor", "auto"]).collect();
    Problem::new(
        format!("There is no provider \"{name}\", so nothing was sent."),
        format!("Set provider to one of: {}.", names.join(", ")),
    )
}

/// Returns the provider that `auto` means: the one whose key or address is in the
/// environment. `None` means a local server, or else the tutor.
pub fn from_environment(variables: GetVariable<'_>) -> Option<&'static str> {
    providers::set_up(variables)
}

/// Returns the key that has to be looked for: the provider of `settings` needs one, or has
/// a command for it, and it is neither in the options nor in the environment.
pub fn wanted_key(settings: &Settings, variables: GetVariable<'_>) -> Option<Wanted> {
    let spec = providers::find(&settings.provider)?;
    // `destination` reports this preset and sends nothing, so no key is needed.
    if preset_not_taken(settings).is_some() {
        return None;
    }
    let own = |name: &str| settings.parameter(spec.name, name);
    let command = own("api_key_command")
        .and_then(Value::as_array)
        .map(|argv| {
            let words = argv.iter().filter_map(Value::as_str);
            words.map(str::to_owned).collect()
        });
    let at_hand = own("api_key").and_then(Value::as_str).map(str::to_owned);
    let at_hand = at_hand.or_else(|| variables(spec.key_variable));
    let has_one = at_hand.is_some_and(|key| !key.trim().is_empty());
    (!has_one && (spec.needs_key || command.is_some())).then(|| Wanted {
        provider: spec.name.to_owned(),
        variable: spec.key_variable.to_owned(),
        command,
        needed: spec.needs_key,
    })
}

/// Expands `~/` in a path.
pub fn expand(path: &str) -> String {
    match (path.strip_prefix("~/"), tools::variable("HOME")) {
        (Some(rest), Some(home)) => format!("{home}/{rest}"),
        _ => path.to_owned(),
    }
}

/// Returns the name in the option `model` if it is a preset that could not be applied.
fn preset_not_taken(settings: &Settings) -> Option<&str> {
    let model = settings.model.as_deref();
    model.filter(|model| model.starts_with('$'))
}

fn endpoint(
    spec: &ProviderSpec,
    settings: &Settings,
    variables: GetVariable<'_>,
) -> Result<Endpoint, Problem> {
    let base_url = base_url(spec, settings, variables)?;
    let text = |name| settings.parameter(spec.name, name).and_then(Value::as_str);
    let own = text("api_key").map(str::to_owned);
    let key_source = match own {
        Some(_) => format!("parameters.{}.api_key", spec.name),
        None => format!("${}", spec.key_variable),
    };
    let api_key = own
        .or_else(|| variables(spec.key_variable))
        // A key from a file often ends in a newline, which no header may contain.
        .map(|key| key.trim().to_owned())
        .filter(|key| !key.is_empty());
    if spec.needs_key && api_key.is_none() {
        return Err(Problem::new(
            format!(
                "There is no key for {}: ${} is not set, so nothing was sent.",
                spec.name, spec.key_variable
            ),
            "Set it and restart Neovim, or try `:Flemma tutor`, which needs no key.",
        ));
    }
    Ok(Endpoint {
        provider: spec.name.to_owned(),
        protocol: spec.protocol,
        base_url,
        api_key: api_key.map(Secret::new),
        key_source,
        ca_file: text("ca_file").map(|path| expand(path).into()),
    })
}

/// Returns a provider's address: from the options, the environment, or the table.
fn base_url(
    spec: &ProviderSpec,
    settings: &Settings,
    variables: GetVariable<'_>,
) -> Result<String, Problem> {
    let text = |name| settings.parameter(spec.name, name).and_then(Value::as_str);
    // An empty variable is how shells unset one for a single command.
    let environment = || variables(spec.base_url_variable).filter(|url| !url.is_empty());
    let given = text("base_url").map(str::to_owned).or_else(environment);
    let base_url = if spec.name == VERTEX {
        vertex::base_url(given, text("project_id"), text("location"), variables)?
    } else {
        given.unwrap_or_else(|| spec.base_url.to_owned())
    };
    if base_url.is_empty() {
        return Err(Problem::new(
            format!(
                "The provider {} has no address, so nothing was sent.",
                spec.name
            ),
            format!(
                "Set ${} to its address, such as {}, and restart Neovim.",
                spec.base_url_variable,
                local_addresses().next().unwrap_or_default()
            ),
        ));
    }
    Ok(base_url)
}

#[cfg(test)]
mod tests;
