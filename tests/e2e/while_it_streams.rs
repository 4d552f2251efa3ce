//! The user or a plugin changes a chat while an answer streams into it: both texts stay
//! whole.

use harness::{Answer, Editor, Gate, Provider};
use rustix::process::Signal;
use serde_json::json;

use crate::processes::{host, signal, stop};
use crate::stage::{QUESTION, open, wait_end};
use crate::traces::wait_request_over;

/// An answer that stops after `first` until the gate opens, and ends with `rest`.
fn gated(first: &str, rest: &str) -> (Gate, Provider) {
    let gate = Gate::new();
    let answer = Answer::new().text(first).gate(&gate).text(rest);
    let provider = Provider::anthropic([answer]);
    (gate, provider)
}

/// An editor on a [`QUESTION`] whose answer has begun with `first`.
#[track_caller]
fn streaming(provider: &Provider, first: &str) -> Editor {
    let editor = open(provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_text(first);
    editor
}

#[test]
fn typing_above_the_answer_only_moves_it() {
    let (gate, provider) = gated("One,\ntwo", ",\nthree.");
    let editor = streaming(&provider, "two");
    editor.keys("ggjA now.<CR>And more<Esc>ggO# My notes<CR><Esc>");
    gate.open();
    wait_end(&editor, "@You:\n\n");
    assert_eq!(
        editor.text(),
        "# My notes\n\n@You:\nGo. now.\nAnd more\n\n@Assistant:\nOne,\ntwo,\nthree.\n\n@You:\n\n"
    );
}

#[test]
fn a_chat_that_is_renamed_meanwhile_gets_the_whole_answer_and_keeps_its_undo_history() {
    let (gate, provider) = gated("One,\ntwo", ",\nthree.");
    let editor = streaming(&provider, "two");
    editor.keys(":Flemma rename The numbers<CR>");
    editor.wait_for("the new name", |editor| {
        editor.lua("return vim.fn.expand('%:t')", &json!([])) == json!("the-numbers.chat")
    });
    gate.open();
    wait_end(&editor, "three.\n\n@You:\n\n");
    let files = "local names = vim.fn.readdir('.', function(name) return name:find('%.chat$') and 1 or 0 end)
        return { names, #vim.api.nvim_list_bufs(), vim.fn.undotree().seq_last > 0 }";
    assert_eq!(
        editor.lua(files, &json!([])),
        json!([["the-numbers.chat"], 1, true])
    );
    editor.command("write");
    let saved = std::fs::read_to_string(editor.dir().join("the-numbers.chat")).unwrap();
    assert_eq!(
        saved,
        "@You:\nGo.\n\n@Assistant:\nOne,\ntwo,\nthree.\n\n@You:\n\n"
    );
}

#[test]
fn typing_into_the_streamed_lines_keeps_both_texts() {
    let (gate, provider) = gated("One,\ntwo", ",\nthree.");
    let editor = streaming(&provider, "two");
    editor.keys("/One<CR>ciwUno<Esc>o(typed)<Esc>");
    gate.open();
    wait_end(&editor, "@You:\n\n");
    assert_eq!(
        editor.text(),
        "@You:\nGo.\n\n@Assistant:\nUno,\n(typed)\ntwo,\nthree.\n\n@You:\n\n"
    );
}

#[test]
fn typing_at_the_end_of_the_answer_stays_at_its_end() {
    let (gate, provider) = gated("One, two", ",\nthree.");
    let editor = streaming(&provider, "two");
    editor.keys("GA (typed)<Esc>");
    gate.open();
    wait_end(&editor, "@You:\n\n");
    assert_eq!(
        editor.text(),
        "@You:\nGo.\n\n@Assistant:\nOne, two,\nthree. (typed)\n\n@You:\n\n"
    );
}

#[test]
fn typing_before_the_end_of_the_answers_last_line_keeps_both_texts() {
    let (gate, provider) = gated("One, two", ", three.");
    let editor = streaming(&provider, "two");
    editor.keys("GI(typed) <Esc>");
    gate.open();
    wait_end(&editor, "@You:\n\n");
    let text = editor.text();
    assert!(text.contains("(typed) One, two"), "{text}");
    assert!(text.contains(", three."), "{text}");
}

#[test]
fn typing_below_the_answer_is_kept() {
    let (gate, provider) = gated("One, two", ", three.\n\nFour.");
    let editor = streaming(&provider, "two");
    editor.keys("Go<CR>next question<Esc>");
    gate.open();
    editor.wait_text("Four.");
    wait_request_over(&editor);
    let text = editor.text();
    assert!(text.contains("One, two, three.\n\nFour.\n"), "{text}");
    assert!(text.contains("\nnext question\n"), "{text}");
}

#[test]
fn the_changes_of_a_plugin_that_rewrites_the_chat_are_kept() {
    let (gate, provider) = gated("One, two", ", three.");
    let editor = streaming(&provider, "two");
    let lines = ["@You:", "GO.", "", "@Assistant:", "ONE, TWO"];
    editor.request("nvim_buf_set_lines", json!([0, 0, -1, true, lines]));
    gate.open();
    wait_request_over(&editor);
    let text = editor.text();
    assert!(
        text.starts_with("@You:\nGO.\n\n@Assistant:\nONE, TWO"),
        "{text}"
    );
}

#[test]
fn undo_reverts_a_change_and_the_answer_continues() {
    let (gate, provider) = gated("One, two", ", three.");
    let editor = streaming(&provider, "two");
    editor.keys("ggjA typed<Esc>u");
    assert!(
        editor
            .text()
            .starts_with("@You:\nGo.\n\n@Assistant:\nOne, two")
    );
    gate.open();
    wait_end(&editor, "@You:\n\n");
    assert_eq!(
        editor.text(),
        "@You:\nGo.\n\n@Assistant:\nOne, two, three.\n\n@You:\n\n"
    );
}

#[test]
fn undoing_the_answer_never_mixes_texts() {
    let (gate, provider) = gated("One, two", ", three.");
    let editor = streaming(&provider, "two");
    editor.keys("u");
    gate.open();
    wait_request_over(&editor);
    let text = editor.text();
    assert!(text.starts_with(QUESTION), "{text}");
    assert!(
        !text.contains("GoOne") && text.matches("@Assistant:").count() <= 1,
        "{text}"
    );
    // The chat still works.
    editor.keys("GAMore.<Esc><C-]>");
    provider.wait_requests(2);
}

#[test]
fn reloading_the_file_ends_the_answer() {
    let (gate, provider) = gated("One, two", ", three.");
    let editor = streaming(&provider, "two");
    editor.command("edit!");
    provider.wait_hang_ups(1);
    gate.open();
    wait_request_over(&editor);
    assert_eq!(editor.text(), QUESTION);
    editor.keys("<C-]>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
}

#[test]
fn closing_the_chat_closes_the_connection() {
    let (_gate, provider) = gated("One, two", ", three.");
    let editor = streaming(&provider, "two");
    editor.command("bwipeout!");
    provider.wait_hang_ups(1);
    assert_eq!(editor.text(), "\n");
    let messages = editor.messages();
    assert!(!messages.contains("rror"), "{messages}");
}

#[test]
fn cursors_of_other_windows_and_tabs_stay_where_they_are() {
    let (gate, provider) = gated("One, two", ",\nthree,\nfour.");
    let chat = format!("@You:\n{}Go.\n", "more words\n".repeat(60));
    let editor = open(&provider, &chat);
    editor.keys("5G:split<CR>20G<C-w>j:tab split<CR>30Ggt");
    let cursors = "return vim.tbl_map(function(window)
        return { window, vim.api.nvim_win_get_cursor(window), vim.fn.getwininfo(window)[1].topline }
      end, vim.tbl_filter(function(window)
        return window ~= vim.api.nvim_get_current_win() and vim.api.nvim_win_get_config(window).relative == ''
      end, vim.api.nvim_list_wins()))";
    let before = editor.lua(cursors, &json!([]));
    let focus = editor.lua("return vim.api.nvim_get_current_win()", &json!([]));
    editor.keys("<C-]>");
    editor.wait_text("two");
    gate.open();
    wait_end(&editor, "@You:\n\n");
    assert_eq!(editor.lua(cursors, &json!([])), before);
    assert_eq!(
        editor.lua("return vim.api.nvim_get_current_win()", &json!([])),
        focus
    );
    assert_eq!(before.as_array().unwrap().len(), 2);
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn line_endings_of_the_file_are_not_sent() {
    let provider = Provider::anthropic([Answer::says("Yes."), Answer::says("Again.")]);
    let editor = open(&provider, "@You:\r\nOne\r\ntwo\r\n");
    assert_eq!(
        editor.lua("return vim.bo.fileformat", &json!([])),
        json!("dos")
    );
    editor.keys("<C-]>");
    wait_end(&editor, "@You:\n\n");
    editor.keys(":set fileformat=unix<CR>GAmore<CR>lines<Esc>:set fileformat=dos<CR><C-]>");
    wait_end(&editor, "Again.\n\n@You:\n\n");
    for request in provider.requests() {
        assert!(!request.raw.windows(2).any(|two| two == b"\\r"));
    }
    editor.command("write");
    let file = std::fs::read_to_string(editor.dir().join("question.chat")).unwrap();
    assert_eq!(file, editor.text().replace('\n', "\r\n"));
}

/// A file with CRLF and without a final newline, as some programs write.
#[test]
fn a_crlf_chat_without_a_final_line_end_keeps_crlf() {
    let provider = Provider::anthropic([Answer::says("Yes.\nOf course.")]);
    let editor = open(&provider, "@You:\r\nOne\r\ntwo");
    editor.keys("<C-]>");
    wait_end(&editor, "two\n\n@Assistant:\nYes.\nOf course.\n\n@You:\n\n");
    editor.command("write");
    let file = std::fs::read_to_string(editor.dir().join("question.chat")).unwrap();
    assert_eq!(file, editor.text().replace('\n', "\r\n"));
}

#[test]
fn text_that_arrives_after_a_cancel_is_not_written() {
    let (arrives, arrived) = (Gate::new(), Gate::new());
    let answer = Answer::new()
        .text("Before.")
        .gate(&arrives)
        .text(" After.")
        .gate(&arrived);
    let provider = Provider::anthropic([answer]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_text("Before.");
    let worker = host(&editor).worker;
    stop(worker);
    editor.keys("<C-c>");
    arrives.open();
    arrived.wait_reached();
    signal(worker, Signal::CONT);
    editor.wait_text("<!-- flemma:aborted: cancelled by the user -->");
    assert!(!editor.text().contains("After."), "{}", editor.text());
}
