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
        // Parameters may be written in a table of their own or beside the model.
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
mod tests;
