//! The built-in tutor, as a new user without a key sees it.

use harness::Editor;
use serde_json::json;

use crate::stage::*;

/// Runs `:Flemma tutor` up to the pending command.
#[track_caller]
fn tour() -> Editor {
    let editor = offline().start();
    editor.keys(":Flemma tutor<CR>");
    editor.wait_text("Hello! What can you do here?");
    editor.keys("<C-]>");
    editor.wait_text("a fixed script inside Flemma, not a language model");
    // A rule approves the call, which reads a real file.
    wait_cursor(&editor, "**Tool Result:** `tutor_2`");
    assert!(result(&editor, "tutor_1").starts_with("**Tool Result:** `tutor_1`\n\n```\n"));
    editor.wait_screen("what would run", |rows| {
        rows.iter()
            .any(|row| row.starts_with("bash: $ wc -w notes.txt"))
    });
    editor
}

#[test]
fn an_approved_command_runs_and_the_tutor_quotes_its_output() {
    let editor = tour();
    alt_enter(&editor);
    editor.wait_text("The command ran, and I got its output:");
    wait_end(&editor, "@You:\n\n");
    let block = result(&editor, "tutor_2");
    let words = block.lines().nth(3).unwrap();
    assert!(words.ends_with(" notes.txt"), "{words}");
    assert!(editor.text().contains(&format!("its output: `{words}`")));
}

#[test]
fn a_rejected_command_does_not_run_and_the_tutor_quotes_the_reason() {
    let editor = tour();
    editor.keys("/pending<CR>cwrejected<Esc>oNot on my machine.<Esc><C-]>");
    editor.wait_text("Understood: the command did not run.");
    wait_end(&editor, "@You:\n\n");
    assert_eq!(
        result(&editor, "tutor_2"),
        "**Tool Result:** `tutor_2` (error)\n\n```\nNot on my machine.\n```"
    );
    assert!(
        editor
            .text()
            .contains("as the call's error: \"Not on my machine.\"")
    );
}

#[test]
fn the_screen_says_that_the_tutor_answers() {
    let editor = offline()
        .options(json!({"provider": "tutor"}))
        .file("question.chat", QUESTION)
        .start();
    editor.keys("<C-]>");
    editor.wait_for("the name of the tutor", |editor| {
        let status = editor.lua("return require('flemma').statusline()", json!([]));
        status.as_str().unwrap_or_default().contains("tutor")
    });
    editor.keys(":Flemma status<CR>");
    editor.wait_text("tutor (built in, no model)");
}
