//! Results on the screen: the tool, how it ended, and how long it took; and which
//! complete blocks are folded.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

/// The rows of the screen with this start.
fn rows_with(editor: &Editor, start: &str) -> Vec<String> {
    let rows = editor.screen().into_iter();
    rows.filter(|row| row.starts_with(start)).collect()
}

/// A read that succeeds, a command that fails, and the text after them.
fn two_calls() -> Provider {
    Provider::anthropic([
        Answer::new()
            .tool_use("t_1", "read", &file("f.txt"))
            .tool_use("t_2", "bash", &command("echo out; exit 3")),
        Answer::says("Well."),
    ])
}

#[test]
fn complete_calls_are_one_line_each_and_a_failed_command_stays_open() {
    let provider = two_calls();
    let options = json!({"tools": {"require_approval": false}});
    let setup = with_options(&provider, options).with("f.txt", "one\ntwo\n");
    let editor = setup.size(80, 40).file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    editor.keys("G");
    editor.wait_screen("the calls in a line each", |rows| {
        let shows = |start: &str| rows.iter().any(|row| row.starts_with(start));
        shows("  → read f.txt  # testing")
            && shows("  → bash $ echo out; exit 3  # testing")
            && shows("  ✓ read · ")
            && shows("**Tool Result:** `t_2` ✗ bash · exit 3 · ")
            && shows("Command exited with code 3")
    });
    let folded = rows_with(&editor, "  ✓ read · ");
    assert!(folded[0].ends_with("ms f.txt  # testing"), "{folded:?}");

    // A reopened chat shows what follows from its text.
    editor.command("write | Flemma restart | edit!");
    editor.wait_screen("the outcomes without times", |rows| {
        let shows = |start: &str| rows.iter().any(|row| row.starts_with(start));
        shows("  ✓ read f.txt  # testing")
            && shows("**Tool Result:** `t_2` ✗ bash · exit 3  $ echo out; exit 3")
    });
}

#[test]
fn a_fold_that_the_user_opened_shows_how_the_call_ended_on_its_header() {
    let provider = two_calls();
    let options = json!({"tools": {"require_approval": false}});
    let setup = with_options(&provider, options).with("f.txt", "one\ntwo\n");
    let editor = setup.size(80, 50).file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    editor.keys("G");
    editor.wait_screen("the folds", |rows| {
        let shows = |start: &str| rows.iter().any(|row| row.starts_with(start));
        shows("  ✓ read · ") && shows("  → bash ")
    });
    editor.keys("zR");
    let header = "**Tool Result:** `t_1` ✓ read · ";
    editor.wait_screen("the header", |rows| {
        rows.iter().any(|row| row.starts_with(header))
    });
    // The outcome stays during the conversation and moves with the text.
    editor.keys("ggoabove<Esc>");
    at_rest(&editor);
    // The diagnostic about the edit has a sign, which moves the text to the right.
    editor.wait_screen("what the edit costs", |rows| {
        rows.iter()
            .any(|row| row.contains("Changed after it was sent"))
    });
    let moved = format!("  {header}");
    let columns = "  **Tool Result:** `t_1` ".len();
    editor.wait_for("the outcome further down, in its color", |editor| {
        let mut groups = editor.highlight_of(&moved, columns).into_iter().flatten();
        let is_green = |it: &String| it == "FlemmaToolSuccess" || it == "DiagnosticOk";
        groups.any(|it| is_green(&it))
    });
}
