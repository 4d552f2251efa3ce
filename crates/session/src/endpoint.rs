//! Which provider a request goes to, and with what: setup and environment, never
//! a document.
//!
//! Decides only; whether a server answers is found out by `local`.

mod parameters;
mod vertex;

use chat::Problem;
use provider::providers::{self, PROVIDERS, ProviderSpec, VERTEX};
use provider::{Endpoint, Parameters, Secret};
use serde_json::Value;

use crate::credentials::Wanted;
use crate::settings::Settings;

pub use parameters::{patience, unmet};

/// Where a conversation goes.
#[derive(Debug, Clone)]
pub enum Destination {
    /// A server.
    Server(Endpoint, Box<Parameters>),
    /// The built-in tutor, which needs neither network nor key.
    Tutor,
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
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What `provider` names.
///
/// # Errors
///
/// The provider is unknown, its key is missing, or its address is.
pub fn destination(settings: &Settings, variables: Variables<'_>) -> Result<Destination, Problem> {
    if settings.provider == "tutor" {
        return Ok(Destination::Tutor);
    }
    let Some(spec) = providers::find(&settings.provider) else {
        let names: Vec<&str> = PROVIDERS
            .iter()
            .map(|spec| spec.name)
            .chain(["tutor", "auto"])
            .collect();
        return Err(Problem::new(
            format!(
                "There is no provider \"{}\", so nothing was sent.",
                settings.provider
            ),
            format!("Set provider to one of: {}.", names.join(", ")),
        ));
    };
    if let Some(name) = preset_not_taken(settings) {
        return Err(Problem::new(
            format!(
                "The model is \"{name}\", a preset that could not be taken, so nothing was sent."
            ),
            "Mend what setup{} said of it, or take another with `:Flemma switch`.",
        ));
    }
    let endpoint = endpoint(spec, settings, variables)?;
    let parameters = Box::new(parameters::given(spec, settings));
    if spec.needs_key && parameters.model.trim().is_empty() {
        return Err(Problem::new(
            format!("No model is set for {}, so nothing was sent.", spec.name),
            "Set model in setup{} to one that it offers.",
        ));
    }
    Ok(Destination::Server(endpoint, parameters))
}

/// What `auto` stands for, as far as the environment tells: the provider whose
/// key or address is set. `None`: look for a local server, else take the tutor.
pub fn from_environment(variables: Variables<'_>) -> Option<&'static str> {
    providers::set_up(variables)
}

/// The key that the provider of `settings` wants, or is to be given, and that
/// neither they nor the environment have.
pub fn wanted_key(settings: &Settings, variables: Variables<'_>) -> Option<Wanted> {
    let spec = providers::find(&settings.provider)?;
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

/// A path as a user writes it, with `~`.
pub fn expand(path: &str) -> String {
    match (path.strip_prefix("~/"), tools::variable("HOME")) {
        (Some(rest), Some(home)) => format!("{home}/{rest}"),
        _ => path.to_owned(),
    }
}

/// The preset that the option `model` still names, because it could not be taken.
fn preset_not_taken(settings: &Settings) -> Option<&str> {
    let model = settings.model.as_deref();
    model.filter(|model| model.starts_with('$'))
}

fn endpoint(
    spec: &ProviderSpec,
    settings: &Settings,
    variables: Variables<'_>,
) -> Result<Endpoint, Problem> {
    let named = settings
        .parameter(spec.name, "base_url")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let text = |name| settings.parameter(spec.name, name).and_then(Value::as_str);
    let given = named.or_else(|| variables(spec.base_url_variable).filter(|url| !url.is_empty()));
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
    let own = text("api_key").map(str::to_owned);
    let key_source = match own {
        Some(_) => format!("parameters.{}.api_key", spec.name),
        None => format!("${}", spec.key_variable),
    };
    let api_key = own
        .or_else(|| variables(spec.key_variable))
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use provider::{Level, Thinking};
    use serde_json::json;

    fn at(given: Value, set: &[(&str, &str)]) -> Result<(Endpoint, Parameters), String> {
        let (settings, _) = Settings::read(&given, &tools::Registry::builtin());
        let set: Vec<(String, String)> = set
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let variables = |name: &str| {
            set.iter()
                .find(|(it, _)| it == name)
                .map(|(_, value)| value.clone())
        };
        match destination(&settings, &variables) {
            Ok(Destination::Server(endpoint, parameters)) => Ok((endpoint, *parameters)),
            Ok(Destination::Tutor) => Err("tutor".to_owned()),
            Err(problem) => Err(problem.to_string()),
        }
    }

    #[test]
    fn a_missing_key_is_named_with_its_variable() {
        let problem = at(json!({}), &[]).unwrap_err();
        assert!(
            problem.contains("$ANTHROPIC_API_KEY is not set"),
            "{problem}"
        );
    }

    #[test]
    fn setup_says_where_and_the_environment_is_next() {
        let set = [
            ("ANTHROPIC_API_KEY", "k"),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1"),
        ];
        assert_eq!(
            at(json!({}), &set).unwrap().0.base_url,
            "http://127.0.0.1:1"
        );
        let given = json!({"parameters": {"anthropic": {"base_url": "http://127.0.0.1:2"}}});
        assert_eq!(at(given, &set).unwrap().0.base_url, "http://127.0.0.1:2");
    }

    #[test]
    fn a_key_in_setup_is_used_and_named_as_such() {
        let given = json!({"parameters": {"anthropic": {"api_key": "from-setup"}}});
        let (endpoint, _) = at(given, &[("ANTHROPIC_API_KEY", "from-environment")]).unwrap();
        assert_eq!(endpoint.api_key.unwrap().expose(), "from-setup");
        assert_eq!(endpoint.key_source, "parameters.anthropic.api_key");
    }

    #[test]
    fn a_providers_own_parameter_beats_the_general_one() {
        let given = json!({"parameters": {"max_tokens": 100, "temperature": 0.5, "anthropic": {"max_tokens": 200}}});
        let (_, parameters) = at(given, &[("ANTHROPIC_API_KEY", "k")]).unwrap();
        assert_eq!(
            (parameters.max_tokens, parameters.temperature),
            (Some(200), Some(0.5))
        );
    }

    #[test]
    fn thinking_is_a_level_a_number_or_off_and_the_providers_own_number_wins() {
        let thinking = |parameters: Value| {
            let given = json!({"parameters": parameters});
            at(given, &[("ANTHROPIC_API_KEY", "k")]).unwrap().1.thinking
        };
        assert_eq!(thinking(json!({})), None);
        assert_eq!(thinking(json!({"thinking": false})), Some(Thinking::Off));
        assert_eq!(
            thinking(json!({"thinking": "high"})),
            Some(Thinking::Level(Level::High))
        );
        assert_eq!(
            thinking(json!({"thinking": 2000})),
            Some(Thinking::Budget(2000))
        );
        let own = json!({"thinking": "high", "anthropic": {"thinking_budget": 3000}});
        assert_eq!(thinking(own), Some(Thinking::Budget(3000)));
    }

    #[test]
    fn an_unknown_provider_is_an_error_with_the_known_ones() {
        let problem = at(json!({"provider": "antropic"}), &[]).unwrap_err();
        assert!(
            problem.contains("anthropic, openai, gemini, vertex, local, openai_compatible"),
            "{problem}"
        );
    }

    #[test]
    fn the_address_of_vertex_is_made_of_project_and_location() {
        let token = ("VERTEX_AI_ACCESS_TOKEN", "t");
        let given = json!({"provider": "vertex", "parameters": {"vertex": {"project_id": "p-1"}}});
        let (endpoint, _) = at(given.clone(), &[token]).unwrap();
        assert_eq!(
            endpoint.base_url,
            "https://aiplatform.googleapis.com/v1beta1/projects/p-1/locations/global/publishers/google"
        );
        let set = [token, ("GOOGLE_CLOUD_LOCATION", "europe-west4")];
        let (endpoint, _) = at(given, &set).unwrap();
        assert!(endpoint.base_url.starts_with(
            "https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/p-1/locations/europe-west4/"
        ));
        let given = json!({"provider": "vertex"});
        for (project, said) in [("", "needs a project"), ("a/../b", "no address can hold")] {
            let set = [token, ("GOOGLE_CLOUD_PROJECT", project)];
            let problem = at(given.clone(), &set).unwrap_err();
            assert!(problem.contains(said), "{problem}");
        }
    }

    #[test]
    fn auto_takes_what_the_environment_has() {
        assert_eq!(
            from_environment(&|name| (name == "ANTHROPIC_API_KEY").then(|| "k".to_owned())),
            Some("anthropic")
        );
        assert_eq!(from_environment(&|_| None), None);
        let groq = |name: &str| (name == "GROQ_API_KEY").then(|| "k".to_owned());
        assert_eq!(from_environment(&groq), None, "it has no default model");
    }

    #[test]
    fn each_provider_is_where_its_manual_says_and_takes_its_own_key() {
        for (name, key, base_url) in [
            ("openai", "OPENAI_API_KEY", "https://api.openai.com/v1"),
            ("groq", "GROQ_API_KEY", "https://api.groq.com/openai/v1"),
            (
                "together",
                "TOGETHER_API_KEY",
                "https://api.together.xyz/v1",
            ),
            (
                "openrouter",
                "OPENROUTER_API_KEY",
                "https://openrouter.ai/api/v1",
            ),
            ("deepseek", "DEEPSEEK_API_KEY", "https://api.deepseek.com"),
            ("moonshot", "MOONSHOT_API_KEY", "https://api.moonshot.ai/v1"),
        ] {
            let given = json!({"provider": name, "model": "m"});
            let (endpoint, _) = at(given.clone(), &[(key, "k")]).unwrap();
            assert_eq!(endpoint.base_url, base_url);
            assert_eq!(endpoint.api_key.unwrap().expose(), "k");
            let problem = at(given, &[]).unwrap_err();
            assert!(problem.contains(key), "{problem}");
        }
        for (name, base_url) in [
            ("ollama", "http://127.0.0.1:11434/v1"),
            ("llamacpp", "http://127.0.0.1:8080/v1"),
        ] {
            let (endpoint, _) = at(json!({"provider": name}), &[]).unwrap();
            assert_eq!(
                (endpoint.base_url.as_str(), endpoint.api_key),
                (base_url, None)
            );
        }
    }

    #[test]
    fn a_provider_without_a_default_model_asks_for_one() {
        let problem = at(json!({"provider": "groq"}), &[("GROQ_API_KEY", "k")]).unwrap_err();
        assert!(problem.contains("No model is set for groq"), "{problem}");
    }

    #[test]
    fn openais_own_words_reach_its_parameters() {
        let own = json!({"reasoning": "xhigh", "reasoning_summary": "none"});
        let given = json!({"provider": "openai", "parameters": {"openai": own}});
        let (_, parameters) = at(given, &[("OPENAI_API_KEY", "k")]).unwrap();
        assert_eq!(parameters.effort.as_deref(), Some("xhigh"));
        assert_eq!(parameters.summary.as_deref(), Some("none"));
    }
}
