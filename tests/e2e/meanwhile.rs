//! Keys at awkward moments: while an answer is awaited or streams, while another call
//! runs, and in a second chat.

use harness::{Answer, Gate, Provider};
use serde_json::json;

use crate::stage::*;

/// A command that ends when `name` exists.
fn waits_for(name: &str) -> serde_json::Value {
    command(&format!(
        "until [ -e {name} ]; do sleep 0.02; done; echo {name} is there"
    ))
}

#[test]
fn ctrl_c_is_not_lost_while_neovim_has_much_to_do() {
    let provider = Provider::anthropic([Answer::says("Once").stall()]);
    let editor = ask_with(&provider, json!({}));
    editor.keys("<C-]>");
    editor.wait_text("Once");
    at_rest(&editor);
    // Neovim checks for Ctrl-C between these callbacks, and treats it as an interrupt.
    let much = "for _ = 1, 50 do vim.schedule(function() vim.uv.sleep(2) end) end";
    editor.lua(much, &json!([]));
    editor.keys("<C-c>");
    editor.wait_text("Once\n\n<!-- flemma:aborted: cancelled by the user -->");
    at_rest(&editor);
    assert_eq!(editor.text().matches("flemma:aborted").count(), 1);
    // One key cancels once.
    assert!(!editor.messages().contains("Nothing is running here."));
}

#[test]
fn two_chats_are_answered_at_the_same_time_and_do_not_mix() {
    let (one, two) = (Gate::new(), Gate::new());
    let script = [
        Answer::says("One ").gate(&one).text("is done."),
        Answer::says("Two ").gate(&two).text("is done."),
    ];
    let provider = Provider::anthropic(script);
    let setup = setup(&provider).with("other.chat", "@You:\nAnd you?\n");
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nOne");
    editor.keys(":split other.chat<CR><C-]>");
    editor.wait_text("@Assistant:\nTwo");
    one.open();
    editor.command("wincmd p");
    wait_end(&editor, "@Assistant:\nOne is done.\n\n@You:\n\n");
    editor.command("wincmd p");
    // A trailing blank is only written with the next word.
    assert!(editor.text().ends_with("@Assistant:\nTwo\n"));
    two.open();
    wait_end(&editor, "@Assistant:\nTwo is done.\n\n@You:\n\n");
    assert!(editor.text().starts_with("@You:\nAnd you?\n"));
}

#[test]
fn a_command_of_one_chat_locks_no_other() {
    let call = Answer::new().tool_use("t_1", "bash", &waits_for("go"));
    let provider = Provider::anthropic([call, Answer::says("Two.")]);
    let options = json!({"tools": {"require_approval": false}});
    let setup = with_options(&provider, options).with("other.chat", "@You:\nAnd you?\n");
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    wait_event(&editor, "FlemmaToolStarted t_1");
    editor.keys(":split other.chat<CR><C-]>");
    wait_end(&editor, "@Assistant:\nTwo.\n\n@You:\n\n");
    editor.keys("GiMore.<Esc>");
    assert!(editor.text().ends_with("More.\n"));
    std::fs::write(editor.dir().join("go"), "").unwrap();
    editor.command("wincmd p");
    editor.wait_text("@Assistant:\nDone.");
}

#[test]
fn a_pending_call_ends_insert_mode() {
    let call = Answer::new().tool_use("t_1", "bash", &command("echo out"));
    let provider = Provider::anthropic([call, Answer::says("Well.")]);
    let editor = open(&provider, "@You:\n");
    editor.keys("GoGo.<C-]>");
    wait_cursor(&editor, "**Tool Result:** `t_1`");
    assert_eq!(editor.mode().name, "n");
    editor.keys("<M-CR>");
    editor.wait_text("@Assistant:\nWell.");
}

#[test]
fn one_undo_removes_a_result_and_the_call_waits_again() {
    let call = Answer::new().tool_use("t_1", "bash", &command("echo x >> log; echo out"));
    let provider = Provider::anthropic([call]);
    // With folds, the first key would only open the fold of the call.
    let options = json!({"tools": {"autopilot": {"enabled": false}}, "folds": {"enabled": false}});
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    wait_event(&editor, "FlemmaRequestFinished success");
    at_rest(&editor);
    editor.keys("<C-]>");
    wait_cursor(&editor, "**Tool Result:** `t_1`");
    editor.keys("<M-CR>");
    wait_result(&editor, "t_1", "**Tool Result:** `t_1`\n\n```\nout\n```");
    // The chat is unlocked as soon as it contains the result.
    editor.keys("u");
    assert!(result(&editor, "t_1").contains("```flemma:tool status="));
    // A decision is valid for one run.
    editor.keys("<C-]>");
    at_rest(&editor);
    assert!(
        result(&editor, "t_1").contains("status=pending"),
        "{}",
        editor.text()
    );
    let log = std::fs::read_to_string(editor.dir().join("log")).unwrap();
    assert_eq!(log, "x\n");
}
