//! Rules about arguments, and what the machine adds to them.
#![allow(clippy::unwrap_used)]

use std::fs;

use tools::{Backend, Registry, SandboxLimits};

use super::*;

fn call(name: &str, input: Value) -> CallKey {
    CallKey {
        id: ToolUseId::new("x"),
        name: name.to_owned(),
        input: chat::json::canonical(&input),
    }
}

fn bash(command: &str) -> CallKey {
    call(
        "bash",
        json!({"label": "", "command": command, "timeout": null}),
    )
}

#[test]
fn a_command_that_only_reads_is_approved_under_both_names() {
    let safe = ShellSafe(ShellLists::default());
    let approve = Some(Decision::Approve);
    assert_eq!(safe.decide(&bash("ls -la")), approve);
    assert_eq!(safe.decide(&bash("rm x")), None);
    assert_eq!(safe.decide(&call("bash", json!({}))), None);
    assert_eq!(safe.decide(&call("write", json!({"command": "ls"}))), None);
    let shell = |command: &str, folder: Value| {
        call("shell", json!({"command": command, "working_dir": folder}))
    };
    assert_eq!(safe.decide(&shell("pwd", json!("/tmp"))), approve);
    assert_eq!(safe.decide(&shell("git status", Value::Null)), approve);
    // Whether that folder's configuration is harmless is looked at by the guard.
    assert_eq!(safe.decide(&shell("git status", json!("evil"))), approve);
}

#[test]
fn what_is_forbidden_is_denied_with_its_name() {
    let lists = ShellLists {
        deny: vec!["curl".to_owned()],
        ..ShellLists::default()
    };
    let bound = ShellBound {
        lists,
        only_listed: false,
        is_known: true,
    };
    assert_eq!(bound.decide(&bash("ls; curl x")), Some(Decision::Deny));
    let reason = bound.reason(&bash("ls; curl x")).unwrap_or_default();
    assert!(reason.contains("\"curl\" is not allowed") && reason.ends_with("Nothing was run."));
    assert_eq!(bound.decide(&bash("rm x")), None);
    let long = format!("{}curl x", "true; ".repeat(60_000));
    assert_eq!(bound.decide(&bash(&long)), Some(Decision::RequireApproval));
}

#[test]
fn a_bound_shell_runs_only_what_is_listed() {
    let bound = ShellBound {
        lists: ShellLists::default(),
        only_listed: true,
        is_known: true,
    };
    assert_eq!(bound.decide(&bash("ls")), None);
    assert_eq!(bound.decide(&bash("rm x")), Some(Decision::Deny));
    assert_eq!(bound.decide(&call("write", json!({}))), None);
}

#[test]
fn a_listed_host_needs_no_question() {
    let allow = HttpAllow::read(&["docs.rs".to_owned()]).unwrap_or_default();
    let hosts = ListedHosts(allow);
    let get = |url: &str| call("http_get", json!({"url": url}));
    assert_eq!(
        hosts.decide(&get("https://docs.rs/x")),
        Some(Decision::Approve)
    );
    assert_eq!(hosts.decide(&get("https://docs.rs.evil.example/x")), None);
    assert_eq!(
        hosts.decide(&call("bash", json!({"url": "https://docs.rs/"}))),
        None
    );
}

#[test]
fn the_rule_of_a_command_that_reads_has_its_name() {
    let name = ShellSafe(ShellLists::default()).name();
    assert_eq!(name, Some(approval::SHELL_SAFE));
}

#[test]
fn a_shell_that_is_not_known_is_bound_only_where_what_is_not_listed_is_denied() {
    let bound = |only_listed| ShellBound {
        lists: ShellLists::default(),
        only_listed,
        is_known: false,
    };
    assert_eq!(bound(false).decide(&bash("ls")), None);
    assert_eq!(bound(true).decide(&bash("ls")), Some(Decision::Deny));
    let reason = bound(true).reason(&bash("ls")).unwrap();
    assert!(reason.contains("another shell than bash"), "{reason}");
    assert_eq!(bound(true).decide(&call("write", json!({}))), None);
}

#[test]
fn the_rules_say_what_they_do_with_some_commands_only() {
    let safe = json!(["$default", "$shell-safe"]);
    for (approve, unlisted, expected) in [
        (json!(["$default"]), "ask", None),
        (json!(["bash"]), "ask", None),
        (safe.clone(), "ask", Some("commands that only read run")),
        (
            safe,
            "deny",
            Some("commands that only read run, all others are denied"),
        ),
        (
            json!([]),
            "deny",
            Some("what does more than read is denied"),
        ),
    ] {
        let given = json!({"tools": {"auto_approve": approve, "bash": {"unlisted": unlisted}}});
        let registry = Registry::builtin();
        let (settings, _) = Settings::read(&given, &registry);
        assert_eq!(
            exceptions(&settings.options(&registry).chain),
            expected,
            "{given}"
        );
    }
}

