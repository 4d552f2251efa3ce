//! Virtual text: previews of pending calls, spinners, outcomes, and their colors.

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;

/// No call is approved by a rule.
fn approve_nothing() -> Json {
    json!({"tools": {"auto_approve": []}})
}

/// The rows of the screen below the header of each pending placeholder and a blank one.
fn previews(rows: &[String]) -> Vec<&str> {
    let below = rows.iter().zip(rows.iter().skip(2));
    below
        .filter(|(row, _)| row.starts_with("**Tool Result:**"))
        .map(|(_, row)| row.as_str())
        .filter(|row| !row.starts_with("```"))
        .collect()
}

#[track_caller]
fn wait_previews(editor: &Editor, expected: &[&str]) {
    editor.wait_screen(&format!("the previews {expected:#?}"), |rows| {
        previews(rows) == expected
    });
}

/// A chat that contains a pending call when it is opened.
fn waiting_in_the_file(name: &str, input: &str) -> String {
    format!(
        "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `{name}` (`t_1`)\n\n```json\n{input}\n```\n\n\
         @You:\n**Tool Result:** `t_1`\n\n```flemma:tool status=pending\n```\n"
    )
}

#[test]
fn a_pending_call_of_each_tool_shows_what_it_would_do() {
    let calls = Answer::new()
        .tool_use("t_1", "calculator", &json!({"expression": "2 + 2"}))
        .tool_use(
            "t_2",
            "calculator_async",
            &json!({"expression": "sqrt(16)", "delay": 500}),
        )
        .tool_use(
            "t_3",
            "bash",
            &json!({"label": "checking repo", "command": "git status", "timeout": null}),
        )
        .tool_use(
            "t_4",
            "read",
            &json!({"label": "reading tail", "path": "config.lua", "offset": 100, "limit": 50}),
        )
        .tool_use(
            "t_5",
            "edit",
            &json!({"label": "fixing typo", "path": "config.lua", "oldText": "a", "newText": "b"}),
        )
        .tool_use(
            "t_6",
            "write",
            &json!({"label": "saving log", "path": "output.txt", "content": "x".repeat(2355)}),
        );
    let provider = Provider::anthropic([calls]);
    let setup = with_options(&provider, approve_nothing()).size(100, 120);
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    wait_previews(
        &editor,
        &[
            "calculator: 2 + 2",
            "calculator_async: sqrt(16)  # 500ms",
            "bash: $ git status  # checking repo",
            "read: config.lua  +100,50  # reading tail",
            "edit: config.lua  # fixing typo",
            "write: output.txt  (2.3 KB)  # saving log",
        ],
    );
    // They are not part of the text.
    assert!(!editor.text().contains("# checking repo"));
}

#[test]
fn a_preview_ends_at_the_width_of_the_text() {
    let input = r#"{"label":"","command":"echo abcdefghijklmnopqrstuvwxyz","timeout":null}"#;
    let text = waiting_in_the_file("bash", input);
    let editor = offline().size(32, 40).file("question.chat", &text).start();
    wait_previews(&editor, &["bash: $ echo abcdefghijklmnopqr…"]);

    editor.command("set columns=36 number");
    editor.wait_screen("a preview beside the numbers", |rows| {
        let preview = rows.iter().find(|row| row.contains("bash: $"));
        preview.is_some_and(|row| row.trim_start() == "bash: $ echo abcdefghijklmnopqr…")
    });
    editor.command("set columns=40 nonumber");
    wait_previews(&editor, &["bash: $ echo abcdefghijklmnopqrstuvwxyz"]);
}

