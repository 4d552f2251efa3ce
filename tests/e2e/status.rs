//! The winbar of a chat, and the same for status lines.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

/// Returns true if a row shows all of these, in this order.
fn shows(row: &str, parts: &[&str]) -> bool {
    let mut rest = row;
    parts.iter().all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// Waits until the first row of the screen shows these.
#[track_caller]
fn wait_top(editor: &Editor, parts: &[&str]) {
    editor.wait_screen(&format!("{parts:?} in the winbar"), |rows| {
        shows(&rows[0], parts)
    });
}

#[test]
fn the_winbar_shows_model_phase_cost_and_context_in_80_columns() {
    let provider = Provider::anthropic([
        Answer::says("One.").usage(150_000, 2000),
        Answer::says("Two.").usage(170_000, 2000),
    ]);
    let setup = setup(&provider).size(80, 24);
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    wait_top(&editor, &["anthropic claude-sonnet-5-5", "idle"]);
    editor.keys("<C-]>");
    // The model remembers a million tokens.
    wait_top(
        &editor,
        &["claude-sonnet-5-5", "idle", "$0.32", "context 15 %"],
    );
    assert!(editor.text().contains("One."));
}

#[test]
fn each_window_of_a_chat_has_a_winbar_and_other_buffers_have_none() {
    let editor = offline()
        .options(json!({"provider": "tutor"}))
        .file("question.chat", QUESTION)
        .start();
    editor.command("set laststatus=3");
    editor.command("vsplit");
    editor.wait_screen("two winbars", |rows| rows[0].matches("tutor").count() == 2);
    editor.command("enew");
    editor.wait_screen("one winbar", |rows| rows[0].matches("tutor").count() == 1);
    editor.command("buffer question.chat");
    editor.wait_screen("two again", |rows| rows[0].matches("tutor").count() == 2);
}

#[test]
fn a_winbar_of_the_user_stays_and_the_option_removes_ours() {
    let editor = offline()
        .options(json!({"provider": "tutor", "ui": {"winbar": false}}))
        .file("question.chat", QUESTION)
        .start();
    assert_eq!(editor.lua("return vim.wo.winbar", &json!([])), "");
    editor.command("set winbar=mine");
    editor.lua(
        "require('flemma').setup({ provider = 'tutor' })",
        &json!([]),
    );
    editor.wait_screen("the user's winbar", |rows| rows[0].starts_with("mine"));
    editor.command("set winbar=");
    editor.lua(
        "require('flemma').setup({ provider = 'tutor' })",
        &json!([]),
    );
    wait_top(&editor, &["tutor", "idle"]);
}

#[test]
fn a_pending_call_is_announced_in_the_status_line() {
    let call = Answer::new().tool_use("t_1", "write", &json!({"path": "f", "content": ""}));
    let provider = Provider::anthropic([call]);
    let editor = ask_with(&provider, json!({"tools": {"auto_approve": []}}));
    editor.keys("<C-]>");
    editor.wait_for("the call", |editor| {
        let line = editor.lua("return require('flemma.status').line()", &json!([]));
        line.as_str()
            .is_some_and(|line| line.contains("waiting for approval"))
    });
}
