//! Deciding about pending calls by keys and commands.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

/// A chat in which these commands are pending, and the model's answer to their results.
fn waits(commands: &[&str]) -> (Provider, Editor) {
    let calls = commands.iter().enumerate();
    let answer = calls.fold(Answer::new(), |answer, (at, text)| {
        answer.tool_use(&format!("t_{at}"), "bash", &command(text))
    });
    let provider = Provider::anthropic([answer, Answer::says("Well.")]);
    let editor = ask_with(&provider, json!({"tools": {"auto_approve": []}}));
    editor.keys("<C-]>");
    let last = format!("t_{}", commands.len() - 1);
    editor.wait_for("the last call", |editor| became(editor, &last) == "waits");
    at_rest(&editor);
    (provider, editor)
}

const HINT: &str = "Enter: decide · Alt-Enter runs · Alt-t tries · Alt-a runs all · Alt-r rejects";

#[test]
fn a_pending_call_shows_its_keys() {
    let (_provider, editor) = waits(&["true"]);
    editor.wait_screen("the keys below the preview", |rows| {
        let at = rows.iter().position(|row| row == "bash: $ true  # testing");
        at.is_some_and(|at| rows[at + 1] == "asks: runs a command" && rows[at + 2] == HINT)
    });
}

#[test]
fn one_key_runs_all_pending_calls() {
    let (provider, editor) = waits(&["echo one", "echo two"]);
    editor.keys("<M-a>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    assert_eq!(outcomes(&editor, ["t_0", "t_1"]), ["ran", "ran"]);
    assert_eq!(provider.requests().len(), 2);
}

#[test]
fn the_call_at_the_cursor_is_rejected() {
    let (provider, editor) = waits(&["echo one", "echo two"]);
    editor.keys("gg");
    editor.command("Flemma reject");
    wait_message(
        &editor,
        "2 calls are pending. Put the cursor on the one to reject.",
    );
    editor.keys("/Tool Result:.. `t_1`<CR>");
    editor.command("Flemma reject not this one");
    let expected = "**Tool Result:** `t_1` (error)\n\n```\nnot this one\n```";
    wait_result(&editor, "t_1", expected);
    assert_eq!(became(&editor, "t_0"), "waits");
    editor.command("Flemma approve all");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    let request = provider.requests()[1].body.to_string();
    assert!(request.contains("not this one"), "{request}");
}

#[test]
fn the_key_asks_for_a_reason_and_escape_rejects_nothing() {
    let (_provider, editor) = waits(&["echo one"]);
    editor.keys("<M-r>");
    editor.keys("never mind<Esc>");
    at_rest(&editor);
    assert_eq!(became(&editor, "t_0"), "waits");
    editor.keys("<M-r>");
    editor.keys("Not today.<CR>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    let expected = "**Tool Result:** `t_0` (error)\n\n```\nNot today.\n```";
    assert_eq!(result(&editor, "t_0"), expected);
}
