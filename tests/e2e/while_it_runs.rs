//! The chat changes while its calls run, or between a decision and its execution: a
//! decision counts once, for what was shown, and a result goes only to its own call.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::processes::wait_commands;
use crate::stage::{QUESTION, ask_with, command, open, result, wait_end, wait_message};
use crate::traces::{
    counted, gate, open_gate, runs, settle, wait_gate, wait_request_over, wait_review,
};

/// One answer with one call of `bash`.
fn one_call(arguments: &serde_json::Value) -> Provider {
    Provider::anthropic([Answer::new().tool_use("toolu_1", "bash", arguments)])
}

/// A chat whose only call is running and waits at its gate.
#[track_caller]
fn running(provider: &Provider) -> Editor {
    let options = json!({"tools": {"require_approval": false, "lock_buffer": true}});
    let editor = ask_with(provider, options);
    editor.keys("<C-]>");
    wait_gate(&editor, "gate");
    editor.wait_for("a locked chat", |editor| {
        editor.lua("return vim.bo.modifiable", &json!([])) == json!(false)
    });
    editor
}

#[test]
fn the_text_is_locked_and_another_file_is_not() {
    let provider = one_call(&command(&gate("gate")));
    let editor = running(&provider);
    let before = editor.text();
    editor.keys("ggdG");
    assert_eq!(editor.text(), before);
    editor.keys(":new<CR>ifree<Esc>");
    assert_eq!(editor.text(), "free\n");
    editor.keys(":bwipeout!<CR>");
    open_gate(&editor, "gate");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    editor.keys("ggdd");
    assert!(editor.text().starts_with("Go."));
}

#[test]
fn a_call_whose_result_is_undone_needs_a_new_approval() {
    let provider = one_call(&counted("echo result"));
    // With folds, the first key would only open the fold of the call.
    let options = json!({
        "tools": {"require_approval": false, "autopilot": {"enabled": false}},
        "folds": {"enabled": false},
    });
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    editor.wait_text("toolu_1");
    wait_request_over(&editor);
    editor.keys("<C-]>");
    editor.wait_text("\nresult\n");
    settle(&editor);
    assert_eq!(runs(&editor), 1);
    editor.keys("u");
    editor.wait_text("status=approved");
    editor.keys("<C-]>");
    wait_review(&editor);
    wait_message(&editor, "was already used");
    settle(&editor);
    assert_eq!(runs(&editor), 1);

    // Alt-Enter is a new decision.
    editor.keys("gg/status=<CR><M-CR>");
    editor.wait_text("\nresult\n");
    assert_eq!(runs(&editor), 2);
}

#[test]
fn reloading_the_file_forgets_the_call_and_its_result() {
    let provider = one_call(&counted(&format!("{}; echo SECRET", gate("gate"))));
    let editor = running(&provider);
    editor.command("edit!");
    assert_eq!(editor.text(), QUESTION);
    open_gate(&editor, "gate");
    wait_commands(&editor, 0);
    wait_message(&editor, "toolu_1");
    assert_eq!(editor.text(), QUESTION);
    editor.keys("<C-]>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    assert_eq!(runs(&editor), 1);
}

#[test]
fn a_saved_approval_does_not_count_after_a_reload() {
    let provider = one_call(&counted(""));
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    wait_review(&editor);
    editor.keys(":%s/pending/approved/<CR>:write<CR>:edit!<CR>");
    editor.wait_text("status=approved");
    editor.keys("<C-]>");
    wait_review(&editor);
    assert_eq!(runs(&editor), 0);
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn a_formatter_that_runs_on_save_approves_nothing() {
    let provider = one_call(&counted(""));
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    wait_review(&editor);
    editor.command(
        r"autocmd BufWritePre * silent! %s/\s\+$//e | silent! %s/^\*\*Tool Use/  **Tool Use/e",
    );
    editor.command("write");
    editor.wait_text("\n  **Tool Use");
    editor.keys("<C-]>");
    wait_message(&editor, "There is nothing new to send");
    settle(&editor);
    assert_eq!(runs(&editor), 0);
}

#[test]
fn a_key_applies_to_the_call_on_the_screen_when_it_was_pressed() {
    let answer = Answer::new()
        .tool_use(
            "toolu_1",
            "bash",
            &command(&format!("{}; seq 30", gate("gate"))),
        )
        .tool_use("toolu_2", "bash", &command("echo second"))
        .tool_use("toolu_3", "bash", &command("echo third"));
    let provider = Provider::anthropic([answer]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_for("three calls that wait", |editor| {
        editor.text().matches("status=pending").count() == 3
    });
    editor.keys("gg/Result:.*_1<CR><M-CR>");
    wait_gate(&editor, "gate");
    editor.keys("/Result:.*_2<CR>d");
    open_gate(&editor, "gate");
    editor.wait_for("a result that is held back", |editor| {
        let held = "return pcall(vim.api.nvim_get_autocmds, { group = 'flemma.queue' })";
        editor.lua(held, &json!([])) == json!(true)
    });
    // Does what the key does while the operator is pending.
    editor.lua("require('flemma.buffer').command('resolve')", &json!([]));
    editor.keys("<Esc>");
    editor.wait_text("```\nsecond\n```");
    editor.wait_for("the first result", |editor| {
        result(editor, "toolu_1").contains("\n30\n")
    });
    assert!(result(&editor, "toolu_3").contains("status=pending"));
}
