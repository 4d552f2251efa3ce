//! What a chat's own frontmatter sets, by the whole names of the options: its layer
//! in `:Flemma status verbose`. Only for showing.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Rules;
use crate::frontmatter::{AutoApprove, Overrides};
use crate::settings::Settings;

impl Rules {
    /// The values that the frontmatter puts over `base`, less what it asks for and
    /// does not get.
    pub fn layer(&self, base: &Settings) -> BTreeMap<String, Value> {
        let mut layer = BTreeMap::new();
        let Some(evaluated) = &self.evaluated else {
            return layer;
        };
        let overrides = &evaluated.overrides;
        let applies = |option: &str| !self.is_withheld(option);
        let mut set = |name: &str, value: Option<Value>| {
            layer.extend(value.map(|value| (name.to_owned(), value)));
        };
        set("tools", overrides.tools.clone().map(Value::from));
        let approval = overrides.auto_approve.as_ref();
        let approval = approval.filter(|_| applies("tools.auto_approve"));
        set("tools.auto_approve", approval.map(approval_value));
        let autopilot = overrides.autopilot.filter(|_| applies("tools.autopilot"));
        set("tools.autopilot.enabled", autopilot.map(Value::Bool));
        if applies("provider") && applies("model") {
            set("provider", overrides.provider.clone().map(Value::from));
            set("model", overrides.model.clone().map(Value::from));
        }
        let sandbox = overrides.sandbox.as_ref().filter(|_| applies("sandbox"));
        leaves("sandbox", sandbox, &mut layer);
        parameters(overrides, base, &mut layer);
        layer
    }
}

fn leaves(name: &str, value: Option<&Value>, layer: &mut BTreeMap<String, Value>) {
    match value {
        None => {}
        Some(Value::Object(table)) => table
            .iter()
            .for_each(|(key, value)| leaves(&format!("{name}.{key}"), Some(value), layer)),
        Some(value) => drop(layer.insert(name.to_owned(), value.clone())),
    }
}

fn approval_value(approval: &AutoApprove) -> Value {
    match approval {
        AutoApprove::Function(_) => json!({"function": 0}),
        AutoApprove::List { names, exclusions } if exclusions.is_empty() => json!(names),
        AutoApprove::List { names, exclusions } => json!({"names": names, "without": exclusions}),
    }
}

fn parameters(overrides: &Overrides, base: &Settings, layer: &mut BTreeMap<String, Value>) {
    for (name, value) in &overrides.parameters {
        layer.insert(format!("parameters.{name}"), value.clone());
        // A general one of the chat beats the provider's own of the options.
        for (provider, table) in &base.parameters {
            if table.get(name).is_some_and(|value| !value.is_null()) {
                layer.insert(format!("parameters.{provider}.{name}"), Value::Null);
            }
        }
    }
    for (provider, own) in &overrides.provider_parameters {
        for (name, value) in own {
            layer.insert(format!("parameters.{provider}.{name}"), value.clone());
        }
    }
}
