//! Which layer an option's value came from: defaults, `setup()`, what was switched
//! since, the frontmatter of a chat.
//!
//! For showing and for switching; what an option does is not known here.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::definition::{self, Field};
use super::{Settings, Target, check};

/// Where a value came from. A later one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Nobody set it.
    Defaults,
    /// `setup()`.
    Setup,
    /// A command since.
    Runtime,
    /// The chat itself.
    Frontmatter,
}

impl Layer {
    /// Its name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Defaults => "defaults",
            Self::Setup => "setup",
            Self::Runtime => "runtime",
            Self::Frontmatter => "frontmatter",
        }
    }
}

/// The layers of the settings that all chats share.
#[derive(Debug, Clone, Default)]
pub(super) struct Layers {
    /// All of them, laid over each other.
    values: Value,
    setup: Value,
    runtime: Value,
}

impl Layers {
    pub(super) fn new(values: Value, setup: Value, runtime: Value) -> Self {
        Self {
            values,
            setup,
            runtime,
        }
    }
}

/// One line of `:Flemma status verbose`.
#[derive(Debug, PartialEq)]
pub struct Row {
    /// The option's whole name.
    pub name: String,
    /// Its value as Lua would write it; never a key.
    pub value: String,
    /// Who set it.
    pub layer: Layer,
}

impl Settings {
    /// Sets an option for the rest of this host's life, over `setup()`. Names an
    /// option by its whole name; what does not fit its definition changes nothing.
    pub fn switched(&self, name: &str, value: &Value) -> Self {
        let nested = name
            .rsplit('.')
            .fold(value.clone(), |inner, part| json!({ part: inner }));
        let mut problems = Vec::new();
        let Some(fitting) = check::fitting(&definition::ROOT, &nested, "", &mut problems) else {
            return self.clone();
        };
        let mut runtime = self.layers.runtime.clone();
        if runtime.is_null() {
            runtime = Value::Object(Map::new());
        }
        check::lay_over(&mut runtime, fitting);
        self.with_runtime(runtime)
    }

    /// Switches provider, model and parameters for the rest of this host's life, over
    /// `setup()` and in place of an earlier switch. Without a model it is that of
    /// `setup()` if the provider is its own, else the provider's.
    ///
    /// # Errors
    ///
    /// What does not fit, a sentence each; then nothing is switched.
    pub fn switched_to(&self, target: &Target) -> Result<Self, Vec<String>> {
        let options = target.options()?;
        let mut runtime = self.layers.runtime.as_object().cloned().unwrap_or_default();
        let own = at(&self.layers.setup, "provider").cloned();
        runtime.remove("model");
        if own.unwrap_or_else(|| definition::defaults()["provider"].take()) != target.provider {
            runtime.insert("model".to_owned(), Value::Null);
        }
        runtime.extend(options.as_object().cloned().unwrap_or_default());
        Ok(self.with_runtime(Value::Object(runtime)))
    }

    /// Switches to the model of `target`. Parameters of an earlier switch stay while the
    /// provider does.
    ///
    /// # Errors
    ///
    /// What does not fit, a sentence each; then nothing is switched.
    pub fn with_model_of(&self, target: &Target) -> Result<Self, Vec<String>> {
        if target.provider != self.provider || !target.parameters.is_empty() {
            return self.switched_to(target);
        }
        target.options()?;
        Ok(match &target.model {
            Some(model) => self.switched("model", &json!(model)),
            None => self.clone(),
        })
    }

    /// Switches the parameters of `target` alone. One that is null is as `setup()` has
    /// it.
    ///
    /// # Errors
    ///
    /// What does not fit, a sentence each; then nothing is switched.
    pub fn with_parameters(&self, target: &Target) -> Result<Self, Vec<String>> {
        let mut options = target.options()?;
        let mut runtime = self.layers.runtime.clone();
        if let Some(own) = runtime.pointer_mut(&format!("/parameters/{}", target.provider))
            && let Some(own) = own.as_object_mut()
        {
            own.retain(|name, _| !target.parameters.contains_key(name));
        }
        let parameters = json!({"parameters": options["parameters"].take()});
        if runtime.is_null() {
            runtime = parameters;
        } else {
            check::lay_over(&mut runtime, parameters);
        }
        Ok(self.with_runtime(runtime))
    }

