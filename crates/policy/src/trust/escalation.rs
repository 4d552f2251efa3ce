//! Permissions of a frontmatter beyond the user's own options. They are withheld until the
//! user has read and confirmed them.
//!
//! The option table says for most options what loosens; approvals, the provider, and the model
//! are compared here. A setting that cannot be compared, such as a function, counts as looser.

use chat::approval::{Decision, Policy};

use crate::frontmatter::{AutoApprove, Overrides};
use crate::options;
use crate::settings::Settings;

/// A setting that allows more than the user's own options do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Escalation {
    /// Its path, such as `tools.auto_approve`.
    pub option: String,
    /// Line of the file where it is set, counted from 1.
    pub line: usize,
    /// The effect of the setting, to follow "this": "would run bash without asking".
    pub what: String,
}

/// Returns the settings of a frontmatter that loosen `base`, in the order of their lines.
pub fn escalations(overrides: &Overrides, base: &Settings) -> Vec<Escalation> {
    let mut found = Vec::new();
    let mut add = |option: String, what: Option<String>| {
        let line = overrides.lines.get(&option).copied().unwrap_or(1);
        found.extend(what.map(|what| Escalation { option, line, what }));
    };
    let approval = overrides.auto_approve.as_ref();
    add(
        "tools.auto_approve".to_owned(),
        approval.and_then(|wanted| approves_more(wanted, base)),
    );
    for (option, provider) in leads_to(overrides, base) {
        let elsewhere = provider != base.provider;
        let what = format!("would send this chat to {provider}");
        add(option.to_owned(), elsewhere.then_some(what));
    }
    for (path, option, value) in options::set_in(&overrides.values) {
        let what = option.loosens.what(value, base.value(path));
        add(path.to_owned(), what.map(str::to_owned));
    }
    // The user reads the list next to the text of the file.
    found.sort_by_key(|it| it.line);
    found
}

/// Returns the providers that a frontmatter names, directly or by one of the user's presets.
fn leads_to(
    overrides: &Overrides,
    base: &Settings,
) -> impl Iterator<Item = (&'static str, String)> {
    let text = |path: &str| overrides.values[path].as_str();
    // A preset that does not exist leads nowhere, and is reported when the frontmatter is read.
    let preset = text("model").and_then(|model| base.preset(model).ok());
    let named = text("provider").map(|it| ("provider", it.to_owned()));
    named
        .into_iter()
        .chain(preset.map(|it| ("model", it.provider)))
}

/// The user's function, whose denials and questions still apply.
const OWN_FUNCTION: &str = "the function in your tools.auto_approve neither denies nor asks about";

/// Returns what a list or a function would approve beyond the settings, to follow "this".
pub(crate) fn approves_more(wanted: &AutoApprove, base: &Settings) -> Option<String> {
    let AutoApprove::List { names, exclusions } = wanted else {
        return Some(if base.decides_by_code() {
            format!("would decide by a function of this chat about calls that {OWN_FUNCTION}")
        } else {
            "would decide about every call by a function of this chat".to_owned()
        });
    };
    if base.decides_by_code() {
        // The function's answer about a call is not known before there is a call.
        return Some(format!("would decide about calls that {OWN_FUNCTION}"));
    }
    let theirs = base.expand(names.iter().map(String::as_str), exclusions);
    let ours = base.policy();
    // If everything runs anyway, nothing is looser, because denials still apply.
    let free = !base.tools.require_approval;
    // A tool with any opinion of the user is not looser: it runs already, or stays denied.
    let is_looser = |tool: &&str| !free && ours.decide(tool).is_none();
    let mut looser: Vec<&str> = runs(&theirs).filter(is_looser).collect();
    // An alias adds nothing if its tool is listed too.
    for (alias, name) in tools::aliases() {
        if looser.contains(&name) {
            looser.retain(|it| *it != alias);
        }
    }
    let adds_rules = !theirs.argument_rules.is_empty() && ours.argument_rules.is_empty();
    let adds_trials = theirs.tries && !ours.tries;
    let commands = [
        (adds_rules, "shell commands that only read"),
        (adds_trials, "shell commands that change nothing in a trial"),
    ];
    let commands = commands.into_iter().filter(|it| it.0 && is_looser(&"bash"));
    let commands: Vec<&str> = commands.map(|it| it.1).collect();
    let runs = format!("would run {} without asking", listed(&looser));
    match (looser.is_empty(), commands.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("would run {} without asking", listed(&commands))),
        (false, true) => Some(runs),
        (false, false) => Some(format!("{runs}, and {}", listed(&commands))),
    }
}

/// Returns the tools that a frontmatter approves although the user's settings deny them; they
/// stay denied.
pub fn overruled(overrides: &Overrides, base: &Settings) -> Vec<String> {
    let Some(AutoApprove::List { names, exclusions }) = &overrides.auto_approve else {
        return Vec::new();
    };
    let theirs = base.expand(names.iter().map(String::as_str), exclusions);
    let ours = base.policy();
    let denied = |tool: &&str| ours.decide(tool) == Some(Decision::Deny);
    // The tool is listed by its own name already.
    let is_alias = |tool: &&str| tools::aliases().any(|(alias, _)| alias == *tool);
    let tools = runs(&theirs).filter(denied).filter(|it| !is_alias(it));
    tools.map(str::to_owned).collect()
}

