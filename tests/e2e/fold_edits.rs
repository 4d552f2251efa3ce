//! Folds after edits: a chat always has the folds that its text has when it is opened.

use harness::Editor;
use serde_json::json;

use crate::folds::opened;
use crate::stage::*;

/// Returns the fold level of each line in the previous window and in the current one. The
/// latter is empty until its folds have arrived, which is when its 'foldtext' is set.
fn both_levels(editor: &Editor) -> (String, String) {
    let code = "local function levels(number)
        return vim.api.nvim_win_call(vim.fn.win_getid(number), function()
          return vim.iter(vim.fn.range(1, vim.fn.line('$'))):map(vim.fn.foldlevel):join('')
        end)
      end
      local arrived = vim.wo.foldtext ~= 'foldtext()'
      return { levels(vim.fn.winnr('#')), arrived and levels(vim.fn.winnr()) or '' }";
    let both = editor.lua(code, &json!([]));
    let text = |at: usize| both[at].as_str().unwrap_or_default().to_owned();
    (text(0), text(1))
}

/// Waits until the chat has the same folds as a second chat that is opened with its text.
#[track_caller]
fn expect_folds_of_the_text(editor: &Editor, after: &str) {
    at_rest(editor);
    let text = editor.text();
    std::fs::write(editor.dir().join("fresh.chat"), &text).unwrap();
    editor.command("vsplit fresh.chat");
    let mut last = (String::new(), String::new());
    editor.wait_for(&format!("the folds after {after:?} of\n{text}"), |editor| {
        let now = both_levels(editor);
        if now != last {
            eprintln!("folds: {}\nfresh: {}", now.0, now.1);
        }
        last = now;
        last.0 == last.1
    });
    editor.command("bwipeout!");
}

#[test]
fn all_kinds_of_edits_keep_the_folds_correct() {
    let (_provider, editor) = opened();
    for keys in [
        "5GoA line.<Esc>",
        "8GOAnother.<Esc>",
        "6Go@Assistant:<CR>Hello.<Esc>",
        "u",
        "<C-r>",
        "gg/@Assistant<CR>dd",
        "u",
        ":g/^$/d<CR>",
        "u",
        ":%s/e/E/g<CR>",
        "u",
        "/<lt>.thinking<CR>dd",
        "p",
        "u",
        "u",
        "gg/Tool Use<CR>dap",
        "P",
        "gg3dd",
        "u",
        "gg/Tool Result<CR>k3J",
        "u",
        ":5,9m$<CR>",
        "u",
        ":5,20t.<CR>",
        "u",
        "ggdG",
        "u",
        ":lua local l = vim.api.nvim_buf_get_lines(0, 0, -1, true) vim.api.nvim_buf_set_lines(0, 0, -1, true, l)<CR>",
    ] {
        editor.keys(keys);
        expect_folds_of_the_text(&editor, keys);
    }
}

#[test]
fn random_edits_keep_the_folds_correct() {
    const KEYS: [&str; 24] = [
        "dd",
        "3dd",
        "yyp",
        "yyP",
        "ojust text<Esc>",
        "O@Assistant:<Esc>",
        "o@You:<Esc>",
        "J",
        "3J",
        "u",
        "3u",
        "<C-r>",
        "ddp",
        "ddkP",
        "dap",
        "yapp",
        "o<lt>thinking><CR>t<CR><lt>/thinking><Esc>",
        "A<CR>more<Esc>",
        "zo",
        "zc",
        "zM",
        "zR",
        ":.,+4m0<CR>",
        ":m$<CR>",
    ];
    for seed in [1, 46, 88] {
        let (_provider, editor) = opened();
        let mut state: u64 = seed * 0x9e37_79b9;
        let mut done = String::new();
        for step in 0..30 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (line, key) = (
                (state >> 33) % 40 + 1,
                KEYS[(state >> 20) as usize % KEYS.len()],
            );
            let keys = format!("{line}G{key}");
            editor.keys(&keys);
            done.push_str(&format!(" {keys}"));
            if step % 3 == 2 {
                expect_folds_of_the_text(&editor, &format!("seed {seed}:{done}"));
            }
        }
    }
}

#[test]
fn the_line_of_a_closed_fold_is_redrawn_when_its_text_changes() {
    let (_provider, editor) = opened();
    editor.keys("GzM");
    editor.wait_screen("the message in one line", |rows| {
        let words = "@You: What is in f.txt?";
        rows.iter().any(|row| row == words)
    });
    // Neovim has already drawn the line with the old text when the new fold text arrives.
    editor.lua(
        "vim.api.nvim_buf_set_lines(0, 5, 6, false, { 'What else?' })",
        &json!([]),
    );
    editor.wait_screen("its new words", |rows| {
        let words = "@You: What else?";
        rows.iter().any(|row| row == words)
    });
}
