//! Tokens and cost of an answer: shown for a moment, counted for the session.

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;

/// The virtual text after the last role marker.
fn figures(editor: &Editor) -> Vec<String> {
    let drawn = editor.virtual_text().into_iter().map(|it| it.text);
    drawn.filter(|text| text.contains(" out")).collect()
}

fn statusline(editor: &Editor) -> Json {
    editor.lua("return require('flemma').statusline()", json!([]))
}

#[test]
fn usage_is_shown_per_answer_and_for_the_whole_chat() {
    let provider = Provider::anthropic([
        Answer::says("One.").usage(1000, 200),
        Answer::says("Two.").usage(2000, 100),
    ]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_for("the figures", |editor| {
        figures(editor) == ["claude-sonnet-4-6 · 1000 in, 200 out, $0.0060"]
    });
    editor.wait_for("the status line", |editor| {
        statusline(editor) == "1000 in, 200 out, $0.0060"
    });
    wait_end(&editor, "@You:\n\n");
    editor.keys("GiAgain.<Esc><C-]>");
    editor.wait_for("the sums", |editor| {
        figures(editor)
            == ["claude-sonnet-4-6 · 2000 in, 100 out, $0.0075 · chat: 3000 in, 300 out, $0.0135"]
    });

    let api = "local session = require('flemma.session')
        local latest, totals = session.latest(), session.totals()
        return { session.count(), latest.model, latest.output, latest.cost, totals.input }";
    let found = editor.lua(api, json!([]));
    assert_eq!(found, json!([2, "claude-sonnet-4-6", 100, 0.0075, 3000]));
    editor.command("Flemma usage");
    editor.wait_for("the report", |editor| {
        editor.text().contains("This chat, since Neovim started")
    });
    let text = editor.text();
    assert!(text.contains("requests       2"), "{text}");
    assert!(text.contains("cost           $0.0135"), "{text}");
}

#[test]
fn usage_is_shown_as_long_as_the_option_says() {
    let provider = Provider::anthropic([Answer::says("One.")]);
    let editor = ask_with(&provider, json!({"ui": {"usage": 1}}));
    editor.keys("<C-]>");
    editor.wait_for("the figures", |editor| figures(editor).len() == 1);
    editor.wait_for("the end of them", |editor| figures(editor).is_empty());
}

#[test]
fn usage_covers_no_text_in_a_small_terminal() {
    let provider = Provider::anthropic([Answer::says("One."), Answer::says("Two.")]);
    let setup = setup(&provider).size(80, 24);
    let question = format!("@You:\n{}Why?", "a line that is rather long\n".repeat(30));
    let editor = setup.file("question.chat", &question).start();
    watch(&editor);
    for end in ["One.\n\n@You:\n\n", "Two.\n\n@You:\n\n"] {
        editor.keys("GiAgain.<Esc><C-]>");
        wait_end(&editor, end);
        editor.wait_screen("the figures behind the prompt", |rows| {
            rows.iter()
                .any(|row| row.starts_with("@You: ") && row.contains(" out, $"))
        });
        let windows = editor.lua("return #vim.api.nvim_list_wins()", json!([]));
        assert_eq!(windows, 1);
    }
}
