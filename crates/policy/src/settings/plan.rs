//! Plan mode: a chat reads, searches, and tries commands, and nothing that it does stays.
//!
//! It only denies. The preset `$plan` puts a chat into it and also approves reads and searches. The
//! call environment has commands run in a trial.

use std::collections::BTreeSet;

use chat::approval::{ArgumentRule, CallKey, Decision, OpinionSource, PLAN, Resolver};
use tools::{FileUse, Registry, ShellLists};

use super::Settings;
use super::judges::{ShellBound, one};

/// The preset that puts a chat into plan mode.
pub(crate) const PLAN_PRESET: &str = "$plan";
/// The tools that the preset approves in addition to commands that only read.
pub(super) const SEARCHES: [&str; 5] = ["find", "grep", "ls", "read", "tool_search"];
/// Built-in tools that change nothing in plan mode, besides those that read files.
const HARMLESS: [&str; 9] = [
    "bash",
    "calculator",
    "calculator_async",
    "http_get",
    "job_output",
    "job_stop",
    "shell",
    "todo",
    "tool_search",
];

impl Settings {
    /// Returns true if nothing may change.
    pub fn is_planning(&self) -> bool {
        let is_own = self.tools.presets.contains_key(PLAN_PRESET);
        // A project's list cannot end the user's plan mode.
        let mut names = self.approved_names().chain(self.names_below_project());
        self.plan || !is_own && names.any(|it| it == PLAN_PRESET)
    }

    /// Returns true if a list of tools and presets puts a chat into plan mode.
    pub(crate) fn plans(&self, names: &[String]) -> bool {
        let is_own = self.tools.presets.contains_key(PLAN_PRESET);
        !is_own && names.iter().any(|it| it == PLAN_PRESET)
    }

    /// Returns why commands cannot be tried, a clause. `None` if they can, or if that is not known yet.
    pub(super) fn untried(&self) -> Option<String> {
        if self.tools.bash.trial {
            self.sandbox.backend().problem()
        } else {
            Some("tools.bash.trial is false".to_owned())
        }
    }
}

/// Returns the resolver that denies everything but reads and searches, and commands where they can
/// be tried.
pub(crate) fn resolver(settings: &Settings, registry: &Registry) -> Resolver {
    let reading = tools::with_access(FileUse::Reads);
    let names = HARMLESS.map(str::to_owned).into_iter().chain(reading);
    // A user's tool with such a name may do anything.
    let is_ours = |name: &String| registry.source_of(name) == Some(tools::BUILTIN);
    let rule = PlanBound {
        tools: names.filter(is_ours).collect(),
        untried: settings.untried(),
        shell: ShellBound {
            lists: ShellLists {
                // The commands that the user lists may do more than read.
                allow: Vec::new(),
                ..settings.shell_lists()
            },
            only_listed: true,
            is_known: settings.has_known_shell(),
        },
    };
    // The highest priority, so that no other resolver approves before it.
    Resolver::new(PLAN, i32::MAX, OpinionSource::ArgumentRules(one(rule)))
}

/// Denies every tool that is not in the list.
#[derive(Debug)]
struct PlanBound {
    tools: BTreeSet<String>,
    /// Why commands cannot be tried; those that do more than read are denied then.
    untried: Option<String>,
    shell: ShellBound,
}

impl ArgumentRule for PlanBound {
    fn decide(&self, call: &CallKey) -> Option<Decision> {
        if self.tools.contains(&call.name) {
            self.untried.as_ref().and_then(|_| self.shell.decide(call))
        } else {
            Some(Decision::Deny)
        }
    }

    fn reason(&self, call: &CallKey) -> Option<String> {
        let problem = self.shell.reason(call);
        let why = self.untried.iter().zip(problem).map(|(untried, problem)| {
            format!(" Other commands cannot be tried here: {untried}. {problem}")
        });
        let why: String = why.collect();
        Some(format!(
            "This chat is in plan mode, in which nothing is changed. Describe the changes instead of \
             making them; the user ends plan mode when it is time.{why}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn call(name: &str, input: &Value) -> CallKey {
        CallKey {
            id: chat::tool::ToolUseId::new("x"),
            name: name.to_owned(),
            input: chat::json::canonical(input),
        }
    }

    #[test]
    fn what_is_denied_in_plan_mode_names_the_mode_and_the_program() {
        let rule = |untried: Option<&str>| PlanBound {
            tools: ["bash", "read"].map(str::to_owned).into(),
            untried: untried.map(str::to_owned),
            shell: ShellBound {
                lists: ShellLists::default(),
                only_listed: true,
                is_known: true,
            },
        };
        let make = call("bash", &json!({"command": "make x"}));
        for (call, denied, part) in [
            (call("read", &json!({"path": "a"})), false, "plan mode"),
            (call("write", &json!({"path": "a"})), true, "plan mode"),
            (call("bash", &json!({"command": "ls"})), false, "plan mode"),
            (make.clone(), true, "be tried here: it is off."),
            (make.clone(), true, "make"),
        ] {
            let expected = denied.then_some(Decision::Deny);
            let rule = rule(Some("it is off"));
            let decided = rule.decide(&call).filter(|it| *it == Decision::Deny);
            assert_eq!(decided, expected, "{call:?}");
            let reason = rule.reason(&call).unwrap_or_default();
            assert!(reason.contains(part), "{reason}");
        }
        // Where it can be tried, the other rules decide.
        assert_eq!(rule(None).decide(&make), None);
    }
}
