//! A key that was pressed just as a call appeared does not run that call.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;
use crate::traces::{counted, runs, wait_review};

const REFUSED: &str = "Nothing was run: the call appeared as you pressed the key.";

/// A chat with a pending call, and the delay in milliseconds.
fn waits(provider: &Provider, delay: u64) -> Editor {
    let options = json!({"tools": {"review_delay": delay, "autopilot": {"enabled": false}}});
    let editor = ask_with(provider, options);
    editor.keys("<C-]>");
    editor.wait_text("**Tool Use:**");
    crate::traces::wait_request_over(&editor);
    editor
}

fn one_call() -> Provider {
    Provider::anthropic([Answer::new().tool_use("t_1", "bash", &counted("echo out"))])
}

#[test]
fn a_call_that_just_appeared_runs_at_another_alt_enter_and_not_while_the_key_is_held() {
    let provider = one_call();
    let editor = waits(&provider, 10_000);
    editor.keys("<C-]>");
    wait_review(&editor);
    editor.keys("<M-CR>");
    wait_message(&editor, REFUSED);
    at_rest(&editor);
    assert_eq!(became(&editor, "t_1"), "waits");
    assert_eq!(runs(&editor), 0);
    // Repetitions come faster than a user can press.
    editor.keys(&"<M-CR>".repeat(20));
    at_rest(&editor);
    assert_eq!(runs(&editor), 0);
    // The second press counts unless it could be a repetition, and then the third one does.
    for _ in 0..2 {
        let begun = std::time::Instant::now();
        editor.wait_for("a pause", |_| begun.elapsed().as_millis() > 150);
        editor.keys("<M-CR>");
    }
    editor.wait_text("\nout\n");
}

#[test]
fn a_call_that_has_been_visible_runs_at_the_first_alt_enter() {
    let provider = one_call();
    let editor = waits(&provider, 50);
    editor.keys("<C-]>");
    wait_review(&editor);
    let drawn = "local buffer = vim.api.nvim_get_current_buf()
                 local _, _, drawn_ms = require('flemma.render').seen(buffer)
                 return drawn_ms.t_1 or 0";
    editor.wait_for("the call to be on the screen for a while", |editor| {
        editor.lua(drawn, &json!([])).as_u64() >= Some(50)
    });
    editor.keys("<M-CR>");
    editor.wait_text("\nout\n");
    assert!(!editor.messages().contains(REFUSED));
}

#[test]
fn a_call_to_which_the_cursor_was_moved_runs_at_the_second_alt_enter() {
    let calls = Answer::new()
        .tool_use("t_1", "bash", &counted("echo one"))
        .tool_use("t_2", "bash", &counted("echo two"));
    let provider = Provider::anthropic([calls]);
    let editor = waits(&provider, 1000);
    editor.keys("<C-]>");
    wait_review(&editor);
    let drawn = "local buffer = vim.api.nvim_get_current_buf()
                 local _, _, drawn_ms = require('flemma.render').seen(buffer)
                 return math.min(drawn_ms.t_1 or 0, drawn_ms.t_2 or 0)";
    editor.wait_for("both calls to be on the screen for a while", |editor| {
        editor.lua(drawn, &json!([])).as_u64() >= Some(1000)
    });
    editor.keys("<M-CR>");
    wait_cursor(&editor, "**Tool Result:** `t_2`");
    editor.keys("<M-CR>");
    wait_message(&editor, REFUSED);
    editor.wait_for("the first result", |it| became(it, "t_1") == "ran");
    assert_eq!(became(&editor, "t_2"), "waits");
}
