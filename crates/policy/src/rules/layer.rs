//! What a chat's frontmatter chooses by other means than its layer of options, for `:Flemma
//! status verbose`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Rules;
use crate::frontmatter::AutoApprove;

impl Rules {
    /// Returns the tools, the rules, the provider, and the model that the frontmatter sets,
    /// by option path, less what is withheld.
    pub fn chosen(&self) -> BTreeMap<String, Value> {
        let mut chosen = BTreeMap::new();
        let Some(evaluated) = &self.evaluated else {
            return chosen;
        };
        let overrides = &evaluated.overrides;
        let mut set = |path: &str, value: Option<Value>| {
            chosen.extend(value.map(|value| (path.to_owned(), value)));
        };
        // The list of tools only selects what is offered, so it needs no trust.
        set("tools", overrides.tools.clone().map(Value::from));
        let approval = overrides.auto_approve.as_ref();
        let approval = approval.filter(|_| !self.is_withheld("tools.auto_approve"));
        set("tools.auto_approve", approval.map(approval_value));
        if !self.is_withheld("provider") && !self.is_withheld("model") {
            for path in ["provider", "model"] {
                set(path, overrides.values.get(path).cloned());
            }
        }
        chosen
    }
}

fn approval_value(approval: &AutoApprove) -> Value {
    match approval {
        // Shown as "function"; only Neovim's functions have a meaningful number.
        AutoApprove::Function(_) => json!({"function": 0}),
        AutoApprove::List { names, exclusions } if exclusions.is_empty() => json!(names),
        AutoApprove::List { names, exclusions } => json!({"names": names, "without": exclusions}),
    }
}
