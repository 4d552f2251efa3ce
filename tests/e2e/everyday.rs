//! Problems that users of similar programs report from everyday use.

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;

/// Window and global options that filetype plugins often set.
const VIEW: [&str; 11] = [
    "conceallevel",
    "concealcursor",
    "foldenable",
    "foldexpr",
    "foldlevel",
    "foldmethod",
    "foldtext",
    "spell",
    "textwidth",
    "updatetime",
    "wrap",
];

fn view(editor: &Editor, names: &[&str]) -> Json {
    let code = "return vim.tbl_map(function(name)
        return { vim.api.nvim_get_option_value(name, {}), vim.api.nvim_get_option_value(name, { scope = 'global' }) }
      end, ...)";
    editor.lua(code, &json!([names]))
}

#[test]
fn a_chat_changes_no_window_options() {
    let folds = json!({"folds": {"enabled": false}});
    looks_the_same(folds, &VIEW);
}

#[test]
fn folds_change_only_the_fold_options_of_their_window() {
    let others = VIEW.map(|name| match name {
        "foldlevel" | "foldtext" => "wrap",
        other => other,
    });
    looks_the_same(json!({}), &others);
}

/// Checks that a chat with these options does not change the options `names` in its own window, and no
/// option in another window.
#[track_caller]
fn looks_the_same(options: Json, names: &[&str]) {
    let provider = Provider::anthropic([Answer::new().thinking("Hm.", None).text("Well.")]);
    let setup = with_options(&provider, options).with("question.chat", QUESTION);
    let editor = setup.file("notes.txt", "one\n").start();
    let (before, own) = (view(&editor, &VIEW), view(&editor, names));
    editor.command("edit question.chat");
    editor.keys("<C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    at_rest(&editor);
    assert_eq!(view(&editor, names), own, "in the chat's window");
    editor.command("split notes.txt");
    assert_eq!(view(&editor, &VIEW), before, "in another window");
    editor.command("wincmd p | edit notes.txt");
    assert_eq!(view(&editor, &VIEW), before, "in the chat's window, later");
}

#[test]
fn retyping_a_marker_changes_only_its_line() {
    let text = "@You:\nOne.\n\n@Assistant:\nTwo.\n\n@You:\nThree.\n";
    let provider = Provider::anthropic([Answer::new()]);
    let editor = open(&provider, text);
    editor.keys("ggcc@You:<Esc>4Gcc@Assistant:<Esc>7GA<BS>:<Esc>");
    at_rest(&editor);
    assert_eq!(editor.text(), text);
    editor.keys("7Gcc@System:<Esc>");
    at_rest(&editor);
    assert_eq!(
        editor.text(),
        text.replace("@You:\nThree", "@System:\nThree")
    );
}

#[test]
fn options_can_be_set_twice() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let setup = "require('flemma').setup({ provider = 'anthropic', tools = { auto_approve = { 'mine' } } })";
    let register =
        "require('flemma.tools').register('mine', { description = 'M', execute = function() end })";
    let editor = offline()
        .provider(&provider)
        .init(&format!("{setup}\n{register}\n{setup}\n{register}"))
        .file("question.chat", QUESTION)
        .start();
    editor.lua(setup, &json!([]));
    editor.keys("<C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    let said = editor.messages();
    assert!(!said.contains("Flemma"), "{said}");
}
