//! Chats are saved after each answer and each result, without a key.

use std::fs;

use harness::{Answer, Editor, Gate, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;

/// Counts the user's autocommands for writing.
const COUNT: &str = "_G.writes = 0
    vim.api.nvim_create_autocmd({ 'BufWritePre', 'BufWritePost' }, {
      pattern = '*', callback = function() _G.writes = _G.writes + 1 end,
    })";

/// A new chat that was made by `:Flemma new`, with a message.
fn new_chat(provider: &Provider, options: Json) -> Editor {
    let setup = with_options(provider, options);
    let editor = setup.file("a.txt", "").start();
    watch(&editor);
    editor.lua(COUNT, &json!([]));
    editor.keys(":Flemma new<CR>");
    editor.wait_text("@You:");
    editor.keys("iHi<Esc>");
    editor
}

fn path(editor: &Editor) -> String {
    let path = editor.lua("return vim.fn.expand('%:p')", &json!([]));
    path.as_str().unwrap().to_owned()
}

/// Waits until the file has a text, and Neovim knows.
fn wait_saved(editor: &Editor, part: &str) {
    editor.wait_for(&format!("a file with {part}"), |it| {
        let text = fs::read_to_string(path(it)).unwrap_or_default();
        text.contains(part) && it.lua("return vim.bo.modified", &json!([])) == json!(false)
    });
}

#[test]
fn a_new_chat_is_saved_after_its_answer_and_quitting_loses_nothing() {
    let provider = Provider::anthropic([Answer::says("Hello."), Answer::says("Again.")]);
    let editor = new_chat(&provider, json!({}));
    editor.keys("<C-]>");
    wait_saved(&editor, "@Assistant:\nHello.");
    let on_disk = fs::read_to_string(path(&editor)).unwrap();
    assert_eq!(on_disk, editor.text());
    // Neither Neovim nor the user's autocommands notice.
    editor.command("checktime");
    editor.keys("GiMore<Esc>:w<CR>");
    wait_saved(&editor, "More");
    let messages = editor.messages();
    assert!(
        !messages.contains("W11") && !messages.contains("W12"),
        "{messages}"
    );
    editor.lua("_G.writes = 0", &json!([]));
    editor.keys("<C-]>");
    wait_saved(&editor, "@Assistant:\nAgain.");
    assert_eq!(editor.lua("return _G.writes", &json!([])), json!(0));
}

#[test]
fn a_result_is_saved_before_the_next_answer() {
    let gate = Gate::new();
    let calls = Answer::new().tool_use("t_1", "bash", &command("echo out"));
    let provider = Provider::anthropic([calls, Answer::says("Well.").gate(&gate)]);
    let editor = new_chat(&provider, json!({"tools": {"auto_approve": ["bash"]}}));
    editor.keys("<C-]>");
    editor.wait_for("the result in the file", |it| {
        let text = fs::read_to_string(path(it)).unwrap_or_default();
        text.contains("**Tool Result:** `t_1`\n\n```\nout\n```")
    });
    gate.open();
    wait_saved(&editor, "Well.");
}

#[test]
fn a_file_that_was_there_before_is_saved_only_if_the_user_wants_that() {
    for (autosave, is_saved) in [
        (json!("new"), false),
        (json!("all"), true),
        (json!(false), false),
    ] {
        let provider = Provider::anthropic([Answer::says("Hello.")]);
        let editor = ask_with(&provider, json!({"chats": {"autosave": autosave}}));
        let before = fs::read_to_string(path(&editor)).unwrap();
        editor.keys("<C-]>");
        wait_end(&editor, "Hello.\n\n@You:\n\n");
        if is_saved {
            wait_saved(&editor, "Hello.")
        } else {
            at_rest(&editor);
            assert_eq!(fs::read_to_string(path(&editor)).unwrap(), before);
        }
    }
}

#[test]
fn a_chat_that_changed_on_disk_is_not_overwritten() {
    let gate = Gate::new();
    let provider = Provider::anthropic([Answer::says("Hello.").gate(&gate)]);
    let editor = ask_with(&provider, json!({"chats": {"autosave": "all"}}));
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:");
    fs::write(path(&editor), "Another program's text.\n").unwrap();
    gate.open();
    wait_end(&editor, "Hello.\n\n@You:\n\n");
    wait_message(&editor, "was not saved: its file changed on disk.");
    assert_eq!(
        fs::read_to_string(path(&editor)).unwrap(),
        "Another program's text.\n"
    );
    assert_eq!(
        editor.lua("return vim.bo.modified", &json!([])),
        json!(true)
    );
}

#[test]
fn a_chat_is_saved_while_the_user_types() {
    let gate = Gate::new();
    let provider = Provider::anthropic([Answer::says("Hello.").gate(&gate)]);
    let editor = new_chat(&provider, json!({}));
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:");
    editor.keys("ggO(a note");
    gate.open();
    editor.wait_for("the saved answer", |it| {
        fs::read_to_string(path(it))
            .unwrap_or_default()
            .contains("Hello.")
    });
    editor.keys(")");
    assert_eq!(
        editor.lua("return vim.api.nvim_get_mode().mode", &json!([])),
        json!("i")
    );
    assert!(editor.text().contains("(a note)"), "{}", editor.text());
}

#[test]
fn a_chat_that_another_neovim_has_is_never_saved() {
    let gate = Gate::new();
    let provider = Provider::anthropic([Answer::says("Hello.").gate(&gate)]);
    let first = open(&provider, QUESTION);
    first.keys("GoOf the first.<Esc>");
    crate::traces::settle(&first);
    let held = first.dir().join("question.chat");
    // Without a file, nothing but the lock is in the way.
    fs::remove_file(&held).unwrap();
    let state = first.dir().parent().unwrap().join("state");
    let second = with_options(&provider, json!({"chats": {"autosave": "all"}}))
        .env("XDG_STATE_HOME", state)
        .file("mine.chat", QUESTION)
        .start();
    watch(&second);
    second.keys("<C-]>");
    gate.wait_reached();
    second.command(&format!("file {}", held.display()));
    wait_message(&second, "This chat is open in Neovim");
    gate.open();
    wait_end(&second, "@Assistant:\nHello.\n\n@You:\n\n");
    at_rest(&second);
    assert!(!held.exists());
    assert_eq!(
        second.lua("return vim.bo.modified", &json!([])),
        json!(true)
    );
    // The first one goes on as if nothing had happened.
    first.command("write");
    assert!(fs::read_to_string(&held).unwrap().contains("Of the first."));
}
