//! The built-in tutor, as a new user without a key sees it.

use harness::Editor;
use serde_json::json;

use crate::stage::*;

/// Runs `:Flemma tutor` up to the pending command.
#[track_caller]
fn tour() -> Editor {
    // Tests press keys immediately. `first_look` tests the delay.
    let setup = offline().options(json!({"tools": {"review_delay": 0}}));
    let editor = setup.start();
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
        let status = editor.lua("return require('flemma').statusline()", &json!([]));
        status.as_str().unwrap_or_default().contains("tutor")
    });
    editor.keys(":Flemma status<CR>");
    editor.wait_text("tutor (built in, no model)");
}

#[test]
fn each_tutorial_is_a_chat_of_its_own_that_is_saved() {
    let editor = offline().start();
    for name in ["tutor.chat", "tutor-2.chat", "tutor-3.chat"] {
        editor.keys(":Flemma tutor<CR>");
        editor.wait_for(name, |it| {
            it.lua("return vim.fn.expand('%:t')", &json!([])) == json!(name)
        });
        // The second one has a number although the first was not saved.
        if name != "tutor.chat" {
            editor.keys("<C-]>");
            editor.wait_text("a fixed script inside Flemma, not a language model");
            editor.wait_for("the saved chat", |it| {
                let saved =
                    "return vim.fn.filereadable(vim.fn.expand('%:p')) == 1 and not vim.bo.modified";
                it.lua(saved, &json!([])) == json!(true)
            });
        }
    }
}

#[test]
fn the_tutors_edit_runs_without_asking_and_enter_shows_what_it_changed() {
    let editor = tour();
    alt_enter(&editor);
    editor.wait_text("The command ran, and I got its output:");
    wait_end(&editor, "@You:\n\n");
    editor.keys("Gigo on<Esc><C-]>");
    editor.wait_text("The edit ran.");
    wait_end(&editor, "@You:\n\n");
    editor.wait_screen("the changes", |rows| {
        rows.iter().any(|row| row.contains("changed 1 file"))
    });
    editor.keys("G<CR>");
    editor.wait_for("the diff", |it| {
        let is_turn = "return vim.fn.bufname('%'):find('^flemma%-review://%d+/turn_') ~= nil";
        it.lua(is_turn, &json!([])) == json!(true)
    });
    assert!(editor.text().contains("+Some keys:"), "{}", editor.text());
}
