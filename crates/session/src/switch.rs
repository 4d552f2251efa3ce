//! `:Flemma switch`: another provider, model, or parameters for one chat or, with `!`, for
//! all chats, until Neovim ends.
//!
//! Pure: returns the new settings, which the session or the host applies.

use chat::{Problem, did_you_mean};
use policy::options::parameter_words;
use policy::settings::{Settings, Target, value_of};
use provider::{catalogue, providers};
use serde_json::Value;

use crate::endpoint::{self, GetVariable};
use crate::protocol::{ModelItem, PickerItem};

/// Returns the settings after `:Flemma switch` with these words: a provider or `$preset`, a
/// model, and parameters as `name=value`. Parameters alone apply to the current provider.
///
/// # Errors
///
/// A name is unknown, or a parameter is invalid.
pub fn switch(settings: &Settings, arguments: &Value) -> Result<Settings, Problem> {
    let word = |name: &str| arguments[name].as_str();
    let (first, model) = (word("1"), word("2").map(str::to_owned));
    // Probably a parameter without its name; a guess could send the chat elsewhere.
    if let Some(more) = word("3") {
        return Err(nothing(&format!(
            "It is not clear what \"{more}\" refers to."
        )));
    }
    let mut target = match first {
        Some(name) if name.starts_with('$') => {
            settings.preset(name).map_err(|why| nothing(&why))?
        }
        Some(name) => Target {
            provider: name.to_owned(),
            ..Target::default()
        },
        // Without a provider, the words change only parameters of the current one.
        None => Target {
            provider: settings.provider.clone(),
            ..Target::default()
        },
    };
    // A model that the user names takes precedence over that of a preset.
    target.model = model.or(target.model);
    let named = arguments.as_object().into_iter().flatten();
    // Numbers are positions; all other names are parameters.
    let named = named.filter(|(name, _)| name.parse::<usize>().is_err());
    let named =
        named.map(|(name, value)| (name.clone(), value_of(value.as_str().unwrap_or_default())));
    target.parameters.extend(named);
    let switched = match first {
        Some(_) => settings.switched_to(&target),
        None => settings.with_parameters(&target),
    };
    switched.map_err(|problems| nothing(&problems.join(" ")))
}

fn nothing(why: &str) -> Problem {
    let fix = "`:Flemma switch` takes a provider or a $preset, a model, and name=value.";
    Problem::new(format!("{why} Nothing was switched."), fix)
}

/// Returns what can be switched to: the presets, and each provider with its known models.
pub fn choices(settings: &Settings, variables: GetVariable<'_>) -> Vec<PickerItem> {
    // The user's own models belong to no provider, so they are offered for each.
    let own = settings.models.keys();
    let providers = endpoint::provider_names()
        .into_iter()
        .map(|name| PickerItem {
            models: {
                let known = catalogue::names(&name).into_iter();
                let all = known.chain(own.clone().map(String::as_str));
                all.map(|model| model_item(settings, &name, model))
                    .collect()
            },
            note: key_note(settings, &name, variables).to_owned(),
            parameters: parameter_words(&name),
            name,
        });
    let presets = settings.presets.keys().map(|name| PickerItem {
        models: Vec::new(),
        note: String::new(),
        parameters: parameter_words(&settings.preset(name).unwrap_or_default().provider),
        name: name.clone(),
    });
    let tutor = PickerItem {
        name: "tutor".to_owned(),
        models: Vec::new(),
        note: "needs no key".to_owned(),
        parameters: Vec::new(),
    };
    presets.chain(providers).chain([tutor]).collect()
}

/// Returns whether requests to a provider can have a key, as far as options and environment
/// say. Key stores are not asked, because that takes time and may ask the user.
fn key_note(settings: &Settings, provider: &str, variables: GetVariable<'_>) -> &'static str {
    let Some(spec) = providers::find(provider) else {
        return "";
    };
    let is_given = |option| {
        let value = settings.parameter(spec.name, option);
        value.is_some_and(|it| !it.is_null())
    };
    let is_set = || variables(spec.key_variable).is_some_and(|it| !it.trim().is_empty());
    match spec.needs_key {
        _ if is_given("api_key") || is_given("api_key_command") || is_set() => "has a key",
        true => "no key set",
        false => "needs no key",
    }
}

fn model_item(settings: &Settings, provider: &str, name: &str) -> ModelItem {
    let facts = catalogue::model(provider, name, settings.models.get(name));
    let context = facts.context.map(|it| format!("context {}", tokens(it)));
    let price = facts
        .price
        .map(|it| format!("${} in, ${} out per million tokens", it.input, it.output));
    let end = facts.retires_at.map(|end| format!("until {end}"));
    let parts = [context, price, end].into_iter().flatten();
    ModelItem {
        name: name.to_owned(),
        note: parts.collect::<Vec<_>>().join(", "),
    }
}

/// Formats a number of tokens, as `200k` or `1.05M`.
fn tokens(count: u64) -> String {
    // The casts are exact up to 2^53 tokens.
    if count < 1_000_000 {
        return format!("{:.0}k", count as f64 / 1e3);
    }
    let millions = format!("{:.2}", count as f64 / 1e6);
    format!("{}M", millions.trim_end_matches('0').trim_end_matches('.'))
}

/// The chats that a switch changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchScope {
    /// The current one.
    ThisChat,
    /// All chats of this Neovim.
    EveryChat,
}

