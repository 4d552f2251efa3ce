//! Diffs of calls that change files, on the screen: below the preview of a pending call, and
//! in the folds of complete ones.

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;

const LEXER: &str =
    "local M = {}\n\nfunction M.next(text)\n  return text:sub(1, 1)\nend\n\nreturn M\n";

fn edit() -> Json {
    json!({"label": "names", "path": "lexer.lua", "oldText": "  return text:sub(1, 1)\n",
           "newText": "  local first = text:sub(1, 1)\n  return first\n"})
}

/// An editor of 80x24 in which an edit waits.
fn waiting(options: Json) -> (Provider, Editor) {
    let calls = Answer::new().tool_use("t_1", "edit", &edit());
    let provider = Provider::anthropic([calls, Answer::says("Done.")]);
    let setup = with_options(&provider, options).with("lexer.lua", LEXER);
    let editor = setup.size(80, 24).file("question.chat", QUESTION).start();
    watch(&editor);
    editor.command("set termguicolors");
    editor.keys("<C-]>");
    (provider, editor)
}

#[test]
fn a_pending_edit_shows_its_diff_with_syntax_colors() {
    let (_provider, editor) = waiting(json!({"tools": {"auto_approve": []}}));
    let shown = [
        "lexer.lua  +2 −1",
        "2",
        "3   function M.next(text)",
        "4 -   return text:sub(1, 1)",
        "4 +   local first = text:sub(1, 1)",
        "5 +   return first",
        "6   end",
        "7",
        "asks: not in auto_approve",
        "Enter: decide",
    ];
    editor.wait_screen("the diff", |rows| {
        let from = rows.iter().position(|row| row.starts_with(shown[0]));
        let below = from.map(|from| rows.iter().skip(from).zip(shown));
        below.is_some_and(|mut it| it.all(|(row, start)| row.starts_with(start)))
    });
    // The background of the diff, and the colors of Lua: a keyword looks unlike a variable.
    editor.wait_for("a colored keyword", |editor| {
        let groups = |column| editor.highlight_of("5 +   return", column);
        let (keyword, variable) = (groups(6), groups(13));
        let has_background = |groups: &Vec<String>| groups.iter().any(|it| it.contains("DiffAdd"));
        keyword != variable && keyword.as_ref().is_some_and(has_background)
    });
    // It is beside the text, not in it.
    assert!(!editor.text().contains("4 +"));
}

#[test]
fn a_complete_edit_is_folded_to_the_lines_that_it_changed() {
    let (_provider, editor) =
        waiting(json!({"tools": {"require_approval": false, "review": "none"}}));
    wait_end(&editor, "Done.\n\n@You:\n\n");
    editor.keys("G");
    editor.wait_screen("the folds", |rows| {
        let shows = |start: &str| rows.iter().any(|row| row.starts_with(start));
        shows("  → edit +2 −1 lexer.lua  # names") && shows("  ✓ edit · +2 −1 · ")
    });
    // What the text tells is known when the chat is opened again.
    editor.command("write | Flemma restart | edit!");
    editor.wait_screen("the folds without times", |rows| {
        rows.iter()
            .any(|row| row.starts_with("  ✓ edit · +2 −1 lexer.lua  # names"))
    });
}
