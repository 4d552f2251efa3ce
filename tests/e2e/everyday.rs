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
    editor.lua(code, json!([names]))
}

fn diagnostics(editor: &Editor) -> Json {
    editor.lua("return #vim.diagnostic.get(0)", json!([]))
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
fn calls_that_end_at_once_are_sent_once_without_a_message() {
    let calls = (1..6).fold(Answer::new(), |answer, number| {
        answer.tool_use(
            &format!("t_{number}"),
            "calculator",
            json!({"expression": "1"}),
        )
    });
    let provider = Provider::anthropic([calls, Answer::says("Well.")]);
    let options = json!({"tools": {"require_approval": false}});
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    let said = editor.messages();
    assert!(!said.contains("Flemma"), "{said}");
    at_rest(&editor);
    expect_requests(&editor, 2);
    let started = events(&editor);
    let started = started
        .iter()
        .filter(|it| it.starts_with("FlemmaToolStarted"));
    assert_eq!(started.count(), 5);
}

#[test]
fn a_remark_appears_once_however_often_the_chat_is_sent() {
    let provider = Provider::anthropic([Answer::says("One."), Answer::says("Two.")]);
    let editor = open(&provider, "@You:\nGo.\n@Asistant:\nText.\n");
    wait_diagnostic(&editor, "is not a role marker");
    assert_eq!(diagnostics(&editor), 1);
    for answer in ["One.", "Two."] {
        editor.keys("GAMore.<Esc><C-]>");
        wait_end(&editor, &format!("{answer}\n\n@You:\n\n"));
        at_rest(&editor);
        assert_eq!(diagnostics(&editor), 1);
    }
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
    editor.lua(setup, json!([]));
    editor.keys("<C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    let said = editor.messages();
    assert!(!said.contains("Flemma"), "{said}");
}
