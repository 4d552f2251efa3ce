//! Files that hold keys, passwords, and the like: what a model can read without the user,
//! and what `sandbox.reveal` allows.

use std::fs;

use harness::{Answer, Editor, Provider};
use serde_json::{Value, json};

use crate::mcp_serve::{Client, call};
use crate::shell::Shell;
use crate::stage::*;

const SECRET: &str = "s3cret-of-the-user";

/// An editor beside secrets, in a chat whose rules approve every call.
#[track_caller]
fn victim(provider: &Provider, mut options: Value) -> Editor {
    options["tools"]["require_approval"] = json!(false);
    let setup = with_options(provider, options)
        .with("../.ssh/id_work", SECRET)
        .with("../.ssh/id_work.pub", "public")
        .with("../.aws/credentials", SECRET)
        .with(".env", SECRET)
        .with("conf/.env.local", SECRET)
        .with(".env.example", "TOKEN=")
        .with("plain.txt", "plain");
    let editor = setup.file("question.chat", QUESTION).start();
    let (dir, home) = (editor.dir(), editor.dir().join(".."));
    std::os::unix::fs::symlink("../.ssh/id_work", dir.join("notes")).unwrap();
    fs::hard_link(home.join(".ssh/id_work"), dir.join("copy")).unwrap();
    watch(&editor);
    editor
}

/// A model that makes these calls in one answer, as `t_0`, `t_1`, and so on.
fn calls(calls: &[(&str, Value)]) -> Provider {
    let add = |answer: Answer, (at, (name, input)): (usize, &(&str, Value))| {
        answer.tool_use(&format!("t_{at}"), name, input)
    };
    let answer = calls.iter().enumerate().fold(Answer::new(), add);
    Provider::anthropic([answer, Answer::says("Well.")])
}

#[test]
fn reading_a_secret_waits_whatever_approves_reading() {
    let path = |path: &str| json!({ "path": path });
    let named = [
        ("read", file(".env")),
        ("read", file("conf/../conf/.env.local")),
        ("read", file("~/.ssh/id_work")),
        ("read", file("../.aws/credentials")),
        ("read", file("notes")),
        ("read", file("copy")),
        ("read", file("/proc/self/environ")),
        ("grep", json!({"pattern": "s3", "path": "notes"})),
        ("find", json!({"pattern": "~/.ssh/*"})),
        ("ls", path("../.ssh")),
        (
            "write",
            json!({"label": "", "path": ".env", "content": "x"}),
        ),
        (
            "edit",
            json!({"label": "", "path": ".env", "oldText": "x", "newText": "y"}),
        ),
        ("read_file", path("notes")),
        (
            "execute_tool",
            json!({"name": "read", "arguments": file(".env")}),
        ),
        ("read", file("plain.txt")),
        ("read", file(".env.example")),
        ("read", file("~/.ssh/id_work.pub")),
    ];
    let offered = json!({"tools": {"offer": ["grep", "find", "ls", "execute_tool"]}});
    let provider = calls(&named);
    let editor = victim(&provider, offered);
    editor.keys("<C-]>");
    let ids: [String; 17] = std::array::from_fn(|at| format!("t_{at}"));
    let became = outcomes(&editor, ids.each_ref().map(String::as_str));
    assert_eq!(became[..14], ["waits"; 14], "{}", editor.text());
    assert_eq!(became[14..], ["ran"; 3], "{}", editor.text());
    assert!(!editor.text().contains(SECRET));
    let env = editor.dir().join(".env");
    wait_message(
        &editor,
        &format!("sandbox.reveal = {{ \"{}\" }}", env.display()),
    );
}

#[test]
fn no_approval_function_reads_a_secret() {
    let read = [("read", file(".env"))];
    let provider = calls(&read);
    let approves = "tools = { auto_approve = function() return true end }";
    let setup = with_lua_options(&provider, approves).with(".env", SECRET);
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_0"]), ["waits"]);
}

