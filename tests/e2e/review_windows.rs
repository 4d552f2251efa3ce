//! The window of a review: it takes no focus, changes no other window, and is gone afterwards.

use harness::Editor;
use serde_json::{Value as Json, json};

use crate::reviewing::{wait_chat, wait_review, waiting};
use crate::stage::wait_end;

/// Options of each window that does not show a review, by the name of its file.
const OTHERS: &str = "local found = {}
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      local buffer = vim.api.nvim_win_get_buf(window)
      if vim.bo[buffer].filetype ~= 'diff' then
        local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ':t')
        local o = vim.wo[window]
        found[name] = { o.diff, o.scrollbind, o.cursorbind, o.foldmethod, o.wrap, o.foldcolumn, o.winbar }
      end
    end
    return found";

/// Lua that returns if a review is shown, and if it is in diff mode.
const REVIEW: &str = "for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.bo[vim.api.nvim_win_get_buf(window)].filetype == 'diff' then
        return { true, vim.wo[window].diff, vim.wo[window].scrollbind }
      end
    end
    return { false }";

fn wait_shown(editor: &Editor) {
    editor.wait_for("the review", |it| {
        it.lua(REVIEW, &json!([])) == json!([true, false, false])
    });
}

fn here(editor: &Editor) -> Json {
    editor.lua("return vim.fn.expand('%:t')", &json!([]))
}

#[test]
fn windows_in_diff_mode_stay_as_they_are() {
    let (_provider, editor) = waiting();
    std::fs::write(editor.dir().join("g.txt"), "line 1\nline 3\n").unwrap();
    editor.command("botright vsplit f.txt | diffthis | vsplit g.txt | diffthis | wincmd t");
    let before = editor.lua(OTHERS, &json!([]));
    assert_eq!(before["g.txt"][0], json!(true));
    editor.keys(":Flemma review<CR>");
    wait_review(&editor);
    wait_shown(&editor);
    assert_eq!(editor.lua(OTHERS, &json!([])), before);
    editor.keys("]cdih");
    assert_eq!(editor.lua(OTHERS, &json!([])), before);
    editor.keys(":w<CR>");
    editor.wait_for("the end of the review", |it| {
        it.lua(REVIEW, &json!([])) == json!([false])
    });
    wait_end(&editor, "Done.\n\n@You:\n\n");
    assert_eq!(editor.lua(OTHERS, &json!([])), before);
    assert_eq!(here(&editor), json!("question.chat"));
}

#[test]
fn a_chat_in_diff_mode_is_reviewed_outside_of_it() {
    let (_provider, editor) = waiting();
    editor.keys(":diffthis<CR>:Flemma review<CR>");
    wait_review(&editor);
    wait_shown(&editor);
    editor.keys(":q<CR>");
    wait_chat(&editor);
    assert_eq!(editor.lua("return vim.wo.diff", &json!([])), json!(true));
}

#[test]
fn a_review_that_comes_late_does_not_take_the_focus() {
    for (elsewhere, mode) in [
        ("split f.txt", "n"),
        ("startinsert", "i"),
        ("tabnew f.txt", "n"),
    ] {
        let (_provider, editor) = waiting();
        // The host answers after both.
        let code = "vim.cmd('Flemma review') vim.cmd(...)";
        editor.lua(code, &json!([elsewhere]));
        let there = here(&editor);
        wait_shown(&editor);
        assert_eq!(here(&editor), there, "{elsewhere}");
        let now = editor.lua("return vim.api.nvim_get_mode().mode", &json!([]));
        assert_eq!(now, json!(mode), "{elsewhere}");
    }
}
