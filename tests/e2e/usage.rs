//! Tokens and cost of an answer: shown for a moment, counted for the session.

use std::fs;
use std::path::Path;

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::shell::Shell;
use crate::stage::*;

/// The virtual text after the last role marker.
fn figures(editor: &Editor) -> Vec<String> {
    let drawn = editor.virtual_text().into_iter().map(|it| it.text);
    drawn.filter(|text| text.contains(" out")).collect()
}

fn statusline(editor: &Editor) -> Json {
    editor.lua("return require('flemma').statusline()", &json!([]))
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
        figures(editor) == ["claude-sonnet-5-5 · 1000 in, 200 out, $0.0040"]
    });
    editor.wait_for("the status line", |editor| {
        statusline(editor) == "1000 in, 200 out, $0.0040"
    });
    wait_end(&editor, "@You:\n\n");
    editor.keys("GiAgain.<Esc><C-]>");
    editor.wait_for("the sums", |editor| {
        figures(editor)
            == ["claude-sonnet-5-5 · 2000 in, 100 out, $0.0050 · chat: 3000 in, 300 out, $0.0090"]
    });

    let api = "local session = require('flemma.session')
        local latest, totals = session.latest(), session.totals()
        return { session.count(), latest.model, latest.output, latest.cost, totals.input }";
    let found = editor.lua(api, &json!([]));
    assert_eq!(found, json!([2, "claude-sonnet-5-5", 100, 0.005, 3000]));
    editor.command("Flemma usage");
    editor.wait_for("the report", |editor| {
        editor.text().contains("This chat, since Neovim started")
    });
    let text = editor.text();
    assert!(text.contains("requests       2"), "{text}");
    assert!(text.contains("cost           $0.0090"), "{text}");
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
        let windows = editor.lua("return #vim.api.nvim_list_wins()", &json!([]));
        assert_eq!(windows, 1);
    }
}

#[test]
fn usage_of_earlier_sessions_is_summed_per_day_model_and_project() {
    let provider = Provider::anthropic([
        Answer::says("One.").usage(1000, 200),
        Answer::says("Two.").usage(3000, 100),
    ]);
    let shell = Shell::new(&provider);
    shell.write("question.chat", QUESTION);
    for message in ["Go.", "Again."] {
        assert_eq!(
            shell.run(&["send", "question.chat", "-m", message]).code,
            Some(0)
        );
    }
    let ran = shell.run(&["usage", "--json"]);
    let report: Json = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["total"]["requests"], 2, "{report}");
    assert_eq!(report["by_model"][0]["name"], "anthropic claude-sonnet-5-5");
    assert_eq!(report["by_day"][0]["input"], 4000);
    let project = report["by_project"][0]["name"].as_str().unwrap();
    assert!(project.ends_with("/work"), "{report}");
    let table = shell.run(&["usage", "7"]).out;
    assert!(table.starts_with("The last 7 days"), "{table}");
    assert!(table.contains("$0.0110"), "{table}");
}

#[test]
fn the_usage_log_is_shown_outside_a_chat_and_damaged_lines_are_named() {
    let log = "{\"time\": 1\n{\"time\": 4102444800000, \"provider\": \"groq\", \"requests\": 3}\n";
    let editor = offline().file("notes.txt", "text\n").start();
    let state = editor.lua("return vim.fn.stdpath('state') .. '/flemma'", &json!([]));
    let state = Path::new(state.as_str().unwrap());
    fs::create_dir_all(state).unwrap();
    fs::write(state.join("usage.jsonl"), log).unwrap();
    editor.keys(":Flemma usage<CR>");
    editor.wait_for("the report", |editor| editor.text().contains("Line 1 of"));
    let text = editor.text();
    assert!(text.contains("groq") && text.contains("damaged"), "{text}");
}