/// Returns the tools that a list approves.
fn runs(policy: &Policy) -> impl Iterator<Item = &str> {
    let tools = policy.approve.iter().map(String::as_str);
    tools.filter(|it| policy.decide(it) == Some(Decision::Approve))
}

fn listed(tools: &[&str]) -> String {
    match tools {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => tools.concat(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Value, json};
    use tools::Registry;

    use super::*;
    use crate::frontmatter::FunctionHandle;

    fn settings(given: &Value) -> Settings {
        let (settings, problems) = Settings::read(given, &Registry::builtin());
        assert_eq!(problems, [""; 0]);
        settings
    }

    fn list(names: &[&str], exclusions: &[&str]) -> Overrides {
        let owned = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect();
        Overrides {
            auto_approve: Some(AutoApprove::List {
                names: owned(names),
                exclusions: owned(exclusions),
            }),
            lines: [("tools.auto_approve".to_owned(), 3)].into(),
            ..Overrides::default()
        }
    }

    fn values(values: Value) -> Overrides {
        Overrides {
            values,
            ..Overrides::default()
        }
    }

    fn what(overrides: &Overrides, given: &Value) -> Vec<String> {
        let found = escalations(overrides, &settings(given));
        found.into_iter().map(|it| it.what).collect()
    }

    #[test]
    fn a_list_is_compared_tool_by_tool() {
        let deny = json!({"tools": {"presets": {"$no": {"deny": ["bash"]}}, "auto_approve": ["$default", "$no"]}});
        let free = json!({"tools": {"require_approval": false, "presets": {"$no": {"deny": ["bash"]}}, "auto_approve": ["$no"]}});
        for (names, exclusions, config, expected) in [
            (&["$readonly"][..], &[][..], json!({}), ""),
            (&[], &[], json!({}), ""),
            (&["$default"], &[], json!({}), ""),
            (&["$default"], &["write"], json!({}), ""),
            (&["bash"], &[], json!({}), "would run bash without asking"),
            (&["bash"], &["bash"], json!({}), ""),
            (
                &["$default", "bash", "calculator"],
                &[],
                json!({}),
                "would run bash and calculator without asking",
            ),
            (
                &["read"],
                &[],
                json!({"tools": {"auto_approve": []}}),
                "would run read without asking",
            ),
            (&["$default"], &[], deny.clone(), ""),
            (&["$default", "$no"], &[], deny.clone(), ""),
            // What the settings deny stays denied, so that loosens nothing.
            (&["bash"], &[], deny, ""),
            (&["bash"], &[], free.clone(), ""),
            (&[], &[], free.clone(), ""),
            (&["$no", "write"], &[], free, ""),
        ] {
            let found = what(&list(names, exclusions), &config);
            assert_eq!(found.join("; "), expected, "{names:?} over {config}");
        }
    }

    #[test]
    fn shell_commands_that_only_read_are_looser_where_bash_waits() {
        let reads = "would run shell commands that only read without asking";
        let both = "would run calculator without asking, and shell commands that only read";
        for (names, own, expected) in [
            (&["$shell-safe"][..], json!(["$default"]), reads),
            (&["$shell-safe", "calculator"], json!(["$default"]), both),
            (&["$shell-safe"], json!(["$default", "$shell-safe"]), ""),
            (&["$shell-safe"], json!(["bash"]), ""),
            (&["$shell-safe"], json!(["$default", "$no"]), ""),
        ] {
            let presets = json!({"$no": {"deny": ["bash"]}});
            let given = json!({"tools": {"presets": presets, "auto_approve": own}});
            let found = what(&list(names, &[]), &given);
            assert_eq!(found.join("; "), expected, "{names:?} over {given}");
        }
    }

    #[test]
    fn trials_are_looser_where_bash_waits_and_the_user_has_none() {
        let trials = "would run shell commands that change nothing in a trial without asking";
        let theirs = list(&["$trial"], &[]);
        let ours = |names: &[&str]| json!({"tools": {"auto_approve": names}});
        assert_eq!(what(&theirs, &ours(&["read"])), [trials]);
        assert!(what(&theirs, &ours(&["$trial"])).is_empty());
        assert!(what(&theirs, &ours(&["bash"])).is_empty());
        assert!(what(&list(&["$trial"], &["bash"]), &ours(&[])).is_empty());
    }

    #[test]
    fn an_alias_is_not_named_beside_its_tool() {
        let found = what(&list(&["shell"], &[]), &json!({}));
        assert_eq!(found, ["would run shell without asking"]);
        let found = what(&list(&["shell", "bash"], &[]), &json!({}));
        assert_eq!(found, ["would run bash without asking"]);
    }

    #[test]
    fn what_the_settings_deny_is_named_although_it_holds() {
        let deny =
            json!({"tools": {"presets": {"$no": {"deny": ["bash"]}}, "auto_approve": ["$no"]}});
        let named = |names| overruled(&list(names, &[]), &settings(&deny));
        assert_eq!(named(&["bash", "read"]), ["bash"]);
        assert_eq!(named(&["read"]), [""; 0]);
        assert_eq!(named(&["bash", "$no"]), [""; 0]);
    }

    #[test]
    fn code_cannot_be_compared_so_it_counts_as_looser() {
        let function = Overrides {
            auto_approve: Some(AutoApprove::Function(FunctionHandle { line: 2 })),
            ..Overrides::default()
        };
        let found = what(&function, &json!({}));
        assert_eq!(
            found,
            ["would decide about every call by a function of this chat"]
        );
        let yours = "the function in your tools.auto_approve neither denies nor asks about";
        let by_list = format!("would decide about calls that {yours}");
        let by_function =
            format!("would decide by a function of this chat about calls that {yours}");
        for (own, is_code) in [
            (json!({"function": 1}), true),
            (json!("my.rules"), true),
            (json!(["$default", "my.rules"]), true),
            (json!(["$default", "urn:flemma:a.b"]), false),
        ] {
            let config = json!({"tools": {"auto_approve": own}});
            let says = |overrides: &Overrides| what(overrides, &config).concat();
            assert_eq!(says(&list(&[], &[])) == by_list, is_code, "{config}");
            assert_eq!(says(&function) == by_function, is_code, "{config}");
        }
    }

    #[test]
    fn it_says_where_and_which() {
        let found = escalations(&list(&["bash"], &[]), &settings(&json!({})));
        let expected = Escalation {
            option: "tools.auto_approve".to_owned(),
            line: 3,
            what: "would run bash without asking".to_owned(),
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn autopilot_loosens_only_where_it_was_turned_off() {
        let autopilot = |on| values(json!({"tools": {"autopilot": {"enabled": on}}}));
        let off = json!({"tools": {"autopilot": {"enabled": false}}});
        assert_eq!(what(&autopilot(true), &off).len(), 1);
        assert_eq!(what(&autopilot(false), &off).len(), 0);
        assert_eq!(what(&autopilot(true), &json!({})).len(), 0);
        assert_eq!(what(&autopilot(false), &json!({})).len(), 0);
    }

    #[test]
    fn a_sandbox_may_be_narrowed_and_not_widened() {
        for (sandbox, expected) in [
            (json!({"enabled": true}), ""),
            (json!({"policy": {"network": false, "rw_paths": []}}), ""),
            (json!({"backend": "required"}), ""),
            (
                json!({"enabled": false}),
                "would run commands outside the sandbox",
            ),
            (
                json!({"policy": {"network": true}}),
                "would let commands reach the network",
            ),
            (
                json!({"policy": {"rw_paths": ["/"], "network": false}}),
                "would change which folders can be written",
            ),
            (
                json!({"backend": "auto", "policy": {"allow_privileged": true}}),
                "would let commands run where no sandbox is available; would let commands keep your privileges",
            ),
        ] {
            let overrides = values(json!({"sandbox": sandbox}));
            assert_eq!(
                what(&overrides, &json!({})).join("; "),
                expected,
                "{overrides:?}"
            );
        }
    }

    #[test]
    fn a_network_may_be_narrowed_and_not_widened() {
        let network = |value: &Value| json!({"sandbox": {"policy": {"network": value}}});
        let hosts = |hosts: &[&str]| json!({"allow": hosts});
        for (wanted, own, is_looser) in [
            (hosts(&["a.example"]), json!(true), false),
            (
                hosts(&["a.example"]),
                hosts(&["a.example", "b.example"]),
                false,
            ),
            (hosts(&[]), hosts(&["a.example"]), false),
            (json!(false), hosts(&["a.example"]), false),
            (hosts(&["a.example"]), json!(false), true),
            (
                hosts(&["a.example", "c.example"]),
                hosts(&["a.example"]),
                true,
            ),
            (hosts(&["a.example:22"]), hosts(&["a.example"]), true),
            (json!(true), hosts(&["a.example"]), true),
        ] {
            let found = what(&values(network(&wanted)), &network(&own));
            let expected = is_looser.then_some("would let commands reach the network");
            assert_eq!(found, Vec::from_iter(expected), "{wanted} over {own}");
        }
    }

    #[test]
    fn parameters_loosen_only_where_they_lead_elsewhere() {
        let harmless = json!({"parameters": {"max_tokens": 9, "thinking": "high"}});
        assert_eq!(what(&values(harmless), &json!({})).len(), 0);
        let vertex = json!({"project_id": "x", "thinking_budget": 3});
        let overrides = values(json!({"parameters": {"vertex": vertex}}));
        let found = escalations(&overrides, &settings(&json!({})));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].option, "parameters.vertex.project_id");
    }
}
