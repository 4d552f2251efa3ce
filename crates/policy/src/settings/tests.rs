//! Options as users give them, and what the host makes of them.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use chat::approval::{Decision, Function, OpinionSource};
use serde_json::json;
use tools::ShellLists;

use super::*;
use crate::options::FrontmatterTrust;

fn read(given: &Value) -> (Settings, String) {
    let (settings, problems) = Settings::read(given, &Registry::builtin());
    (settings, problems.join("\n"))
}

fn decision(given: &Value, tool: &str) -> Option<Decision> {
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
        assert_eq!(decision(&json!({}), tool).is_some(), expected, "{tool}");
    }
}

#[test]
fn presets_and_names_mix_and_deny_wins() {
    let yolo = json!({"tools": {
        "presets": {"$yolo": {"approve": ["bash", "read"]}, "$no-bash": {"deny": ["bash"]}},
        "auto_approve": ["$yolo", "$no-bash", "calculator"],
    }});
    assert_eq!(decision(&yolo, "bash"), Some(Decision::Deny));
    assert_eq!(decision(&yolo, "read"), Some(Decision::Approve));
    assert_eq!(decision(&yolo, "calculator"), Some(Decision::Approve));
    assert_eq!(decision(&yolo, "write"), None);
}

#[test]
fn an_empty_list_approves_nothing() {
    assert_eq!(
        decision(&json!({"tools": {"auto_approve": []}}), "read"),
        None
    );
}

#[test]
fn a_user_preset_overrides_the_built_in_of_its_name() {
    let given = json!({"tools": {"presets": {"$default": {"approve": ["read"]}}}});
    assert_eq!(decision(&given, "write"), None);
}

#[test]
fn a_function_is_asked_and_without_approval_all_is_approved_below_it() {
    let (settings, problems) =
        read(&json!({"tools": {"auto_approve": {"function": 3}, "require_approval": false}}));
    assert_eq!(problems, "");
    let chain = settings.chain(Default::default(), Default::default());
    assert_eq!(
        chain.resolvers()[0].source,
        OpinionSource::Function(Function::auto_approve(3))
    );
    assert_eq!(chain.resolvers()[3].priority, 0);
}

#[test]
fn a_rule_may_name_a_tool_that_is_still_to_come() {
    let given = json!({"tools": {"auto_approve": ["$default", "web_search", "task"]}});
    let (settings, problems) = Settings::examine(&given, Scope::Setup, &Registry::builtin());
    assert_eq!(problems.all(), [""; 0]);
    assert_eq!(problems.remarks.len(), 2);
    assert!(problems.remarks[1].contains("there is no tool named \"task\" so far"));
    for name in ["read", "web_search", "task"] {
        let decision = settings.policy().decide(name);
        assert_eq!(decision, Some(Decision::Approve), "{name}");
    }
}

#[test]
fn slips_are_named_with_what_was_meant_and_approve_nothing() {
    for (given, problem) in [
        (
            json!({"tools": {"auto_approve": ["$readnly"]}}),
            "Did you mean \"$readonly\"?",
        ),
        (
            json!({"tools": {"presets": {"$x": {"deny": ["bsh"]}}}}),
            "tools.presets.$x.deny: unknown name \"bsh\". Did you mean \"bash\"?",
        ),
        (
            json!({"tools": {"presets": {"$x": {"approve": ["$default"]}}}}),
            "unknown name \"$default\".",
        ),
        (
            json!({"tools": {"auto_aprove": []}}),
            "Did you mean \"auto_approve\"?",
        ),
        (
            json!({"tools": {"auto_approve": "read"}}),
            "a list of strings, a function or the path of a module",
        ),
        (
            json!({"tools": {"require_approval": "no"}}),
            "tools.require_approval is \"no\"; it must be true or false.",
        ),
        (
            json!([1]),
            "The table given to setup() is [1]; it must be a table.",
        ),
    ] {
        let (settings, problems) = read(&given);
        assert!(problems.contains(problem), "{problems}");
        assert_eq!(settings.policy().decide("read"), None);
    }
}

#[test]
fn other_options_keep_their_default_when_they_are_wrong() {
    let (settings, problems) =
        read(&json!({"provider": 3, "modle": "x", "keymaps": {"enabled": false}}));
    assert_eq!(settings.provider, "anthropic");
    assert!(
        problems.contains("provider") && problems.contains("Did you mean \"model\"?"),
        "{problems}"
    );
}

#[test]
fn the_defaults_have_the_form_that_the_settings_expect() {
    let values: Values = serde_json::from_value(options::defaults()).unwrap();
    assert!(values.tools.require_approval);
    assert_eq!(values.tools.default_timeout, 120.0);
}

#[test]
fn values_outside_of_their_range_are_told_with_the_range() {
    for (given, problem) in [
        (
            json!({"parameters": {"temperature": 3}}),
            "parameters.temperature is 3; it must be a number from 0 to 2.",
        ),
        (
            json!({"tools": {"cursor_after_result": "nxt"}}),
            "it must be \"result\", \"stay\" or \"next\".",
        ),
        (
            json!({"tools": {"autopilot": {"max_turns": 0}}}),
            "it must be a whole number from 1.",
        ),
        (
            json!({"tools": {"bash": {"env": {"A": 1}}}}),
            "tools.bash.env.A is 1; it must be a string.",
        ),
        (
            json!({"tools": {"presets": {"$x": {"aprove": []}}}}),
            "Did you mean \"approve\"?",
        ),
        (
            json!({"parameters": {"thinking": true}}),
            "\"max\", a whole number from 0 or false.",
        ),
        (
            json!({"trust": {"frontmatter": "never"}}),
            "trust.frontmatter is \"never\"; it must be \"ask\" or \"always\".",
        ),
        (
            json!({"tools": {"review": "auto"}}),
            "tools.review is \"auto\"; it must be \"after\", \"always\" or \"none\". \"none\" does what \"auto\" did.",
        ),
    ] {
        let (_, problems) = read(&given);
        assert!(problems.contains(problem), "{problems}");
    }
}

