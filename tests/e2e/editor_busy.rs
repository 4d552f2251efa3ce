//! An answer arrives while Neovim cannot be written to or waits for a key: writes wait in
//! order, no key is lost, and nothing is dropped.

use harness::{Answer, Editor, Gate, Provider};
use serde_json::json;

use crate::stage::{QUESTION, open, wait_end};

const ANSWER: &str = "@You:\nGo.\n\n@Assistant:\nOne, two,\nthree,\nfour.\n\n@You:\n\n";

/// An editor with the beginning of [`ANSWER`], and the gates of its two other pieces.
#[track_caller]
fn streaming() -> (Editor, Provider, Gate, Gate) {
    let (second, third) = (Gate::new(), Gate::new());
    let answer = Answer::new()
        .text("One, two")
        .gate(&second)
        .text(",\nthree");
    let provider = Provider::anthropic([answer.gate(&third).text(",\nfour.")]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_text("two");
    (editor, provider, second, third)
}

/// Types `busy`, lets the answer end, types `free`, and compares the chat with `after`. In between,
/// waits until Neovim is blocked or the queue holds messages; otherwise the test would prove nothing.
#[track_caller]
fn check(busy: &str, free: &str, after: &str) {
    let (editor, _provider, second, third) = streaming();
    editor.keys(busy);
    second.open();
    third.open();
    editor.wait_for("something that waits", |editor| {
        editor.mode().blocking || editor.lua(HELD, &json!([])) == json!(true)
    });
    editor.keys(free);
    wait_end(&editor, "@You:\n\n");
    assert_eq!(editor.text(), after);
    assert!(!editor.messages().contains("E5"), "{}", editor.messages());
}

/// Lua that returns true if messages of the host are in the queue.
const HELD: &str = "return pcall(vim.api.nvim_get_autocmds, { group = 'flemma.queue' })";

#[test]
fn in_the_command_line_window() {
    check("q:iecho 'kept'", "<Esc>:q<CR>", ANSWER);
}

#[test]
fn after_an_operator_without_its_motion() {
    check("ggd", "<Esc>", ANSWER);
}

#[test]
fn after_an_operator_whose_motion_follows() {
    check("2Gc", "iwOn<Esc>", &ANSWER.replace("Go.", "On."));
    check("2Gd", "l", &ANSWER.replace("Go.", "o."));
}

#[test]
fn after_a_register_a_mark_or_a_count() {
    check("gg\"", "ayy", ANSWER);
    check("ggf", "o", ANSWER);
    check("gg3", "l", ANSWER);
}

#[test]
fn while_a_completion_is_open() {
    let after = ANSWER.replace("Go.", "Go. Go");
    check("2GA G<C-n>", "<C-y><Esc>", &after);
}

#[test]
fn while_a_substitution_asks_for_confirmation() {
    check(
        "gg:1,2s/o/0/gc<CR>",
        "yy",
        &ANSWER.replacen("You:", "Y0u:", 1).replacen("Go.", "G0.", 1),
    );
}

#[test]
fn a_script_that_waits_for_a_character_gets_the_typed_one() {
    let (editor, _provider, second, third) = streaming();
    editor.keys(":let g:typed = getcharstr()<CR>");
    second.open();
    third.open();
    editor.keys("x");
    wait_end(&editor, "@You:\n\n");
    assert_eq!(editor.text(), ANSWER);
    assert_eq!(editor.lua("return vim.g.typed", &json!([])), json!("x"));
}

#[test]
fn at_a_press_enter_prompt() {
    check(":echo \"a\\nb\\nc\"<CR>", "<CR>", ANSWER);
}

#[test]
fn under_a_textlock() {
    let (editor, _provider, second, third) = streaming();
    // Nothing may be written during a slow expression mapping.
    let code = "vim.keymap.set('n', '<F2>', function()
        vim.wait(10000, function() return vim.g.go_on ~= nil end, 5)
        return ''
      end, { expr = true })";
    editor.lua(code, &json!([]));
    editor.keys("<F2>");
    second.open();
    third.open();
    editor.wait_for("something that waits", |editor| {
        editor.lua(HELD, &json!([])) == json!(true)
    });
    editor.lua("vim.g.go_on = 1", &json!([]));
    wait_end(&editor, "@You:\n\n");
    assert_eq!(editor.text(), ANSWER);
}

#[test]
fn in_visual_mode_the_selection_stays() {
    let (editor, _provider, second, third) = streaming();
    editor.keys("gg0vj");
    second.open();
    third.open();
    wait_end(&editor, "@You:\n\n");
    assert_eq!(editor.mode().name, "v");
    editor.keys("y");
    assert_eq!(
        editor.lua("return vim.fn.getreg('\"')", &json!([])),
        json!("@You:\nG")
    );
    assert_eq!(editor.text(), ANSWER);
}

#[test]
fn in_insert_mode_the_typed_word_is_whole_and_the_mode_stays() {
    let (editor, _provider, second, third) = streaming();
    editor.keys("2GAab");
    second.open();
    editor.wait_text("three");
    editor.keys("cd");
    third.open();
    wait_end(&editor, "@You:\n\n");
    editor.keys("ef");
    assert_eq!(editor.mode().name, "i");
    assert_eq!(editor.text(), ANSWER.replace("Go.", "Go.abcdef"));
}
