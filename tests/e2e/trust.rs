//! Chats that came as files: what their frontmatter loosens is withheld until the user
//! trusts it. Also protected files, and the log of decisions.

use std::fs;
use std::path::PathBuf;

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::shell::Shell;
use crate::stage::*;
use crate::traces::{wait_review, wait_unlocked};

/// Frontmatter that approves commands.
const LOOSE: &str = "flemma.opt.tools.auto_approve = { \"$default\", \"bash\" }";

const WITHHELD: &str = "Line 2 of the frontmatter would run bash without asking.";

fn bash(id: &str, line: &str) -> Answer {
    Answer::new().tool_use(id, "bash", &command(line))
}

/// The log of decisions of an editor's host.
fn log(editor: &Editor) -> PathBuf {
    editor.dir().join("../state/nvim/flemma/audit.jsonl")
}

/// Sends another question below the last answer.
#[track_caller]
fn ask_again(editor: &Editor) {
    wait_unlocked(editor);
    editor.keys("GiAgain.<Esc><C-]>");
}

/// Overwrites the chat's file outside of Neovim, and reloads it.
#[track_caller]
fn replace_on_disk(editor: &Editor, text: &str) {
    fs::write(editor.dir().join("question.chat"), text).unwrap();
    editor.command("edit!");
    editor.wait_text(text);
}

#[test]
fn a_frontmatter_applies_until_its_trust_is_revoked() {
    let turn = |id| [bash(id, "echo out"), Answer::says("Well.")];
    let provider = Provider::anthropic(turn("t_1").into_iter().chain(turn("t_2")));
    let editor = open(&provider, &below(LOOSE));
    editor.command("Flemma trust");
    wait_message(
        &editor,
        "The frontmatter of this file is trusted as it is now.",
    );
    editor.keys("<C-]>");
    editor.wait_text("Well.\n\n@You:\n");
    assert_eq!(became(&editor, "t_1"), "ran");

    editor.command("Flemma trust!");
    wait_message(&editor, "no longer trusted");
    ask_again(&editor);
    assert_eq!(outcomes(&editor, ["t_2"]), ["waits"]);
    wait_message(&editor, WITHHELD);
}

#[test]
fn a_trusted_frontmatter_that_changes_on_disk_is_no_longer_trusted() {
    let provider = Provider::anthropic([bash("t_b", "touch ran")]);
    let editor = open(&provider, &below("flemma.opt.tools.auto_approve = {}"));
    editor.command("Flemma trust");
    wait_message(&editor, "is trusted as it is now");
    replace_on_disk(&editor, &below(LOOSE));
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_b"]), ["waits"]);
    wait_message(&editor, WITHHELD);
}

#[test]
fn a_copy_of_a_trusted_chat_is_not_trusted() {
    let provider = Provider::anthropic([bash("t_b", "touch ran")]);
    let setup = setup(&provider).with("copy.chat", below(LOOSE));
    let editor = setup.file("question.chat", &below(LOOSE)).start();
    editor.command("Flemma trust");
    wait_message(&editor, "is trusted as it is now");
    editor.command("edit copy.chat");
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_b"]), ["waits"]);
}

#[test]
fn typed_frontmatter_is_trusted_when_the_chat_is_reopened() {
    let provider = Provider::anthropic([Answer::says("Well."), bash("t_b", "echo out")]);
    let editor = type_below(&provider, LOOSE);
    editor.keys("<C-]>");
    editor.wait_text("Well.\n\n@You:\n");
    editor.command("write");
    editor.command("edit!");
    ask_again(&editor);
    assert_eq!(outcomes(&editor, ["t_b"]), ["ran"]);
}