/// A folder whose `link` leads to a secret, and another one whose `link` does not.
fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let [secret, plain] = ["secret", "plain"].map(|it| folder.path().join(it));
    for (path, leads_to) in [(&secret, ".env"), (&plain, "notes")] {
        fs::create_dir(path).unwrap();
        fs::write(path.join(leads_to), "x").unwrap();
        std::os::unix::fs::symlink(leads_to, path.join("link")).unwrap();
    }
    (folder, secret, plain)
}

fn inspection(given: Value, folder: &Path, sandbox: Sandbox) -> Inspection {
    let (settings, _) = Settings::read(&given, &Registry::builtin());
    let here = Here {
        cwd: folder,
        chat: None,
    };
    settings.inspection(folder.to_owned(), here, Arc::new(sandbox))
}

#[test]
fn a_command_is_inspected_in_the_folder_in_which_it_will_run() {
    let (_folder, secret, plain) = folders();
    let elsewhere = json!({"tools": {"bash": {"cwd": secret}}});
    let inspect = |given: &Value, call: &CallKey| {
        let inspection = inspection(given.clone(), &plain, Sandbox::off());
        inspection.problem(call).is_some()
    };
    let in_folder = |folder: Value| {
        call(
            "shell",
            json!({"command": "cat link", "working_dir": folder}),
        )
    };
    let usual = json!({});
    assert!(!inspect(&usual, &bash("cat link")));
    assert!(inspect(&elsewhere, &bash("cat link")));
    assert!(
        !inspect(&elsewhere, &in_folder(Value::Null)),
        "bash.cwd is not its folder"
    );
    assert!(inspect(&usual, &in_folder(json!(secret))));
    assert!(inspect(&usual, &bash("rm link")));
    assert!(!inspect(
        &usual,
        &call("write", json!({"command": "rm link"}))
    ));
}

#[test]
fn what_the_guard_says_follows_the_option_for_commands_that_are_not_listed() {
    let (_folder, _, plain) = folders();
    for (unlisted, decision, said) in [
        (
            "ask",
            Decision::RequireApproval,
            "The call \"x\" needs your approval. ",
        ),
        ("deny", Decision::Deny, "The call \"x\" was denied. "),
    ] {
        let given = json!({"tools": {"bash": {"unlisted": unlisted}}});
        let inspection = inspection(given, &plain, Sandbox::off());
        assert_eq!(inspection.decide(&bash("ls")), None);
        let (decided, why) = inspection.decide(&bash("rm x")).unwrap();
        assert_eq!(decided, decision);
        assert!(why.starts_with(said) && why.len() > said.len(), "{why}");
    }
}

#[test]
fn a_secret_is_one_under_any_name_and_for_reading_and_writing() {
    let (_folder, secret, plain) = folders();
    let registry = Registry::builtin();
    for (tool, folder, path, expected) in [
        ("read", &secret, "link", true),
        ("read", &secret, ".env", true),
        ("write", &secret, ".env", true),
        ("read", &plain, "link", false),
        ("write", &plain, "notes", false),
    ] {
        let inspection = inspection(json!({}), folder, Sandbox::off());
        let tool = registry.get(tool).unwrap();
        let input = json!({"path": path, "content": ""});
        let found = inspection.secret(&*tool, &input);
        assert_eq!(found.is_some(), expected, "{} {path}", tool.name());
    }
}

#[test]
fn a_command_runs_free_where_the_sandbox_that_it_should_have_is_missing() {
    let (_folder, _, plain) = folders();
    let missing = |required| {
        let backend = Backend {
            program: Some(plain.join("no-bwrap")),
            required,
            ..Backend::default()
        };
        Sandbox::new(SandboxLimits::default(), backend)
    };
    let tool = call("my_tool", json!({}));
    let runs_free = |sandbox: &Sandbox| {
        let inspection = inspection(json!({}), &plain, sandbox.clone());
        [&tool, &bash("rm x"), &bash("ls")].map(|call| inspection.runs_free(call))
    };
    assert_eq!(runs_free(&missing(false)), [true, true, false]);
    assert_eq!(runs_free(&missing(true)), [false; 3], "it does not run");
    assert_eq!(
        runs_free(&Sandbox::off()),
        [false; 3],
        "as the user wants it"
    );
}

#[test]
fn what_holds_a_command_is_named_for_the_log() {
    let (settings, _) = Settings::read(&json!({}), &Registry::builtin());
    for by in ["user", approval::SHELL_SAFE] {
        assert_eq!(settings.held_by(&Sandbox::off(), &bash("ls"), by), "none");
    }
}
