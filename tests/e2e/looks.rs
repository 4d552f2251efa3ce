//! Colors of Markdown and code, as they are on the screen.

use harness::{Answer, Editor, Provider, Setup};
use serde_json::json;

use crate::stage::*;

const CHAT: &str = "@You:\n# Plan\nUse **bold** text.\n\n```python\nreturn None\n```\n\n\
                    @Assistant:\nWell.\n\n@You:\n";

/// Waits until the first character of `text` is on the screen with a group whose name contains `group`.
#[track_caller]
fn wait_color(editor: &Editor, text: &str, group: &str) {
    editor.wait_for(&format!("{text:?} in {group}"), |editor| {
        let mut groups = editor.highlight_of(text, 0).into_iter().flatten();
        groups.any(|it| it.contains(group))
    });
}

#[test]
fn a_chat_has_the_colors_of_markdown_and_of_its_code() {
    let provider = Provider::anthropic([""; 0]);
    let editor = setup(&provider).file("a.chat", CHAT).start();
    editor.keys("zR");
    wait_color(&editor, "# Plan", "Title");
    wait_color(&editor, "**bold**", "strong");
    wait_color(&editor, "return", "Statement");
}

#[test]
fn an_answer_has_colors_while_it_arrives() {
    let answer = "Look:\n\n```lua\nlocal answer = 42\n-- more";
    let provider = Provider::anthropic([Answer::says(answer)]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    wait_color(&editor, "local answer", "Statement");
    wait_color(&editor, "-- more", "Comment");
}

#[test]
fn the_result_of_a_read_has_the_colors_of_the_file() {
    let call = Answer::new().tool_use("t_1", "read", &file("f.lua"));
    let provider = Provider::anthropic([call, Answer::says("Done.")]);
    let options = json!({"tools": {"require_approval": false}, "folds": {"closed": []}});
    let setup = with_options(&provider, options).with("f.lua", "local answer = 42\n");
    let editor = setup.size(80, 40).file("a.chat", QUESTION).start();
    editor.keys("<C-]>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    wait_color(&editor, "local answer", "Statement");
}

#[test]
fn without_the_option_only_the_structure_has_colors() {
    let provider = Provider::anthropic([""; 0]);
    let setup = with_options(&provider, json!({"ui": {"highlight": false}}));
    let editor = setup.file("a.chat", CHAT).start();
    editor.keys("zR");
    wait_color(&editor, "@You:", "Title");
    at_rest(&editor);
    for text in ["# Plan", "return"] {
        assert_eq!(editor.highlight_of(text, 0), Some(Vec::new()), "{text}");
    }
}

#[test]
fn without_a_host_role_markers_have_colors() {
    let setup = Setup::new().host("/nonexistent").file("a.chat", CHAT);
    let editor = setup.start();
    wait_color(&editor, "@You:", "Title");
}