#[test]
fn files_that_decide_what_runs_are_written_only_with_approval() {
    let paths = [
        ".git/hooks/pre-commit",
        ".git/config",
        "../.bashrc",
        ".bashrc",
        "~/.profile",
        "other.chat",
        "link/hooks/post-checkout",
        ".nvim.lua",
        "../state/nvim/flemma/trust.json",
    ];
    let write = |path: &str| json!({"label": "", "path": path, "content": "touch ran\n"});
    let answer = paths
        .iter()
        .enumerate()
        .fold(Answer::new(), |answer, (at, path)| {
            answer.tool_use(&format!("t_{at}"), "write", &write(path))
        });
    let answer = answer.tool_use("t_free", "write", &write("free.txt"));
    let provider = Provider::anthropic([answer]);
    let options = json!({"tools": {"require_approval": false}});
    let setup = with_options(&provider, options).with(".git/HEAD", "x");
    let editor = setup.file("question.chat", QUESTION).start();
    std::os::unix::fs::symlink(".git", editor.dir().join("link")).unwrap();
    editor.keys("<C-]>");
    let ids: Vec<String> = (0..paths.len()).map(|at| format!("t_{at}")).collect();
    for (id, path) in ids.iter().zip(paths) {
        assert_eq!(outcomes(&editor, [id]), ["waits"], "{path}");
        let there = path.replace('~', "..");
        let content = fs::read_to_string(editor.dir().join(there)).unwrap_or_default();
        assert!(!content.contains("touch ran"), "{path}");
    }
    assert_eq!(outcomes(&editor, ["t_free"]), ["ran"]);
    wait_message(
        &editor,
        "so this needs your approval, whatever the policy says.",
    );
}

#[test]
fn the_log_has_a_decision_for_every_call() {
    let calls = bash("t_b", "echo out")
        .tool_use("t_r", "read", &file("nothing.txt"))
        .tool_use("t_c", "calculator", &json!({"expression": "2"}));
    let provider = Provider::anthropic([calls, Answer::says("Well.")]);
    let options = json!({"tools": {"auto_approve": ["$default", "calculator"]}});
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    assert_eq!(
        outcomes(&editor, ["t_b", "t_r", "t_c"]),
        ["waits", "failed", "ran"]
    );
    wait_unlocked(&editor);
    editor.keys(&format!("{APPROVE}<C-]>"));
    editor.wait_text("@Assistant:\nWell.");

    let records = fs::read_to_string(log(&editor)).unwrap();
    let records: Vec<Json> = records
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    for (id, tool) in [("t_b", "bash"), ("t_r", "read"), ("t_c", "calculator")] {
        let of_call: Vec<&Json> = records.iter().filter(|it| it["call"] == id).collect();
        let events: Vec<&str> = of_call
            .iter()
            .filter_map(|it| it["event"].as_str())
            .collect();
        // A pending call has two decisions.
        let first = usize::from(id == "t_b");
        let run = &events[first..];
        assert_eq!(run, ["decided", "started", "ended"], "{records:#?}");
        assert_eq!(
            (&of_call[first]["tool"], &of_call[first]["decision"]),
            (&json!(tool), &json!("approved"))
        );
    }
    // The log has no arguments, because they may be secret.
    assert!(!format!("{records:?}").contains("echo out"));

    editor.command("Flemma log");
    editor.wait_for("the log on the screen", |editor| {
        let shown = format!("{}{}", editor.text(), editor.messages());
        shown.contains("bash  t_b  approved by") && shown.contains("calculator  t_c  done")
    });
}