    /// Whether `:Flemma switch` chose whom to send to.
    pub fn is_switched(&self) -> bool {
        self.layers.runtime["provider"].is_string()
    }

    /// These settings with the provider, model and parameters that `chat` was switched to.
    pub fn keep_target(&self, chat: &Self) -> Self {
        let mut runtime = self.layers.runtime.as_object().cloned().unwrap_or_default();
        for name in ["provider", "model", "parameters"] {
            runtime.remove(name);
            let chosen = chat.layers.runtime.get(name).cloned();
            runtime.extend(chosen.map(|value| (name.to_owned(), value)));
        }
        self.with_runtime(Value::Object(runtime))
    }

    /// These settings, with what was switched in others.
    pub fn keep_switched(&self, before: &Self) -> Self {
        self.with_runtime(before.layers.runtime.clone())
    }

    /// These settings, with options that fit laid over those of `setup()`. A model that
    /// they do not name is the provider's.
    pub(super) fn with_setup(&self, options: Value) -> Self {
        let mut setup = self.layers.setup.clone();
        setup["model"] = Value::Null;
        check::lay_over(&mut setup, options);
        Self::of(setup, Value::Null)
    }

    fn with_runtime(&self, runtime: Value) -> Self {
        let switched = runtime["provider"].as_str().map(str::to_owned);
        let mut settings = Self::of(self.layers.setup.clone(), runtime);
        settings.provider = switched.unwrap_or_else(|| self.provider.clone());
        settings.tools.auto_approve = self.tools.auto_approve.clone();
        settings.tools.require_approval = self.tools.require_approval;
        settings.resolvers = self.resolvers.clone();
        settings
    }

    /// Every option with its value and the layer that set it. `frontmatter` holds
    /// what a chat sets, by the option's whole name.
    pub fn rows(&self, frontmatter: &BTreeMap<String, Value>) -> Vec<Row> {
        let leaves = definition::leaves();
        let rows = leaves.iter().map(|(name, field)| {
            let (value, layer) = match frontmatter.get(name) {
                Some(value) => (value, Layer::Frontmatter),
                None => self.value(name),
            };
            Row {
                name: name.clone(),
                value: shown(field, value),
                layer,
            }
        });
        // What only a chat can say has no place among the options of `setup()`.
        let own = |name: &str| leaves.iter().all(|(known, _)| known != name);
        let more = frontmatter.iter().filter(|(name, _)| own(name));
        let more = more.map(|(name, value)| Row {
            name: name.clone(),
            value: as_lua(value),
            layer: Layer::Frontmatter,
        });
        rows.chain(more).collect()
    }

    fn value(&self, name: &str) -> (&Value, Layer) {
        let in_layer = |layer: &'_ Value| at(layer, name).is_some();
        let layer = if in_layer(&self.layers.runtime) {
            Layer::Runtime
        } else if in_layer(&self.layers.setup) {
            Layer::Setup
        } else {
            Layer::Defaults
        };
        let value = at(&self.layers.values, name).unwrap_or(&Value::Null);
        (value, layer)
    }
}

/// The value at a name such as `tools.bash.cwd`.
fn at<'a>(values: &'a Value, name: &str) -> Option<&'a Value> {
    name.split('.')
        .try_fold(values, |inner, part| inner.get(part))
}

fn shown(field: &Field, value: &Value) -> String {
    if field.is_secret() && !value.is_null() {
        return "(set)".to_owned();
    }
    as_lua(value)
}

