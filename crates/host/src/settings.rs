//! The options of `setup()`, checked, and what the cycle and providers get of them.
//!
//! Knows each option's default, type and meaning, and no source but `setup()`.

mod merge;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chat::approval::{Decision, Policy, Resolver, ResolverChain, Source};
use chat::cycle::{CursorAfterResult, Options};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tools::{BashOptions, Registry};

/// Every option, as it stands after `setup()`. `Default` is each option's default.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Settings {
    /// A provider's name, or `auto`.
    pub provider: String,
    /// The model, in the provider's words.
    pub model: Option<String>,
    /// General parameters, and tables of them by provider.
    pub parameters: Map<String, Value>,
    /// See [`ToolSettings`].
    pub tools: ToolSettings,
}

/// `tools.*`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToolSettings {
    /// Whether a call that no rule speaks of waits for the user.
    pub require_approval: bool,
    /// Names, presets, or a function.
    pub auto_approve: Value,
    /// The user's presets by name.
    pub presets: BTreeMap<String, Preset>,
    /// See [`AutopilotSettings`].
    pub autopilot: AutopilotSettings,
    /// Seconds a tool may run.
    pub default_timeout: f64,
    /// Most calls that run at the same time in a buffer; 0 is any number.
    pub max_concurrent: usize,
    /// Whether running calls show a spinner.
    pub show_spinner: bool,
    /// Where the cursor goes when a result arrives.
    pub cursor_after_result: CursorAfterResult,
    /// See [`BashSettings`].
    pub bash: BashSettings,
}

/// `tools.autopilot.*`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AutopilotSettings {
    /// Whether the phases chain by themselves.
    pub enabled: bool,
    /// Most requests in a row without the user.
    pub max_turns: u32,
}

/// `tools.bash.*`
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct BashSettings {
    /// The shell; `bash` when absent.
    pub shell: Option<String>,
    /// Where commands run; `$FLEMMA_BUFFER_PATH` is the chat's directory.
    pub cwd: Option<String>,
    /// Added to the environment of commands.
    pub env: BTreeMap<String, String>,
}

/// A named collection of rules.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Preset {
    /// Tools to approve.
    #[serde(default)]
    pub approve: Vec<String>,
    /// Tools to deny.
    #[serde(default)]
    pub deny: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            provider: "anthropic".to_owned(),
            model: None,
            parameters: Map::new(),
            tools: ToolSettings {
                require_approval: true,
                auto_approve: serde_json::json!(["$default"]),
                presets: BTreeMap::new(),
                autopilot: AutopilotSettings {
                    enabled: true,
                    max_turns: 100,
                },
                default_timeout: 30.0,
                max_concurrent: 4,
                show_spinner: true,
                cursor_after_result: CursorAfterResult::Result,
                bash: BashSettings {
                    cwd: Some("$FLEMMA_BUFFER_PATH".to_owned()),
                    ..BashSettings::default()
                },
            },
        }
    }
}

/// Presets that exist without being defined: "Built-in presets" in the tools
/// specification.
const BUILT_IN: [(&str, &[&str]); 2] = [
    ("$readonly", &["read"]),
    ("$default", &["read", "write", "edit"]),
];

/// The options that Lua keeps for itself.
const LUA_OPTIONS: [&str; 3] = ["keymaps", "highlights", "host"];