#[test]
fn wide_characters_are_not_split() {
    let command = "日本".repeat(10);
    let input = format!(r#"{{"label":"","command":"{command}","timeout":null}}"#);
    let text = waiting_in_the_file("bash", &input);
    // Eight columns precede the command, and the ellipsis takes one.
    let editor = offline().size(33, 40).file("question.chat", &text).start();
    let shown = format!("bash: $ {}…", "日本".repeat(6));
    wait_previews(&editor, &[&shown]);
    editor.command("set columns=34");
    at_rest(&editor);
    wait_previews(&editor, &[&shown]);
    editor.command("set columns=35");
    wait_previews(&editor, &[&shown.replace('…', "日…")]);
}

#[test]
fn combining_characters_stay_with_their_base() {
    let command = "e\u{301}".repeat(30);
    let input = format!(r#"{{"label":"","command":"{command}","timeout":null}}"#);
    let text = waiting_in_the_file("bash", &input);
    let editor = offline().size(33, 40).file("question.chat", &text).start();
    let shown = format!("bash: $ {}…", "e\u{301}".repeat(24));
    wait_previews(&editor, &[&shown]);
}

#[test]
fn a_preview_disappears_when_the_call_has_its_result() {
    let call = Answer::new().tool_use("t_1", "bash", &command("echo out"));
    let provider = Provider::anthropic([call]);
    let editor = ask_with(&provider, json!({}));
    editor.keys("<C-]>");
    wait_previews(&editor, &["bash: $ echo out  # testing"]);
    editor.keys("<M-CR>");
    editor.wait_for("fields instead of the preview", |editor| {
        let lines = editor.virtual_lines().into_iter();
        let lines: Vec<String> = lines.map(|it| it.text).collect();
        let is_preview = |it: &String| it.starts_with("bash:");
        lines.iter().any(|it| it.contains("command  echo out")) && !lines.iter().any(is_preview)
    });
}

#[test]
fn a_preview_is_coloured_like_a_comment_or_as_the_user_says() {
    let text = waiting_in_the_file("calculator", r#"{"expression":"1"}"#);
    let group = |editor: &Editor| {
        wait_previews(editor, &["calculator: 1"]);
        editor.lua(
            "return vim.api.nvim_get_hl(0, { name = 'FlemmaToolPreview' })",
            &json!([]),
        )
    };
    let editor = offline().file("question.chat", &text).start();
    assert_eq!(group(&editor)["link"], "Comment");
    let seen = editor.highlight_of("calculator: 1", 0);
    assert_eq!(seen, Some(vec!["Comment".to_owned()]));
    editor.command("colorscheme blue");
    assert_eq!(group(&editor)["link"], "Comment");

    let options = json!({"highlights": {"tool_preview": "ErrorMsg"}});
    let setup = offline().options(options);
    let editor = setup.file("question.chat", &text).start();
    assert_eq!(group(&editor)["link"], "ErrorMsg");
    editor.command("colorscheme blue");
    assert_eq!(group(&editor)["link"], "ErrorMsg");

    let options = json!({"highlights": {"tool_preview": {"fg": "#ff0000", "bold": true}}});
    let setup = offline().options(options);
    let editor = setup.file("question.chat", &text).start();
    editor.command("colorscheme default");
    assert_eq!(group(&editor)["fg"], 0xff0000);
}

#[test]
fn a_running_call_shows_its_tools_label_seconds_and_output() {
    let call = Answer::new().tool_use(
        "t_1",
        "bash",
        &command("echo working; until [ -e go ]; do sleep 0.02; done"),
    );
    let provider = Provider::anthropic([call]);
    let options = json!({"tools": {"require_approval": false}, "folds": {"closed": []}});
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    let header = "**Tool Result:** `t_1`";
    let spins = |rows: &[String], seconds: &str| {
        rows.iter().any(|row| {
            let spinner = row.strip_prefix(header).unwrap_or_default();
            let turns = spinner.contains(['◐', '◓', '◑', '◒']);
            turns && spinner.contains(" Bash ") && spinner.ends_with(seconds)
        })
    };
    editor.wait_screen("a spinner", |rows| spins(rows, "0s"));
    editor.wait_screen("live output", |rows| {
        rows.iter().any(|row| row == "working")
    });
    editor.wait_screen("a second", |rows| spins(rows, "1s"));
    std::fs::write(editor.dir().join("go"), "").unwrap();
    editor.wait_screen("the check mark", |rows| {
        let done = format!("{header} ✓ bash · ");
        rows.iter().any(|row| row.starts_with(&done))
    });
}

#[test]
fn a_call_that_failed_shows_a_cross() {
    let call = Answer::new()
        .tool_use("t_1", "read", &file("missing.txt"))
        .tool_use("t_2", "bash", &command("exit 3"));
    let provider = Provider::anthropic([call]);
    let options = json!({"tools": {"require_approval": false}});
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    editor.wait_screen("two crosses", |rows| {
        let shows = |start: &str| rows.iter().any(|row| row.starts_with(start));
        shows("**Tool Result:** `t_1` (error) ✗ read · ")
            && shows("**Tool Result:** `t_2` ✗ bash · exit 3 · ")
    });
}

#[test]
fn a_request_shows_its_model_until_the_answer_comes() {
    let gate = harness::Gate::new();
    let provider = Provider::anthropic([Answer::new().gate(&gate).text("Here.")]);
    let options = json!({"model": "scripted-1"});
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    let spins = |rows: &[String]| {
        rows.iter().any(|row| {
            row.contains("scripted-1")
                && row.contains(['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'])
        })
    };
    editor.wait_screen("a spinner with the model", |rows| spins(rows));
    gate.open();
    editor.wait_text("Here.");
    editor.wait_screen("no spinner", |rows| !spins(rows));
}
