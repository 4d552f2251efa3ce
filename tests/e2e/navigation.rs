//! Outline, definition, hover, and code actions of a chat, by the keys that Neovim has for
//! language servers, and movements between messages and calls.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

/// A chat with a heading and a pending call.
fn with_pending_call() -> (Provider, Editor) {
    let call = Answer::says("# Plan\n\nFirst, a look.").tool_use(
        "t_1",
        "bash",
        &json!({"label": "looking", "command": "echo ran"}),
    );
    let provider = Provider::anthropic([call.stop("tool_use"), Answer::says("Well.")]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_text("status=pending");
    wait_server(&editor);
    (provider, editor)
}

fn line(editor: &Editor) -> String {
    editor.lines()[editor.cursor().0].clone()
}

#[test]
fn the_outline_of_neovim_lists_messages_calls_and_headings() {
    let (_provider, editor) = with_pending_call();
    editor.keys("gO");
    editor.wait_screen("the outline", |screen| {
        let has = |text: &str| screen.iter().any(|line| line.contains(text));
        has("Plan") && has("→ bash") && has("@Assistant: # Plan")
    });
}

#[test]
fn movements_go_to_messages_and_calls_and_operators_take_the_text_of_a_message() {
    let (_provider, editor) = with_pending_call();
    let wait_line = |start: &str| {
        editor.wait_for(start, |it| line(it).starts_with(start));
    };
    editor.keys("gg]m");
    wait_line("@Assistant:");
    editor.keys("]t");
    wait_line("**Tool Use:**");
    editor.keys("2[m");
    wait_line("@You:");
    // The host knows what was typed just now.
    editor.keys("oMore.<Esc>O@You:<Esc>gg]mjdim");
    editor.wait_for("the text is deleted", |it| !it.text().contains("More."));
    assert!(
        editor.text().starts_with("@You:\n@You:\n"),
        "{}",
        editor.text()
    );
}

#[test]
fn the_definition_of_a_call_is_its_result_and_back() {
    let (_provider, editor) = with_pending_call();
    editor.keys("/Tool Use<CR>");
    editor.command("lua vim.lsp.buf.definition()");
    editor.wait_for("the result", |it| line(it).starts_with("**Tool Result:**"));
    editor.keys("<C-o>");
    editor.wait_for("the way back", |it| line(it).starts_with("**Tool Use:**"));
}

#[test]
fn a_code_action_runs_the_pending_call() {
    let (_provider, editor) = with_pending_call();
    editor.keys("/Tool Use<CR>");
    editor.command("lua vim.lsp.buf.code_action()");
    editor.wait_screen("the actions", |screen| {
        screen.iter().any(|line| line.contains("Run this call"))
    });
    editor.keys("1<CR>");
    editor.wait_text("Well.");
    assert!(editor.text().contains("```\nran\n```"), "{}", editor.text());
}

#[test]
fn a_file_is_completed_by_some_of_its_letters() {
    let setup = offline().options(json!({"provider": "tutor"}));
    let files = setup.file("src/a lexer.rs", "").file("src/parser.rs", "");
    let editor = files.file("question.chat", "@You:\n").start();
    wait_server(&editor);
    editor.keys("GoSee @./lxr<C-x><C-o>");
    editor.wait_text("See @./src/a%20lexer.rs");
    editor.keys("<Esc>");
    // The cursor is on the path, which `gf` opens.
    editor.keys("gf");
    editor.wait_for("the file", |editor| {
        editor.lua("return vim.fn.expand('%:t')", &json!([])) == json!("a lexer.rs")
    });
}
