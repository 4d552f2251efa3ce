//! The layers of the options' values: the defaults, `setup()`, a project's options, switched
//! options, and the frontmatter of a chat.
//!
//! Merges them and shows which one set a value. Does not know what an option does.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Settings, Target};
use crate::options::as_lua;
use crate::options::{self, InvalidOption, Loosens, OptionDef, Scope, at, lay_over, nested};

/// The layers of some settings.
#[derive(Debug, Clone, Default)]
pub(super) struct Layers {
    /// The result of merging them.
    values: Value,
    setup: Value,
    project: Value,
    runtime: Value,
    chat: Value,
    /// Options that the command line sets, which a project does not change.
    pub(super) fixed: Vec<&'static str>,
    /// The user's options that failed to load.
    pub(super) broken: Broken,
    /// The project's options that failed to load.
    pub(super) broken_project: Broken,
}

/// Options that failed to load and might have restricted something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Broken {
    /// True if rules are among them, so that nothing is approved.
    pub(crate) rules: bool,
    /// True if options of the sandbox are, so that no command runs without one.
    pub(crate) sandbox: bool,
}

impl Layers {
    /// Returns the layers of a user who has given these options.
    pub(super) fn of_user(setup: Value) -> Self {
        Self {
            setup,
            ..Self::default()
        }
    }

    /// Returns the values of all layers.
    pub(super) fn values(&self) -> &Value {
        &self.values
    }

    /// Merges the layers.
    pub(super) fn merge(&mut self) {
        let mut values = options::defaults();
        for (scope, layer) in self.all() {
            // Before the layer itself, because it may set the provider's own parameter too.
            for (_, provider, name) in self.beaten_by(scope) {
                values["parameters"][provider][name] = Value::Null;
            }
            if !layer.is_null() {
                lay_over(&mut values, layer.clone());
            }
        }
        // After merging, which replaces lists.
        self.forbid(&mut values);
        self.values = values;
    }

    /// Adds the user's entries to a project's lists that forbid something.
    fn forbid(&self, values: &mut Value) {
        for (path, option, list) in options::set_in(&self.project) {
            if matches!(option.loosens, Loosens::Forbids)
                && let (Some(own), Some(list)) = (at(&self.setup, path), list.as_array())
            {
                let both = own.as_array().into_iter().flatten().chain(list);
                let both = Value::Array(both.cloned().collect());
                lay_over(values, nested(path, both));
            }
        }
    }

    /// Returns the layers, the lowest first.
    fn all(&self) -> [(Scope, &Value); 4] {
        [
            (Scope::Setup, &self.setup),
            (Scope::Project, &self.project),
            (Scope::Runtime, &self.runtime),
            (Scope::Frontmatter, &self.chat),
        ]
    }

    /// Returns the providers' own parameters of lower layers that a general one of a project
    /// or a chat beats, with their paths. A switch names the parameters of its provider.
    fn beaten_by(&self, scope: Scope) -> Vec<(String, String, String)> {
        let mut beaten = Vec::new();
        let layer = match scope {
            Scope::Project => &self.project,
            Scope::Frontmatter => &self.chat,
            _ => return beaten,
        };
        let general = layer["parameters"].as_object().into_iter().flatten();
        // An object is the table of a provider, not a general parameter.
        for (name, _) in general.filter(|(_, value)| !value.is_object()) {
            for (_, lower) in self.all().into_iter().filter(|(it, _)| *it < scope) {
                let tables = lower["parameters"].as_object().into_iter().flatten();
                let tables = tables.filter(|(_, table)| at(table, name).is_some());
                beaten.extend(tables.map(|(provider, _)| {
                    let path = format!("parameters.{provider}.{name}");
                    (path, provider.clone(), name.clone())
                }));
            }
        }
        beaten
    }

    /// Returns the model that belongs to a provider according to the options, ignoring switches;
    /// null if that is the provider's default, `None` if no layer needs to name it.
    fn model_of(&self, provider: &str) -> Option<Value> {
        let default = options::defaults()["provider"].take();
        let setup = at(&self.setup, "provider").unwrap_or(&default);
        let project = at(&self.project, "provider").unwrap_or(setup);
        match (project == provider, setup == provider) {
            (true, _) => None,
            (false, true) => Some(at(&self.setup, "model").cloned().unwrap_or_default()),
            (false, false) => Some(Value::Null),
        }
    }
}

