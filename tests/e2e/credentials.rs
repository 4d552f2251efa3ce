//! Keys that are not in the environment: which program is asked for them, in which order,
//! and what the user sees if none has one. The programs are scripts in a private folder
//! that is first in `$PATH`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::stage::*;
use crate::traces::press_cancel;

/// A folder of programs: their names and shell scripts.
fn programs(scripts: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in scripts {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// An editor with these programs that is directed to `provider` and has no key in its environment.
#[track_caller]
fn keyless(provider: &Provider, programs: &TempDir, anthropic: &Json) -> Editor {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(programs.path().to_owned()).chain(std::env::split_paths(&path));
    let setup = offline()
        .env("PATH", std::env::join_paths(folders).unwrap())
        .env("ANTHROPIC_BASE_URL", provider.url())
        .options(json!({"parameters": {"anthropic": anthropic}}));
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor
}

fn key_of(provider: &Provider, request: usize) -> String {
    let requests = provider.requests();
    requests[request].header("x-api-key").unwrap().to_owned()
}

#[test]
fn the_secret_service_is_queried_once() {
    let store = programs(&[(
        "secret-tool",
        "echo \"$@\" >> \"$0.asked\"; echo stored-key",
    )]);
    let provider = Provider::anthropic(["One.", "Two."]);
    let editor = keyless(&provider, &store, &json!({}));
    editor.keys("<C-]>");
    wait_end(&editor, "One.\n\n@You:\n\n");
    editor.keys("GiMore.<Esc><C-]>");
    wait_end(&editor, "Two.\n\n@You:\n\n");
    assert_eq!(key_of(&provider, 0), "stored-key");
    assert_eq!(key_of(&provider, 1), "stored-key");
    let asked = fs::read_to_string(store.path().join("secret-tool.asked")).unwrap();
    assert_eq!(asked, "lookup service anthropic key api\n");
}

#[test]
fn the_users_program_is_asked_last_and_prints_the_key_on_its_first_line() {
    let store = programs(&[
        ("secret-tool", "exit 1"),
        ("my-pass", "echo \"  $1-key \"; echo login: me"),
    ]);
    let provider = Provider::anthropic(["One."]);
    let own = json!({"api_key_command": ["my-pass", "anthropic"]});
    let editor = keyless(&provider, &store, &own);
    editor.keys("<C-]>");
    editor.wait_text("One.");
    assert_eq!(key_of(&provider, 0), "anthropic-key");
}

#[test]
fn a_key_in_the_environment_starts_no_program() {
    let store = programs(&[("secret-tool", "touch \"$0.asked\"; echo no")]);
    let provider = Provider::anthropic(["One."]);
    let path = format!("{}:/usr/bin:/bin", store.path().display());
    let editor = setup(&provider).env("PATH", path);
    let editor = editor.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    editor.wait_text("One.");
    assert_eq!(key_of(&provider, 0), "test-key");
    assert!(!store.path().join("secret-tool.asked").exists());
}

#[test]
fn a_missing_key_is_reported_with_each_place_and_reason() {
    let store = programs(&[
        ("secret-tool", "echo 'Cannot autolaunch D-Bus' >&2; exit 1"),
        ("my-pass", "exit 2"),
    ]);
    let provider = Provider::anthropic(["One."]);
    let own = json!({"api_key_command": ["my-pass"]});
    let editor = keyless(&provider, &store, &own);
    editor.keys("<C-]>");
    let messages = wait_message(
        &editor,
        "There is no key for anthropic, so nothing was sent: ",
    );
    for part in [
        "$ANTHROPIC_API_KEY is not set; ",
        "secret-tool (service anthropic, key api) failed (Cannot autolaunch D-Bus); ",
        "parameters.anthropic.api_key_command (my-pass) failed with code 2.",
        "Set $ANTHROPIC_API_KEY and restart Neovim, or store it with `secret-tool store",
    ] {
        assert!(messages.contains(part), "{part} in {messages}");
    }
    assert_eq!(editor.text(), QUESTION);
    assert!(provider.requests().is_empty());
}

#[test]
fn a_missing_program_is_reported() {
    let store = programs(&[("secret-tool", "")]);
    let provider = Provider::anthropic(["One."]);
    let own = json!({"api_key_command": ["no-such-program"]});
    let editor = keyless(&provider, &store, &own);
    editor.keys("<C-]>");
    let messages = wait_message(&editor, "There is no key for anthropic");
    assert!(messages.contains("key api) has none; "), "{messages}");
    assert!(
        messages.contains("api_key_command (no-such-program) is not installed."),
        "{messages}"
    );
}

#[test]
fn a_refused_key_is_looked_up_once_more() {
    let turn = "n=$(cat \"$0.n\" 2>/dev/null || echo 0); echo $((n + 1)) > \"$0.n\"; echo key-$n";
    let store = programs(&[("secret-tool", turn)]);
    let refused = || Answer::status(401, r#"{"error":{"message":"expired"}}"#);
    let provider = Provider::anthropic([refused(), Answer::says("One."), refused(), refused()]);
    let editor = keyless(&provider, &store, &json!({}));
    editor.keys("<C-]>");
    wait_end(&editor, "One.\n\n@You:\n\n");
    assert_eq!(key_of(&provider, 0), "key-0");
    assert_eq!(key_of(&provider, 1), "key-1");

    editor.keys("GiMore.<Esc><C-]>");
    wait_message(
        &editor,
        "Anthropic refused the key (401, expired). Set the key in the Secret Service (service \
         anthropic, key api) and press Ctrl-] again",
    );
    assert_eq!(provider.requests().len(), 4);
}

#[test]
fn a_program_that_waits_is_shown_and_can_be_cancelled() {
    let store = programs(&[("secret-tool", "echo $$ > \"$0.pid\"; exec sleep 1000")]);
    let provider = Provider::anthropic(["One."]);
    let editor = keyless(&provider, &store, &json!({}));
    editor.keys("<C-]>");
    editor.wait_screen("who is asked", |rows| {
        let note = "asking secret-tool for the key of anthropic";
        rows.iter().any(|row| row.contains(note))
    });
    let file = store.path().join("secret-tool.pid");
    let pid = || fs::read_to_string(&file).unwrap_or_default();
    editor.wait_for("the program", |_| pid().ends_with('\n'));
    let pid = pid();
    press_cancel(&editor, "a cancelled request", |editor| {
        events(editor).contains(&"FlemmaRequestFinished cancelled".to_owned())
    });
    editor.wait_for("the end of the program", |_| {
        !std::path::Path::new(&format!("/proc/{}", pid.trim())).exists()
    });
    assert_eq!(editor.text(), QUESTION);
}