/// A value as Lua writes it, on one line. A function of the user's is a comment.
pub(super) fn as_lua(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => float.to_string(),
            _ => number.to_string(),
        },
        Value::Array(items) if items.is_empty() => "{}".to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(as_lua).collect();
            format!("{{ {} }}", items.join(", "))
        }
        Value::Object(map) if map.len() == 1 && map.contains_key("function") => {
            "function".to_owned()
        }
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let pairs = map.iter().map(|(name, value)| (key(name), as_lua(value)));
            let pairs: Vec<String> = pairs
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}

fn key(name: &str) -> String {
    let plain = name
        .chars()
        .all(|it| it.is_ascii_alphanumeric() || it == '_');
    if plain && !name.starts_with(|it: char| it.is_ascii_digit()) && !name.is_empty() {
        name.to_owned()
    } else {
        format!("[{}]", Value::from(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tools::Registry;

    fn settings(given: Value) -> Settings {
        Settings::read(&given, &Registry::builtin()).0
    }

    fn row(
        settings: &Settings,
        frontmatter: &BTreeMap<String, Value>,
        name: &str,
    ) -> (String, Layer) {
        let mut rows = settings.rows(frontmatter).into_iter();
        let found = rows.find(|row| row.name == name);
        found.map_or_else(|| panic!("no option {name}"), |row| (row.value, row.layer))
    }

    #[test]
    fn each_value_names_the_last_layer_that_set_it() {
        let given = json!({"model": "m", "tools": {"autopilot": {"enabled": true}}});
        let settings = settings(given).switched("tools.autopilot.enabled", &json!(false));
        let chat = BTreeMap::from([("parameters.temperature".to_owned(), json!(0.5))]);
        for (name, value, layer) in [
            ("provider", r#""anthropic""#, Layer::Defaults),
            ("model", r#""m""#, Layer::Setup),
            ("tools.autopilot.enabled", "false", Layer::Runtime),
            ("parameters.temperature", "0.5", Layer::Frontmatter),
            ("tools.default_timeout", "30", Layer::Defaults),
            ("keymaps.normal.send", r#""<C-]>""#, Layer::Defaults),
        ] {
            assert_eq!(
                row(&settings, &chat, name),
                (value.to_owned(), layer),
                "{name}"
            );
        }
        assert!(!settings.tools.autopilot.enabled);
    }

    #[test]
    fn a_switch_outlives_another_setup() {
        let switched = settings(json!({})).switched("tools.autopilot.enabled", &json!(false));
        let again = settings(json!({"model": "m"})).keep_switched(&switched);
        assert!(!again.tools.autopilot.enabled);
        assert_eq!(again.model.as_deref(), Some("m"));
    }

    #[test]
    fn a_switch_never_brings_back_rules_that_failed_to_load() {
        let broken = settings(json!({"tools": {"auto_aprove": []}}));
        let switched = broken.switched("tools.autopilot.enabled", &json!(false));
        assert_eq!(switched.policy().decide("read"), None);
    }

    #[test]
    fn a_key_is_never_shown() {
        let settings = settings(json!({"parameters": {"anthropic": {"api_key": "s3cret"}}}));
        let shown = row(&settings, &BTreeMap::new(), "parameters.anthropic.api_key");
        assert_eq!(shown, ("(set)".to_owned(), Layer::Setup));
        assert!(!format!("{:?}", settings.rows(&BTreeMap::new())).contains("s3cret"));
    }

    #[test]
    fn values_are_shown_as_lua_writes_them() {
        for (value, lua) in [
            (json!(["$default", "bash"]), r#"{ "$default", "bash" }"#),
            (
                json!({"$x": {"deny": ["a"]}}),
                r#"{ ["$x"] = { deny = { "a" } } }"#,
            ),
            (json!({"function": 3}), "function"),
            (json!(null), "nil"),
        ] {
            assert_eq!(as_lua(&value), lua);
        }
    }
}