/// One line of `:Flemma status verbose`.
#[derive(Debug, PartialEq)]
pub struct OptionStatus {
    /// The option's path.
    pub name: String,
    /// Its value as Lua would write it; never a key.
    pub value: String,
    /// The layer that set it; nothing if it has its default.
    pub layer: Option<Scope>,
}

impl OptionStatus {
    /// Returns the name of the layer that set the value.
    pub fn layer_name(&self) -> &'static str {
        self.layer.map_or("defaults", Scope::name)
    }
}

impl Settings {
    /// Sets an option until the host ends, over `setup()`.
    ///
    /// # Errors
    ///
    /// No command can change the option, or the value does not fit.
    pub fn switched(&self, path: &str, value: &Value) -> Result<Self, Vec<InvalidOption>> {
        let (fitting, invalid) = options::check(&nested(path, value.clone()), Scope::Runtime);
        if !invalid.is_empty() {
            return Err(invalid);
        }
        let mut runtime = self.layers.runtime.clone();
        lay_over(&mut runtime, fitting);
        Ok(self.with_runtime(runtime))
    }

    /// Switches provider, model, and parameters until the host ends, over `setup()` and in place
    /// of an earlier switch. Without a model, that of `setup()` applies if the provider is its
    /// own, otherwise the provider's default.
    ///
    /// # Errors
    ///
    /// The problems, a sentence each; then nothing is switched.
    pub fn switched_to(&self, target: &Target) -> Result<Self, Vec<String>> {
        let options = target.options()?;
        let mut runtime = self.layers.runtime.as_object().cloned().unwrap_or_default();
        // The model of a layer belongs to its provider, and no other provider has it.
        runtime.remove("model");
        let model = self.layers.model_of(&target.provider);
        runtime.extend(model.map(|model| ("model".to_owned(), model)));
        runtime.extend(options.as_object().cloned().unwrap_or_default());
        Ok(self.with_runtime(Value::Object(runtime)))
    }

    /// Switches to the model of `target`. Parameters of an earlier switch stay while the
    /// provider does.
    ///
    /// # Errors
    ///
    /// The problems, a sentence each; then nothing is switched.
    pub(crate) fn with_model_of(&self, target: &Target) -> Result<Self, Vec<String>> {
        // Another provider has other parameters, so those of the earlier switch are dropped.
        if target.provider != self.provider || !target.parameters.is_empty() {
            return self.switched_to(target);
        }
        target.options()?;
        let Some(model) = &target.model else {
            return Ok(self.clone());
        };
        let mut runtime = self.layers.runtime.clone();
        lay_over(&mut runtime, json!({ "model": model }));
        Ok(self.with_runtime(runtime))
    }

    /// Switches only the parameters of `target`. A null parameter restores that of `setup()`.
    ///
    /// # Errors
    ///
    /// The problems, a sentence each; then nothing is switched.
    pub fn with_parameters(&self, target: &Target) -> Result<Self, Vec<String>> {
        let mut options = target.options()?;
        let mut runtime = self.layers.runtime.clone();
        if let Some(own) = runtime.pointer_mut(&format!("/parameters/{}", target.provider))
            && let Some(own) = own.as_object_mut()
        {
            // A null in this layer would hide the value of `setup()`, which a null parameter
            // restores.
            own.retain(|name, _| !target.parameters.contains_key(name));
        }
        let parameters = json!({"parameters": options["parameters"].take()});
        lay_over(&mut runtime, parameters);
        Ok(self.with_runtime(runtime))
    }

    /// Returns true if `:Flemma switch` chose the provider.
    pub fn is_switched(&self) -> bool {
        self.layers.runtime["provider"].is_string()
    }

    /// Returns these settings with the provider, model and parameters that `chat` was
    /// switched to.
    pub fn keep_target(&self, chat: &Self) -> Self {
        let mut runtime = self.layers.runtime.as_object().cloned().unwrap_or_default();
        // Removed first: if the chat has none of them, those of `setup()` apply.
        for name in ["provider", "model", "parameters"] {
            runtime.remove(name);
            let chosen = chat.layers.runtime.get(name).cloned();
            runtime.extend(chosen.map(|value| (name.to_owned(), value)));
        }
        self.with_runtime(Value::Object(runtime))
    }