/// Returns a message about where chats are sent after a switch.
/// `today` is a date like `2026-01-31`.
pub fn message(settings: &Settings, scope: SwitchScope, today: &str) -> String {
    let model = settings.model.as_deref().unwrap_or("its default model");
    let target = match settings.provider.as_str() {
        "tutor" => "the built-in tutor".to_owned(),
        provider => format!("{provider} ({model})"),
    };
    let which = match scope {
        SwitchScope::ThisChat => "This chat",
        SwitchScope::EveryChat => "Every chat of this Neovim",
    };
    let remark = remark(settings, today);
    format!("{which} is sent to {target} from now on.{remark}")
}

/// Returns a remark about a model that is not in the catalogue or that ends, with a blank
/// before it. The provider may have it nevertheless.
fn remark(settings: &Settings, today: &str) -> String {
    let provider = settings.provider.as_str();
    if let Some(model) = &settings.model {
        let own = settings.models.get(model);
        let end = catalogue::model(provider, model, own).end(model, today);
        if let Some(end) = end {
            return format!(" {end}");
        }
    }
    // A remark and no error, because catalogues lag behind the providers.
    let names = catalogue::names(provider);
    let unknown = settings.model.as_deref().filter(|model| {
        let is_own = settings.models.contains_key(*model);
        !names.is_empty() && !is_own && !catalogue::knows(provider, model)
    });
    unknown.map_or_else(String::new, |model| {
        let meant = did_you_mean(model, names.iter().copied());
        format!(" The catalogue does not list this model.{meant}")
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn settings() -> Settings {
        let given = json!({
            "model": "mine",
            "parameters": {"gemini": {"base_url": "http://127.0.0.1:1"}},
            "presets": {
                "$fast": "gemini gemini-2.5-flash thinking=low max_tokens=100",
                "$deep": {"provider": "openai", "thinking": "high"},
            },
        });
        let (settings, problems) = Settings::read(&given, &tools::Registry::builtin());
        assert_eq!(problems, Vec::<String>::new());
        settings
    }

    fn switched(arguments: &Value) -> Result<Settings, String> {
        switch(&settings(), arguments).map_err(|problem| problem.to_string())
    }

    fn target(settings: &Settings) -> (&str, Option<&str>) {
        (&settings.provider, settings.model.as_deref())
    }

    #[test]
    fn a_model_that_is_not_in_the_catalogue_is_remarked_on() {
        let answer_to = |model: &str| {
            let settings = switched(&json!({"1": "anthropic", "2": model})).unwrap();
            message(&settings, SwitchScope::ThisChat, "2026-11-26")
        };
        let typo = answer_to("claude-sonet-4-6");
        assert!(typo.contains("does not list this model"), "{typo}");
        assert!(
            typo.ends_with("Did you mean \"claude-sonnet-4-6\"?"),
            "{typo}"
        );
        for known in ["claude-sonnet-4-6", "claude-sonnet-4-6-20990101"] {
            let answer = answer_to(known);
            assert!(answer.ends_with("from now on."), "{answer}");
        }
        // A server of the user has models that no catalogue lists.
        let local = switched(&json!({"1": "ollama", "2": "any"})).unwrap();
        let answer = message(&local, SwitchScope::ThisChat, "2026-11-26");
        assert!(answer.ends_with("from now on."), "{answer}");
    }

    #[test]
    fn the_end_of_a_model_is_remarked_on() {
        let vertex = switched(&json!({"1": "vertex", "2": "gemini-2.5-pro"})).unwrap();
        let answer = message(&vertex, SwitchScope::ThisChat, "2026-11-26");
        assert!(
            answer.ends_with("from now on. gemini-2.5-pro ended on 2026-10-20."),
            "{answer}"
        );
    }

    #[test]
    fn another_provider_uses_its_default_model_and_the_configured_one_that_of_setup() {
        let other = switched(&json!({"1": "openai"})).unwrap();
        assert_eq!(target(&other), ("openai", None));
        let back = switch(&other, &json!({"1": "anthropic"})).unwrap();
        assert_eq!(target(&back), ("anthropic", Some("mine")));
    }

    #[test]
    fn parameters_are_those_of_the_provider_and_the_last_switch() {
        let first = switched(&json!({"1": "gemini", "2": "m", "temperature": "0.5"})).unwrap();
        assert_eq!(target(&first), ("gemini", Some("m")));
        assert_eq!(first.parameter("gemini", "temperature"), Some(&json!(0.5)));
        let again = switch(&first, &json!({"1": "gemini", "thinking": "low"})).unwrap();
        assert_eq!(again.parameter("gemini", "temperature"), None);
        assert_eq!(again.parameter("gemini", "thinking"), Some(&json!("low")));
        let address = again.parameter("gemini", "base_url");
        assert_eq!(address, Some(&json!("http://127.0.0.1:1")), "of setup()");
    }

    #[test]
    fn parameters_alone_change_nothing_else_and_nil_takes_one_back() {
        let first = switched(&json!({"1": "gemini", "2": "m", "temperature": "0.5"})).unwrap();
        let again = switch(&first, &json!({"thinking": "low"})).unwrap();
        assert_eq!(target(&again), ("gemini", Some("m")));
        assert_eq!(again.parameter("gemini", "temperature"), Some(&json!(0.5)));
        let back = switch(&again, &json!({"temperature": ""})).unwrap();
        assert_eq!(back.parameter("gemini", "temperature"), None);
        assert_eq!(back.parameter("gemini", "thinking"), Some(&json!("low")));
    }

    #[test]
    fn a_preset_is_a_line_or_a_table_and_words_after_it_win() {
        let fast = switched(&json!({"1": "$fast", "max_tokens": "200"})).unwrap();
        assert_eq!(target(&fast), ("gemini", Some("gemini-2.5-flash")));
        assert_eq!(fast.parameter("gemini", "thinking"), Some(&json!("low")));
        assert_eq!(fast.parameter("gemini", "max_tokens"), Some(&json!(200)));
        let deep = switched(&json!({"1": "$deep", "2": "gpt-5"})).unwrap();
        assert_eq!(target(&deep), ("openai", Some("gpt-5")));
        assert_eq!(deep.parameter("openai", "thinking"), Some(&json!("high")));
    }

    #[test]
    fn a_misspelled_word_switches_nothing_and_is_reported() {
        for (arguments, said) in [
            (json!({"1": "gemni"}), "Did you mean \"gemini\"?"),
            (json!({"1": "$fats"}), "Did you mean \"$fast\"?"),
            (
                json!({"1": "gemini", "thinking": "lots"}),
                "parameters.gemini.thinking is \"lots\"",
            ),
            (json!({"thinkng": "low"}), "Did you mean \"thinking\"?"),
            (
                json!({"1": "gemini", "2": "a", "3": "b"}),
                "not clear what \"b\" refers to",
            ),
        ] {
            let problem = switched(&arguments).unwrap_err();
            assert!(problem.contains(said), "{problem}");
        }
    }

    #[test]
    fn a_switch_outlives_another_setup_and_other_switches() {
        let switched = switched(&json!({"1": "openai"})).unwrap();
        let other = switched
            .switched("tools.autopilot.enabled", &json!(false))
            .unwrap();
        assert_eq!(other.provider, "openai");
        assert_eq!(settings().keep_switched(&other).provider, "openai");
    }

    #[test]
    fn models_have_context_and_price_and_providers_say_if_they_have_a_key() {
        let given = json!({
            "models": {"mine": {"context": 32_768}},
            "parameters": {"groq": {"api_key_command": ["pass"]}},
        });
        let (settings, _) = Settings::read(&given, &tools::Registry::builtin());
        let set = |name: &str| (name == "OPENAI_API_KEY").then(|| "k".to_owned());
        let choices = choices(&settings, &set);
        let note = |name: &str| &choices.iter().find(|it| it.name == name).unwrap().note;
        for (name, expected) in [
            ("openai", "has a key"),
            ("groq", "has a key"),
            ("anthropic", "no key set"),
            ("ollama", "needs no key"),
        ] {
            assert_eq!(note(name), expected, "{name}");
        }
        let models = |name: &str| &choices.iter().find(|it| it.name == name).unwrap().models;
        let of = |provider: &str, model: &str| {
            let found = models(provider).iter().find(|it| it.name == model);
            found.unwrap().note.clone()
        };
        assert_eq!(
            of("openai", "gpt-6.1-sol"),
            "context 1.05M, $2 in, $10 out per million tokens"
        );
        assert_eq!(
            of("vertex", "gemini-2.5-pro"),
            "context 1.05M, $1.25 in, $10 out per million tokens, until 2026-10-20"
        );
        assert_eq!(of("groq", "mine"), "context 33k");
    }

    #[test]
    fn presets_come_first_and_a_parameter_with_few_values_shows_them() {
        let choices = choices(&settings(), &|_| None);
        assert_eq!(choices[0].name, "$deep");
        let words = &choices
            .iter()
            .find(|it| it.name == "openai")
            .unwrap()
            .parameters;
        for word in [
            "thinking=low",
            "thinking=false",
            "max_tokens=",
            "reasoning=xhigh",
        ] {
            assert!(words.iter().any(|it| it == word), "{word} in {words:?}");
        }
        assert!(
            !words.iter().any(|it| it.starts_with("api_key")),
            "{words:?}"
        );
    }
}