#[test]
fn the_log_names_calls_that_did_not_run_and_the_reason() {
    let calls = bash("t_no", "touch ran")
        .tool_use("t_hand", "bash", &command("touch ran"))
        .tool_use("t_den", "calculator", &json!({"expression": "2"}))
        .tool_use("t_odd", "bsah", &json!({}))
        .tool_use(
            "t_key",
            "write",
            &json!({"label": "", "path": ".bashrc", "content": ""}),
        );
    let provider = Provider::anthropic([calls, Answer::says("Well.")]);
    let options = json!({"tools": {
        "presets": {"$no": {"deny": ["calculator"]}},
        "auto_approve": ["$default", "$no"],
    }});
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    let ids = ["t_no", "t_hand", "t_den", "t_odd", "t_key"];
    let became = ["waits", "waits", "denied", "failed", "waits"];
    assert_eq!(outcomes(&editor, ids), became);
    wait_review(&editor);
    editor.keys("/pending<CR>cwrejected<Esc>/pending<CR>omine<Esc><C-]>");
    editor.wait_for("the user's own words", |editor| {
        crate::stage::became(editor, "t_hand") == "ran"
    });
    editor.command("Flemma log");
    for line in [
        "bash  t_no  waits, by default",
        "bash  t_no  rejected, written in the chat",
        "bash  t_hand  answered by hand, written in the chat",
        "calculator  t_den  denied by config",
        "bsah  t_odd  cannot run, by flemma (the tool does not exist)",
        "write  t_key  waits, by protected",
    ] {
        editor.wait_for(line, |editor| {
            format!("{}{}", editor.text(), editor.messages()).contains(line)
        });
    }
    assert!(!editor.dir().join("ran").exists());
}

#[test]
fn nothing_runs_while_the_log_cannot_be_written() {
    let provider = Provider::anthropic([bash("t_b", "touch ran")]);
    let editor = ask_with(&provider, json!({"tools": {"require_approval": false}}));
    fs::create_dir_all(log(&editor)).unwrap();
    editor.keys("<C-]>");
    wait_message(&editor, "so nothing runs.");
    at_rest(&editor);
    assert!(!editor.dir().join("ran").exists());
}

/// A chat whose frontmatter approves commands.
const LOOSE_CHAT: &str = "```lua\nflemma.opt.tools.auto_approve = {\"bash\"}\n```\n\n@You:\nGo.\n";

#[test]
fn the_command_line_shows_what_a_frontmatter_allows_and_asks() {
    let calls = || {
        let call = Answer::new().tool_use("t_1", "bash", &command("printf ran > ran"));
        [call, Answer::says("Well.")]
    };
    let provider = Provider::anthropic(calls().into_iter().chain(calls()));
    let shell = Shell::new(&provider);
    shell.write("a.chat", LOOSE_CHAT);
    let ran = shell.run(&["send", "a.chat"]);
    assert!(ran.err.contains("confirm with `flemma trust`"), "{ran:?}");
    assert!(!shell.path("ran").exists());

    shell.write("a.chat", LOOSE_CHAT);
    let ran = shell.run(&["trust", "a.chat"]);
    assert_eq!(ran.code, Some(4), "no user was there: {ran:?}");
    for said in [
        "Line 2 would run bash without asking.",
        "Nothing was trusted",
    ] {
        assert!(ran.err.contains(said), "{ran:?}");
    }
    assert_eq!(shell.run(&["trust", "--yes", "a.chat"]).code, Some(0));
    let ran = shell.run(&["send", "a.chat"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(shell.path("ran").exists());

    let ran = shell.run(&["trust", "--revoke", "a.chat"]);
    assert!(ran.err.contains("is no longer trusted"), "{ran:?}");
    let ran = shell.run(&["trust", "--revoke", "a.chat"]);
    assert!(ran.err.contains("was not trusted"), "{ran:?}");
}

#[test]
fn the_command_line_trusts_nothing_that_it_cannot_read() {
    let shell = Shell::offline();
    shell.write("none.chat", "@You:\nGo.\n");
    shell.write(
        "broken.chat",
        "```lua\nflemma.opt.tools.auto_aprove = {}\n```\n\n@You:\nGo.\n",
    );
    for (file, said) in [
        ("missing.chat", "does not exist"),
        ("none.chat", "has no frontmatter"),
        ("broken.chat", "Nothing was trusted"),
    ] {
        let ran = shell.run(&["trust", "--yes", file]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains(said), "{ran:?}");
    }
}