#[test]
fn a_tool_may_have_a_table_of_its_own_unless_it_looks_like_a_slip() {
    assert_eq!(read(&json!({"tools": {"export": {"max_size": 1}}})).1, "");
    let (_, problems) = read(&json!({"tools": {"autopliot": {"enabled": false}}}));
    assert!(
        problems.contains("Did you mean \"autopilot\"?"),
        "{problems}"
    );
    let (_, problems) = read(&json!({"tools": {"export": 1}}));
    assert!(problems.contains("There is no option"), "{problems}");
}

#[test]
fn what_is_right_beside_a_slip_counts() {
    let (settings, _) = read(&json!({"model": "m", "trust": {"frontmatter": "always", "x": 1}}));
    assert_eq!(settings.model.as_deref(), Some("m"));
    assert_eq!(settings.trust.frontmatter, FrontmatterTrust::Always);
}

#[test]
fn a_provider_that_does_not_exist_is_told_and_never_replaced_by_another() {
    let (settings, problems) = read(&json!({"provider": "antropic"}));
    assert_eq!(settings.provider, "antropic");
    assert!(
        problems.contains("\"anthropic\", \"openai\", \"gemini\", \"vertex\""),
        "{problems}"
    );
}

fn examine(given: &Value) -> (Settings, Problems) {
    Settings::examine(given, Scope::Setup, &Registry::builtin())
}

#[test]
fn a_mistake_in_the_rules_makes_every_call_wait_and_no_other_does() {
    let wait = "Until the tools options are valid, every call needs your approval.";
    let keep = "These options keep their defaults.";
    for (given, expected) in [
        (json!({"tools": {"auto_aprove": []}}), wait),
        (json!({"tools": 3}), wait),
        (json!({"tolls": {}}), wait),
        (json!([1]), wait),
        (json!({"tools": {"auto_approve": ["raed"]}}), wait),
        (json!({"modle": "m"}), keep),
        (json!({"ui": {"usage": "x"}}), keep),
        (json!({}), keep),
    ] {
        let (settings, problems) = examine(&given);
        assert_eq!(problems.consequence(), expected, "{given}");
        let waits = settings.policy().decide("read").is_none();
        assert_eq!(waits, expected == wait, "{given}");
        assert!(settings.tools.require_approval, "{given}");
    }
}

#[test]
fn a_mistake_in_the_sandbox_keeps_commands_from_running_without_one() {
    for (given, expected) in [
        (
            json!({"sandbox": {"bakend": "auto"}}),
            BackendChoice::Required,
        ),
        (json!({"sandbx": {}}), BackendChoice::Required),
        (json!({"sandboxes": {}, "ui": 3}), BackendChoice::Required),
        (json!({"ui": 3}), BackendChoice::Auto),
    ] {
        let (settings, _) = examine(&given);
        assert_eq!(settings.sandbox.backend, expected, "{given}");
        let switched = settings.switched("tools.autopilot.enabled", &json!(true));
        assert_eq!(switched.unwrap().sandbox.backend, expected, "{given}");
    }
}

#[test]
fn commands_run_where_and_how_the_options_say() {
    let here = Here {
        cwd: Path::new("/work"),
        chat: Some(Path::new("/notes/a.chat")),
    };
    let cwd = |cwd: &str| {
        let given = json!({"tools": {"bash": {"cwd": cwd}}});
        read(&given).0.bash(here).cwd
    };
    for (given, expected) in [
        ("sub", Some("/work/sub")),
        ("$CWD/x", Some("/work/x")),
        ("/x", Some("/x")),
        ("$FLEMMA_BUFFER_PATH/sub", Some("/notes/sub")),
        // The folder of the chat is where commands run anyway.
        ("$FLEMMA_BUFFER_PATH", None),
    ] {
        assert_eq!(cwd(given).as_deref(), expected.map(Path::new), "{given}");
    }
    let bash = json!({"shell": "zsh", "env": {"A": "1"}, "allow": ["make"], "deny": ["rm"]});
    let bash = read(&json!({"tools": {"bash": bash}})).0.bash(here);
    assert_eq!(bash.shell.as_deref(), Some("zsh"));
    assert_eq!(bash.env, [("A".to_owned(), "1".to_owned())]);
    let lists = ShellLists {
        allow: vec!["make".to_owned()],
        deny: vec!["rm".to_owned()],
    };
    assert_eq!(bash.lists, lists);
}

#[test]
fn a_parameter_is_the_providers_own_or_else_the_general_one() {
    let parameters = json!({"temperature": 1, "anthropic": {"temperature": 0.5}});
    let (settings, _) = read(&json!({"parameters": parameters}));
    let parameter = |provider, name| settings.parameter(provider, name).cloned();
    assert_eq!(parameter("anthropic", "temperature"), Some(json!(0.5)));
    assert_eq!(parameter("openai", "temperature"), Some(json!(1)));
    assert_eq!(parameter("anthropic", "max_tokens"), None);
}

#[test]
fn an_empty_lua_table_is_a_table_without_options() {
    for given in [json!([]), json!({"highlights": []}), json!({"tools": []})] {
        let (settings, problems) = examine(&given);
        assert_eq!(problems.all(), [""; 0], "{given}");
        assert_eq!(settings.policy().decide("read"), Some(Decision::Approve));
    }
}
