//! The destination of `:Flemma switch` and of `presets`: a provider, a model, and parameters.
//! Reads and validates it; does not know when it applies.

use serde_json::{Map, Value, json};

use super::{Problems, Settings};
use crate::options::{self, InvalidOption, PROVIDER_NAMES, Scope};
use chat::did_you_mean;

/// A provider, a model, and parameters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Target {
    /// A provider's name.
    pub provider: String,
    /// A model, by the provider's name for it.
    pub model: Option<String>,
    /// Parameters for this provider only; null restores an earlier value.
    pub parameters: Map<String, Value>,
}

impl Target {
    /// Parses the arguments of `:Flemma switch`, names and `key=value` pairs in any order.
    pub(crate) fn of_line(line: &str) -> Self {
        let mut target = Self::default();
        // The first name is the provider, the second one the model; pairs may be anywhere.
        let mut names = line.split_whitespace().filter(|word| !word.contains('='));
        names
            .next()
            .unwrap_or_default()
            .clone_into(&mut target.provider);
        target.model = names.next().map(str::to_owned);
        let pairs = line
            .split_whitespace()
            .filter_map(|word| word.split_once('='));
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value_of(value)));
        target.parameters = pairs.collect();
        target
    }

    /// Reads a preset: a line, or a table whose other names are parameters.
    fn of_preset(preset: &Value) -> Self {
        let table = match preset {
            Value::String(line) => return Self::of_line(line),
            table => table.as_object().cloned().unwrap_or_default(),
        };
        let text = |name: &str| table.get(name).and_then(Value::as_str).map(str::to_owned);
        // Parameters may be written in a table of their own or next to the model.
        let nested = table.get("parameters").and_then(Value::as_object).cloned();
        let own = table.iter();
        let own =
            own.filter(|(name, _)| !["provider", "model", "parameters"].contains(&name.as_str()));
        let own = own.map(|(name, value)| (name.clone(), value.clone()));
        Self {
            provider: text("provider").unwrap_or_default(),
            model: text("model"),
            parameters: nested.unwrap_or_default().into_iter().chain(own).collect(),
        }
    }

    /// Returns the target that a chat names with `provider`, `model`, or both. Without a
    /// provider, the model belongs to the provider of `settings`; a `$preset` brings its own.
    ///
    /// # Errors
    ///
    /// The preset does not exist, or is one of another provider than the chat names.
    pub fn of_chat(
        provider: Option<&str>,
        model: Option<&str>,
        settings: &Settings,
    ) -> Result<Self, String> {
        let Some(preset) = model.filter(|it| it.starts_with('$')) else {
            return Ok(Self {
                provider: provider.unwrap_or(&settings.provider).to_owned(),
                model: model.map(str::to_owned),
                parameters: Map::new(),
            });
        };
        let target = settings.preset(preset)?;
        match provider.filter(|it| *it != target.provider) {
            None => Ok(target),
            Some(other) => Err(format!(
                "\"{preset}\" is a preset of {}, but provider is \"{other}\". Remove one of the two.",
                target.provider
            )),
        }
    }

    /// Converts the target to options.
    ///
    /// # Errors
    ///
    /// The problems, a sentence each.
    pub fn options(&self) -> Result<Value, Vec<String>> {
        if !PROVIDER_NAMES.contains(&self.provider.as_str()) {
            let meant = did_you_mean(&self.provider, PROVIDER_NAMES.iter().copied());
            return Err(vec![format!(
                "There is no provider \"{}\".{meant}",
                self.provider
            )]);
        }
        let mut options = json!({"provider": self.provider});
        if let Some(model) = &self.model {
            options["model"] = json!(model);
        }
        // The tutor and `auto` have no table of their own.
        options["parameters"] = match self.provider.as_str() {
            "tutor" | "auto" => json!(self.parameters),
            provider => json!({ provider: self.parameters }),
        };
        let (fitting, invalid) = options::check(&options, Scope::Runtime);
        if invalid.is_empty() {
            Ok(fitting)
        } else {
            Err(invalid.iter().map(ToString::to_string).collect())
        }
    }
}

/// Parses a word as a value; an empty word is nil.
pub fn value_of(word: &str) -> Value {
    match word {
        // `key=` restores an earlier value, as nil does in Lua.
        "" | "nil" | "null" => Value::Null,
        _ => match serde_json::from_str(word) {
            // No other JSON, because text is written without quotes.
            Ok(value @ (Value::Bool(_) | Value::Number(_))) => value,
            _ => Value::from(word),
        },
    }
}

impl Settings {
    /// Returns the content of a preset, whose name begins with `$`.
    ///
    /// # Errors
    ///
    /// There is no preset of that name.
    pub fn preset(&self, name: &str) -> Result<Target, String> {
        let preset = self.presets.get(name).map(Target::of_preset);
        preset.ok_or_else(|| {
            let meant = did_you_mean(name, self.presets.keys().map(String::as_str));
            format!("There is no preset \"{name}\".{meant}")
        })
    }

    /// Reports problems of `presets`, and applies the preset that `model` names. If that fails,
    /// the name stays in `model`, and nothing is sent because no provider has such a model.
    pub(super) fn take_preset(&mut self, given: &Value, problems: &mut Problems) {
        let mut report = |path: &str, what: &str| {
            let message = format!("{path}: {what}");
            problems.invalid.push(InvalidOption::new(path, message));
        };
        for (name, preset) in &self.presets {
            if !name.starts_with('$') {
                let what = format!("the name \"{name}\" must start with \"$\".");
                report("presets", &what);
            }
            let wrong = Target::of_preset(preset).options().err();
            for what in wrong.into_iter().flatten() {
                report(&format!("presets.{name}"), &what);
            }
        }
        let Some(name) = self.model.clone().filter(|model| model.starts_with('$')) else {
            return;
        };
        match self.chosen(&name, given) {
            // As if the user had written them in `setup()`, so that later layers win over them.
            Ok(options) => *self = self.with_setup(options),
            Err(message) => report("model", &message),
        }
    }