    /// Returns these settings with the switches of others.
    pub fn keep_switched(&self, before: &Self) -> Self {
        self.with_runtime(before.layers.runtime.clone())
    }

    /// Returns these settings with valid options laid over those of `setup()`. A model that they
    /// do not name is the provider's default.
    pub(super) fn with_setup(&self, options: Value) -> Self {
        let mut setup = self.layers.setup.clone();
        // The model names the preset, whose content replaces it.
        setup["model"] = Value::Null;
        lay_over(&mut setup, options);
        Self::of(Layers::of_user(setup))
    }

    fn with_runtime(&self, runtime: Value) -> Self {
        self.with_layers(Layers {
            runtime,
            ..self.layers.clone()
        })
    }

    /// Returns these settings with the options that a chat sets laid over them.
    pub(crate) fn with_chat(&self, chat: Value) -> Self {
        self.with_layers(Layers {
            chat,
            ..self.layers.clone()
        })
    }

    /// Returns these settings with the options of a project laid over those of `setup()`, and
    /// whether some failed to load.
    pub(crate) fn with_project_layer(&self, project: Value, broken_project: Broken) -> Self {
        self.with_layers(Layers {
            project,
            broken_project,
            ..self.layers.clone()
        })
    }

    /// Returns the value of an option in `setup()` or the configuration file.
    pub(super) fn own_value(&self, path: &str) -> Option<&Value> {
        at(&self.layers.setup, path)
    }

    /// Returns true if a project changes something, or might if it could be read.
    pub fn has_project(&self) -> bool {
        !self.layers.project.is_null() || self.layers.broken_project != Broken::default()
    }

    /// Returns true if the option that applies is that of a project.
    pub(crate) fn is_of_project(&self, path: &str) -> bool {
        at(&self.layers.project, path).is_some()
    }

    /// Returns the options that a project does not change.
    pub(crate) fn fixed(&self) -> &[&'static str] {
        &self.layers.fixed
    }

    /// Returns these settings with options that a project does not change.
    pub fn with_fixed(&self, fixed: Vec<&'static str>) -> Self {
        self.with_layers(Layers {
            fixed,
            ..self.layers.clone()
        })
    }

    fn with_layers(&self, layers: Layers) -> Self {
        Self {
            resolvers: self.resolvers.clone(),
            // Plan mode is not an option, so no layer contains it.
            plan: self.plan,
            ..Self::of(layers)
        }
    }

    /// Returns the value of an option.
    pub fn value(&self, path: &str) -> &Value {
        at(self.layers.values(), path).unwrap_or(&Value::Null)
    }

    /// Returns every option with its value and the layer that set it. `chosen` contains, by
    /// path, what the chat chose by other means than its layer.
    pub fn rows(&self, chosen: &BTreeMap<String, Value>) -> Vec<OptionStatus> {
        let row = |name: &str, value: String, layer| OptionStatus {
            name: name.to_owned(),
            value,
            layer,
        };
        let rows = options::leaves().map(|(path, option)| match chosen.get(path) {
            Some(value) => row(path, shown(option, value), Some(Scope::Frontmatter)),
            None => row(path, shown(option, self.value(path)), self.layer_of(path)),
        });
        // The tools of a chat are not an option of `setup()`.
        let is_own = |path: &str| options::leaves().all(|(known, _)| known != path);
        let own = chosen.iter().filter(|(path, _)| is_own(path));
        let own = own.map(|(path, value)| row(path, as_lua(value), Some(Scope::Frontmatter)));
        rows.chain(own).collect()
    }

    /// Returns the layer that set an option.
    fn layer_of(&self, path: &str) -> Option<Scope> {
        let layers = &self.layers;
        let mut all = layers.all().into_iter().rev();
        let found = all.find(|(scope, layer)| {
            let is_beaten = || layers.beaten_by(*scope).iter().any(|it| it.0 == path);
            at(layer, path).is_some() || is_beaten()
        });
        found.map(|(scope, _)| scope)
    }
}

fn shown(option: &OptionDef, value: &Value) -> String {
    if option.secret && !value.is_null() {
        // Status is copied into reports, so a key must not be in it.
        return "(set)".to_owned();
    }
    as_lua(value)
}

#[cfg(test)]
mod tests;