#[test]
fn the_user_can_approve_reading_a_secret() {
    let provider = calls(&[("read", file("notes"))]);
    let editor = victim(&provider, json!({}));
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_0"]), ["waits"]);
    wait_message(&editor, "is secret: it may hold private keys");
    alt_enter(&editor);
    editor.wait_for("the key", |editor| result(editor, "t_0").contains(SECRET));
}

#[test]
fn a_revealed_secret_is_read_without_a_question() {
    let options = json!({"sandbox": {"enabled": false, "reveal": ["$CWD/.env", "~/.aws"]}});
    let named = [
        ("read", file(".env")),
        ("read", file("~/.aws/credentials")),
        ("read", file("conf/.env.local")),
    ];
    let provider = calls(&named);
    let editor = victim(&provider, options);
    editor.keys("<C-]>");
    assert_eq!(
        outcomes(&editor, ["t_0", "t_1", "t_2"]),
        ["ran", "ran", "waits"]
    );
}

#[test]
fn a_search_skips_secrets_and_names_them() {
    let grep = json!({"pattern": "s3cret|plain"});
    let options = json!({"tools": {"offer": ["grep"]}});
    let provider = calls(&[("grep", grep)]);
    let editor = victim(&provider, options);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_0"]), ["ran"]);
    let found = result(&editor, "t_0");
    assert!(found.contains("plain.txt:1:plain"), "{found}");
    assert!(
        found.contains("[Skipped 3 secret files: .env, conf/.env.local, copy."),
        "{found}"
    );
    assert!(!found.contains(SECRET), "{found}");
}

#[test]
fn a_refusal_without_a_user_names_the_option() {
    let shell = Shell::offline();
    shell.write(".env", SECRET);
    let env = shell.path(".env").canonicalize().unwrap();
    let grant = format!("sandbox.reveal = {{ \"{}\" }}", env.display());
    let input = file(".env").to_string();
    let ran = shell.run(&["tool", "read", &input]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.out.contains(SECRET), "{ran:?}");
    assert!((ran.out.clone() + &ran.err).contains(&grant), "{ran:?}");
    let ran = shell.run(&["tool", "read", "--yes", &input]);
    assert!(ran.out.contains(SECRET), "{ran:?}");

    let mut client = Client::greeted(&shell, &["--approve", "read"]);
    client.send(&call(2, "read", &file(".env")));
    let output = client.receive()["result"].to_string();
    assert!(!output.contains(SECRET), "{output}");
    assert!(
        output.contains("is secret") && output.contains("sandbox.reveal"),
        "{output}"
    );
    client.leave();

    shell.configure("[sandbox]\nenabled = false\nreveal = [\"$CWD/.env\"]\n");
    let ran = shell.run(&["tool", "read", &input]);
    assert!(ran.out.contains(SECRET), "{ran:?}");
    let input = command("cat .env").to_string();
    let ran = shell.run(&["tool", "bash", "--restricted", &input]);
    assert!(ran.out.contains(SECRET), "{ran:?}");
}

#[test]
fn a_command_in_the_sandbox_sees_no_secret_until_it_is_revealed() {
    let name = "a_command_in_the_sandbox_sees_no_secret_until_it_is_revealed";
    if !crate::sandbox::holds(name) {
        return;
    }
    let line = "cat .env conf/.env.local ~/.ssh/id_work ~/.aws/credentials";
    let call = [("bash", command(line))];
    let provider = calls(&call);
    let editor = victim(&provider, json!({"sandbox": {"enabled": true}}));
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_0"]), ["ran"]);
    let output = result(&editor, "t_0");
    assert!(!output.contains(SECRET), "{output}");
    assert!(
        output.contains("The sandbox hides secrets from commands"),
        "{output}"
    );
    assert!(output.contains("sandbox.reveal = { \""), "{output}");

    let provider = calls(&call);
    let reveal = json!(["$CWD/.env", "~/.ssh/id_work"]);
    let options = json!({"sandbox": {"enabled": true, "reveal": reveal}});
    let editor = victim(&provider, options);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_0"]), ["ran"]);
    let output = result(&editor, "t_0");
    assert_eq!(output.matches(SECRET).count(), 2, "{output}");
}
