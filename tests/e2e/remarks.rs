//! Messages on the screen: errors in full below the prompt, and one short line.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

/// A provider that refuses every request with a long reason.
fn refusing() -> Provider {
    let message = "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. \
                   Each `tool_use` block must have a corresponding `tool_result` block in the next message.";
    let body =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
    let answer = || Answer::status(400, body.to_string());
    Provider::anthropic([answer(), answer(), answer()])
}

/// The remark below the text, on one line.
fn remark(editor: &Editor) -> String {
    let lines = editor.virtual_lines();
    let lines: Vec<&str> = lines.iter().map(|it| it.text.trim()).collect();
    lines.join(" ")
}

const REFUSAL: &str = "✗ Anthropic refused the request (400, messages.3: `tool_use` ids were found without `tool_result` \
     blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the next \
     message). Correct what it names and press Ctrl-] again; the conversation is unchanged.";

#[test]
fn an_error_is_readable_in_a_small_terminal_without_a_prompt() {
    let provider = refusing();
    let options = json!({"parameters": {"max_retries": 0}});
    // The chat is longer than the screen, and the remark must still be visible.
    let text = format!("@You:\n{}", "a line\n".repeat(40));
    let setup = with_options(&provider, options)
        .size(80, 24)
        .file("question.chat", &text);
    let editor = setup.start();
    for keys in ["G<C-]>", "<C-]>", "i<C-]>"] {
        editor.keys(keys);
        editor.wait_for("the whole error", |editor| remark(editor) == REFUSAL);
        editor.wait_screen("cause and remedy below the prompt", |rows| {
            let at = |text: &str| rows.iter().position(|row| row.contains(text));
            let message = rows.last().map_or("", |row| row.as_str());
            at("✗ Anthropic refused the request (400") < at("Correct what it names")
                && at("Correct what it names").is_some()
                && message.starts_with("Flemma: Anthropic refused the request")
                && message.ends_with('…')
        });
        assert!(!editor.mode().blocking);
        assert!(editor.messages().contains("Correct what it names"));
    }
    // It is wrapped again for a narrower window.
    editor.command("vsplit");
    editor.wait_for("narrower lines", |editor| {
        let narrow = |it: &harness::Drawn| it.text.chars().count() <= 40;
        remark(editor) == REFUSAL && editor.virtual_lines().iter().all(narrow)
    });
}

#[test]
fn the_next_key_removes_an_error() {
    let body = json!({"type": "error", "error": {"type": "authentication_error", "message": "no"}});
    let provider = Provider::anthropic([
        Answer::status(401, body.to_string()),
        Answer::says("Now it works."),
    ]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_for("the error", |editor| {
        remark(editor).starts_with("✗ Anthropic refused the key")
    });
    let message_line = |rows: &[String]| rows.last().cloned().unwrap_or_default();
    editor.wait_screen("its short form", |rows| {
        message_line(rows).starts_with("Flemma: Anthropic refused the key")
    });
    editor.keys("<C-]>");
    wait_end(&editor, "Now it works.\n\n@You:\n\n");
    assert_eq!(remark(&editor), "");
    editor.wait_screen("nothing about the key", |rows| {
        !message_line(rows).contains("refused")
    });
}