impl Settings {
    /// Reads the options given to `setup()`, and says what is wrong with them. An
    /// option that is wrong keeps its default; of a broken `tools` table nothing is
    /// approved, because a rule that failed to load must never mean a laxer one.
    pub fn read(given: &Value, registry: &Registry) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let mut template = serde_json::to_value(Self::default()).unwrap_or_default();
        let given = merge::without(given, &LUA_OPTIONS);
        merge::merge(
            &mut template,
            &given,
            "",
            &merge::Free::of(registry),
            &mut problems,
        );
        let mut settings: Self = serde_json::from_value(template).unwrap_or_else(|error| {
            problems.push(format!(
                "The options cannot be read ({error}), so all keep their defaults."
            ));
            Self::default()
        });
        settings.check_names(registry, &mut problems);
        if !problems.is_empty() && problems.iter().any(|problem| problem.contains("tools")) {
            settings.tools.auto_approve = serde_json::json!([]);
            settings.tools.require_approval = true;
            problems
                .push("Until the tools options are right, every call waits for you.".to_owned());
        }
        (settings, problems)
    }

    fn check_names(&self, registry: &Registry, problems: &mut Vec<String>) {
        let Value::Array(entries) = &self.tools.auto_approve else {
            if self.function().is_none() {
                problems.push("tools.auto_approve is neither a list nor a function.".to_owned());
            }
            return;
        };
        let known = self.known_names(registry);
        for entry in entries {
            match entry.as_str() {
                None => problems.push(format!(
                    "tools.auto_approve holds {entry}; it is a list of names."
                )),
                Some(name) if !known.contains(name) => {
                    let meant = merge::nearest(name, known.iter().map(String::as_str));
                    problems.push(format!(
                        "tools.auto_approve: nothing is named \"{name}\".{meant}"
                    ));
                }
                Some(_) => {}
            }
        }
        for name in self
            .tools
            .presets
            .keys()
            .filter(|name| !name.starts_with('$'))
        {
            problems.push(format!(
                "tools.presets: the name \"{name}\" must start with \"$\"."
            ));
        }
    }

    fn known_names(&self, registry: &Registry) -> BTreeSet<String> {
        let presets = BUILT_IN.iter().map(|(name, _)| (*name).to_owned());
        presets
            .chain(self.tools.presets.keys().cloned())
            .chain(registry.iter().map(|tool| tool.name().to_owned()))
            .collect()
    }

    /// The policy function, when `auto_approve` is one.
    fn function(&self) -> Option<u64> {
        self.tools
            .auto_approve
            .get("function")
            .and_then(Value::as_u64)
    }

    /// The list policy of the options: presets expanded and merged.
    pub fn policy(&self) -> Policy {
        let names = self.tools.auto_approve.as_array().into_iter().flatten();
        self.expand(names.filter_map(Value::as_str), &[])
    }

    /// What a list of tools and presets means, less the approvals that were excluded.
    pub fn expand<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
        exclusions: &[String],
    ) -> Policy {
        let mut policy = Policy::default();
        for name in names {
            let built_in = BUILT_IN.iter().find(|(built_in, _)| *built_in == name);
            match (self.tools.presets.get(name), built_in) {
                (Some(preset), _) => {
                    policy.approve.extend(preset.approve.iter().cloned());
                    policy.deny.extend(preset.deny.iter().cloned());
                }
                (None, Some((_, approve))) => policy
                    .approve
                    .extend(approve.iter().map(|it| (*it).to_owned())),
                (None, None) => {
                    policy.approve.insert(name.to_owned());
                }
            }
        }
        policy.approve.retain(|name| !exclusions.contains(name));
        policy
    }

    fn chain(&self) -> ResolverChain {
        let config = match self.function() {
            Some(function) => Source::Function(function),
            None => Source::List(self.policy()),
        };
        let resolver = |name: &str, priority, source| Resolver {
            name: name.to_owned(),
            priority,
            source,
        };
        let mut resolvers = vec![resolver("urn:flemma:approval:config", 100, config)];
        if !self.tools.require_approval {
            resolvers.push(resolver(
                "urn:flemma:approval:catch-all",
                0,
                Source::Always(Decision::Approve),
            ));
        }
        ResolverChain::new(resolvers)
    }

    /// What the cycle goes by.
    pub fn options(&self, registry: &Registry) -> Options {
        let tools = registry
            .iter()
            .map(|tool| (tool.name().to_owned(), tool.definition()))
            .collect();
        Options {
            chain: self.chain(),
            tools,
            autopilot: self.tools.autopilot.enabled,
            max_turns: self.tools.autopilot.max_turns.max(1),
            max_concurrent: self.tools.max_concurrent,
            cursor_after_result: self.tools.cursor_after_result,
        }
    }

    /// What `bash` goes by.
    pub fn bash(&self) -> BashOptions {
        let bash = &self.tools.bash;
        let cwd = bash
            .cwd
            .as_deref()
            .filter(|cwd| *cwd != "$FLEMMA_BUFFER_PATH");
        BashOptions {
            shell: bash.shell.clone(),
            cwd: cwd.map(PathBuf::from),
            env: bash.env.clone().into_iter().collect(),
        }
    }

    /// A parameter: the provider's own, else the general one.
    pub fn parameter(&self, provider: &str, name: &str) -> Option<&Value> {
        let own = self
            .parameters
            .get(provider)
            .and_then(|table| table.get(name));
        own.or_else(|| self.parameters.get(name))
            .filter(|value| !value.is_null())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(given: Value) -> (Settings, String) {
        let (settings, problems) = Settings::read(&given, &Registry::builtin());
        (settings, problems.join("\n"))
    }

    fn decision(given: Value, tool: &str) -> Option<Decision> {
        let (settings, problems) = read(given);
        assert_eq!(problems, "");
        settings.policy().decide(tool)
    }

    #[test]
    fn by_default_files_are_approved_and_commands_are_not() {
        for (tool, expected) in [
            ("read", true),
            ("write", true),
            ("edit", true),
            ("bash", false),
            ("calculator", false),
        ] {
            assert_eq!(decision(json!({}), tool).is_some(), expected, "{tool}");
        }
    }

    #[test]
    fn presets_and_names_mix_and_deny_wins() {
        let yolo = json!({"tools": {
            "presets": {"$yolo": {"approve": ["bash", "read"]}, "$no-bash": {"deny": ["bash"]}},
            "auto_approve": ["$yolo", "$no-bash", "calculator"],
        }});
        assert_eq!(decision(yolo.clone(), "bash"), Some(Decision::Deny));
        assert_eq!(decision(yolo.clone(), "read"), Some(Decision::Approve));
        assert_eq!(
            decision(yolo.clone(), "calculator"),
            Some(Decision::Approve)
        );
        assert_eq!(decision(yolo, "write"), None);
    }

    #[test]
    fn an_empty_list_approves_nothing() {
        assert_eq!(
            decision(json!({"tools": {"auto_approve": []}}), "read"),
            None
        );
    }

    #[test]
    fn a_user_preset_overrides_the_built_in_of_its_name() {
        let given = json!({"tools": {"presets": {"$default": {"approve": ["read"]}}}});
        assert_eq!(decision(given, "write"), None);
    }

    #[test]
    fn a_function_is_asked_and_without_approval_all_is_approved_below_it() {
        let (settings, problems) =
            read(json!({"tools": {"auto_approve": {"function": 3}, "require_approval": false}}));
        assert_eq!(problems, "");
        let chain = settings.chain();
        assert_eq!(chain.resolvers()[0].source, Source::Function(3));
        assert_eq!(chain.resolvers()[1].priority, 0);
    }

    #[test]
    fn slips_are_named_with_what_was_meant_and_approve_nothing() {
        for (given, problem) in [
            (
                json!({"tools": {"auto_approve": ["$readnly"]}}),
                "Did you mean \"$readonly\"?",
            ),
            (
                json!({"tools": {"auto_aprove": []}}),
                "Did you mean \"auto_approve\"?",
            ),
            (
                json!({"tools": {"auto_approve": "read"}}),
                "neither a list nor a function",
            ),
            (
                json!({"tools": {"require_approval": "no"}}),
                "tools.require_approval",
            ),
        ] {
            let (settings, problems) = read(given);
            assert!(problems.contains(problem), "{problems}");
            assert_eq!(settings.policy().decide("read"), None);
        }
    }

    #[test]
    fn other_options_keep_their_default_when_they_are_wrong() {
        let (settings, problems) =
            read(json!({"provider": 3, "modle": "x", "keymaps": {"enabled": false}}));
        assert_eq!(settings.provider, "anthropic");
        assert!(
            problems.contains("provider") && problems.contains("Did you mean \"model\"?"),
            "{problems}"
        );
    }
}
