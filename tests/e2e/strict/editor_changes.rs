//! What a chat in Neovim refers to changes between two requests: buffers, lists, files, and tools.

use harness::{Answer, Setup};
use serde_json::json;

use super::editor::{steer_between_calls, undo_a_run, with_each_claude, with_file};
use super::says;
use crate::stage::*;

#[test]
fn a_buffer_changes() {
    let file = |setup: Setup| setup.with("calc.py", "a = 1\n");
    with_each_claude(file, |chat| {
        chat.lua("vim.cmd.badd('calc.py') vim.fn.bufload('calc.py')");
        chat.begin("See @buffer:calc.py", "One.");
        chat.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('calc.py'), 0, 1, false, { 'a = 2' })");
        chat.ask("More.", "Two.");
        chat.ask("And more.", "Three.");
        chat.expect_kept(2);
        let body = &chat.provider.requests()[2].body;
        assert!(body["messages"][0].to_string().contains("a = 1"), "{body}");
    });
}

#[test]
fn the_quickfix_list_and_diagnostics_change() {
    let file = |setup: Setup| setup.with("calc.py", "a = 1\n");
    with_each_claude(file, |chat| {
        let found = |text: &str| {
            chat.lua(&format!(
                "local buffer = vim.fn.bufadd('calc.py')
                 vim.fn.bufload(buffer)
                 vim.fn.setqflist({{}}, ' ', {{ items = {{ {{ bufnr = buffer, lnum = 1, text = '{text}' }} }} }})
                 vim.diagnostic.set(vim.api.nvim_create_namespace('linter'), buffer,
                   {{ {{ lnum = 0, col = 0, message = '{text}' }} }})"
            ));
        };
        found("first");
        chat.begin("Fix @quickfix and @diagnostics", "One.");
        found("second");
        chat.ask("More.", "Two.");
        chat.ask("And more.", "Three.");
        chat.expect_kept(2);
    });
}

#[test]
fn a_lua_tool_is_registered_later() {
    with_each_claude(
        |setup| setup,
        |chat| {
            chat.begin("Go.", "One.");
            chat.lua(
                "require('flemma.tools').register('later', {
                   description = 'Comes late',
                   input_schema = { type = 'object', properties = { word = { type = 'string' } } },
                   execute = function(input) return { success = true, output = 'from later' } end,
                 })",
            );
            let call = Answer::new().thinks("I use it.");
            let call = call.tool_use("toolu_1", "later", &json!({"word": "a"}));
            chat.provider.then(call);
            chat.ask("Use it.", "Two.");
            chat.expect_kept(2);
            assert!(
                chat.editor.text().contains("from later"),
                "{}",
                chat.editor.text()
            );
        },
    );
}

#[test]
fn a_chat_is_opened_again_after_its_file_changed() {
    with_each_claude(with_file, |chat| {
        chat.begin("See @./f.txt", "One.");
        chat.editor.command("write");
        chat.editor.command("bwipeout");
        std::fs::write(chat.editor.dir().join("f.txt"), "n=1\n").unwrap();
        chat.editor.command("edit question.chat");
        chat.ask("More.", "Two.");
        chat.expect_kept(1);
    });
}

#[test]
fn the_host_is_restarted_after_a_file_changed() {
    with_each_claude(with_file, |chat| {
        chat.begin("See @./f.txt", "One.");
        chat.editor.command("write");
        std::fs::write(chat.editor.dir().join("f.txt"), "n=1\n").unwrap();
        chat.editor.command("Flemma restart");
        chat.ask("More.", "Two.");
        chat.expect_kept(1);
    });
}

#[test]
fn an_earlier_turn_is_edited_and_the_next_key_repairs_the_chat() {
    with_each_claude(
        |setup| setup,
        |chat| {
            chat.begin("What is one and one?", "Two.");
            chat.editor.keys(":%s/one and one/two and two/<CR>");
            chat.editor.keys("GAWhy?<Esc><C-]>");
            chat.editor
                .wait_for("a refusal", |_| chat.provider.refusals().len() == 1);
            wait_message(&chat.editor, "thinking");
            at_rest(&chat.editor);
            chat.provider.then(says("Four."));
            chat.send("Four.");
            chat.ask("Sure?", "Yes.");
            assert_eq!(chat.provider.refusals().len(), 1, "{}", chat.model);
        },
    );
}

#[test]
fn a_run_that_edited_an_attached_file_is_undone() {
    with_each_claude(with_file, |chat| undo_a_run(chat, "See @./f.txt"));
}

#[test]
fn a_message_is_steered_while_an_attached_file_changes() {
    with_each_claude(with_file, |chat| steer_between_calls(chat, "See @./f.txt"));
}
