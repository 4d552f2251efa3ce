//! What follows from options, and from mistakes in them.

use std::path::Path;

use super::*;
use tools::ShellLists;

fn examine(given: Value) -> (Settings, Problems) {
    Settings::examine(&given, Scope::Setup, &Registry::builtin())
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
        let (settings, problems) = examine(given.clone());
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
        let (settings, _) = examine(given.clone());
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
        read(given).0.bash(here).cwd
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
    let bash = read(json!({"tools": {"bash": bash}})).0.bash(here);
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
    let (settings, _) = read(json!({"parameters": parameters}));
    let parameter = |provider, name| settings.parameter(provider, name).cloned();
    assert_eq!(parameter("anthropic", "temperature"), Some(json!(0.5)));
    assert_eq!(parameter("openai", "temperature"), Some(json!(1)));
    assert_eq!(parameter("anthropic", "max_tokens"), None);
}

#[test]
fn an_empty_lua_table_is_a_table_without_options() {
    for given in [json!([]), json!({"highlights": []}), json!({"tools": []})] {
        let (settings, problems) = examine(given.clone());
        assert_eq!(problems.all(), [""; 0], "{given}");
        assert_eq!(settings.policy().decide("read"), Some(Decision::Approve));
    }
}