    /// Returns the options of the preset that the option `model` names.
    fn chosen(&self, name: &str, given: &Value) -> Result<Value, String> {
        let target = self.preset(name)?;
        match given["provider"].as_str() {
            Some(provider) if provider != target.provider => Err(format!(
                "it is \"{name}\", a preset of {}, but provider is \"{provider}\". Nothing is sent \
                 until one of the two is gone.",
                target.provider
            )),
            _ => target.options().map_err(|problems| problems.join(" ")),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tools::Registry;

    use super::*;

    fn target(provider: &str, model: Option<&str>, parameters: &Value) -> Target {
        Target {
            provider: provider.to_owned(),
            model: model.map(str::to_owned),
            parameters: parameters.as_object().cloned().unwrap_or_default(),
        }
    }

    #[test]
    fn a_word_is_a_number_a_flag_nothing_or_text() {
        for (word, expected) in [
            ("", Value::Null),
            ("nil", Value::Null),
            ("null", Value::Null),
            ("true", json!(true)),
            ("12", json!(12)),
            ("0.5", json!(0.5)),
            ("low", json!("low")),
            ("[1]", json!("[1]")),
            ("50%", json!("50%")),
        ] {
            assert_eq!(value_of(word), expected, "{word}");
        }
    }

    #[test]
    fn a_line_and_a_table_name_the_same_target() {
        let expected = target(
            "openai",
            Some("m"),
            &json!({"thinking": "low", "max_tokens": 9}),
        );
        for preset in [
            json!("openai m thinking=low max_tokens=9"),
            json!("thinking=low openai max_tokens=9 m"),
            json!({"provider": "openai", "model": "m", "thinking": "low", "max_tokens": 9}),
            json!({"provider": "openai", "model": "m", "thinking": "low", "parameters": {"max_tokens": 9}}),
        ] {
            assert_eq!(Target::of_preset(&preset), expected, "{preset}");
        }
        assert_eq!(
            Target::of_preset(&json!("openai")),
            target("openai", None, &json!({}))
        );
    }

    #[test]
    fn a_target_is_options_of_its_provider() {
        let parameters = json!({"thinking": "low"});
        for (provider, expected) in [
            ("openai", json!({"openai": {"thinking": "low"}})),
            ("tutor", json!({"thinking": "low"})),
            ("auto", json!({"thinking": "low"})),
        ] {
            let options = target(provider, Some("m"), &parameters).options();
            let expected = json!({"provider": provider, "model": "m", "parameters": expected});
            assert_eq!(options, Ok(expected));
        }
        let problem = |provider: &str, parameters: &Value| {
            target(provider, None, parameters).options().unwrap_err()
        };
        assert_eq!(
            problem("gemni", &json!({})),
            ["There is no provider \"gemni\". Did you mean \"gemini\"?"]
        );
        let problems = problem("openai", &json!({"thinking": "lots"}));
        assert!(problems[0].starts_with("parameters.openai.thinking is \"lots\""));
    }

    fn read(given: &Value) -> (Settings, String) {
        let (settings, problems) = Settings::read(given, &Registry::builtin());
        (settings, problems.join(" "))
    }

    #[test]
    fn what_is_wrong_with_a_preset_is_reported() {
        for (presets, expected) in [
            (
                json!({"x": "openai"}),
                "presets: the name \"x\" must start with \"$\".",
            ),
            (
                json!({"$x": "nowhere"}),
                "presets.$x: There is no provider \"nowhere\".",
            ),
            (json!({"$x": "openai m"}), ""),
        ] {
            let (_, problems) = read(&json!({"presets": presets}));
            assert_eq!(problems, expected, "{presets}");
        }
    }

    #[test]
    fn a_preset_may_be_the_model() {
        let presets = json!({"$x": "openai m thinking=low", "$own": "openai"});
        let of = |given: Value| {
            let mut options = json!({"presets": presets});
            options::lay_over(&mut options, given);
            let (settings, problems) = read(&options);
            let model = settings.model.clone().unwrap_or_default();
            (format!("{} {model}", settings.provider), problems)
        };
        let taken = |name: &str| (name.to_owned(), String::new());
        assert_eq!(of(json!({"model": "$x"})), taken("openai m"));
        assert_eq!(of(json!({"model": "$own"})), taken("openai "));
        assert_eq!(
            of(json!({"model": "$x", "provider": "openai"})),
            taken("openai m")
        );
        assert_eq!(of(json!({"model": "m"})), taken("anthropic m"));

        let (target, problems) = of(json!({"model": "$x", "provider": "gemini"}));
        assert_eq!(target, "gemini $x", "nothing is sent there");
        let why = "it is \"$x\", a preset of openai, but provider is \"gemini\".";
        assert!(problems.contains(why), "{problems}");
        let (target, problems) = of(json!({"model": "$onw"}));
        assert_eq!(target, "anthropic $onw");
        let why = "model: There is no preset \"$onw\". Did you mean \"$own\"?";
        assert_eq!(problems, why);
    }
}
