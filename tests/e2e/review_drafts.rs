//! Writes of a review that the user did not type in its window: they keep a draft, and approve
//! nothing.

use harness::Editor;
use serde_json::json;

use crate::reviewing::{before, file, reviewing, wait_message, wait_review};
use crate::stage::wait_end;

/// The text of the review, if it was written since it changed.
const DRAFT: &str = "for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
      if vim.bo[buffer].filetype == 'diff' and not vim.bo[buffer].modified then
        return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\\n')
      end
    end
    return ''";

/// Waits until the review without its first hunk is written.
fn wait_draft(editor: &Editor) {
    editor.wait_for("a draft", |it| {
        let text = it.lua(DRAFT, &json!([]));
        let text = text.as_str().unwrap_or_default();
        text.contains("+eighteen") && !text.contains("+two")
    });
}

fn chat(editor: &Editor) -> String {
    let code = "return table.concat(vim.fn.getbufline('question.chat', 1, '$'), '\\n')";
    let text = editor.lua(code, &json!([]));
    text.as_str().unwrap_or_default().to_owned()
}

#[test]
fn options_plugins_mappings_and_macros_keep_a_draft() {
    for (setup, keys) in [
        ("set autowriteall", "dih:silent !true<CR>"),
        ("autocmd TextChanged * ++nested silent! write", "dih"),
        ("autocmd InsertLeave * ++nested silent! wall", "dihA<Esc>"),
        (
            "autocmd FocusLost * ++nested wall",
            "dih:doautocmd FocusLost<CR>",
        ),
        ("autocmd WinLeave * ++nested silent! update", "dih<C-w>w"),
        ("autocmd CursorMoved * ++nested execute 'write'", "dihj"),
        ("nnoremap <F2> :w<CR>", "dih<F2>"),
        ("nnoremap <F2> <Cmd>w<CR>", "dih<F2>"),
        ("nmap <F2> ZZ", "dih<F2>"),
        ("let @q = \":w\\<CR>\"", "dih@q"),
        ("let @q = 'ZZ'", "dih@q"),
        ("", "dih:wall<CR>"),
        ("", "dih:windo silent! write<CR>"),
        ("", "dih:execute 'w'<CR>"),
        ("", "dih:normal ZZ<CR>"),
        ("", "dih:wq | new<CR>"),
    ] {
        let (_provider, editor) = reviewing();
        editor.command(setup);
        editor.keys(keys);
        wait_draft(&editor);
        assert_eq!(file(&editor), before(), "{setup} {keys}");
        assert!(chat(&editor).contains("status=pending"), "{setup} {keys}");
    }
}

#[test]
fn a_typed_write_approves_although_the_user_has_mappings_and_autosave() {
    for (setup, keys) in [
        ("cnoremap <CR> <C-]><CR>", ":w<CR>"),
        ("nnoremap ; :", ";w<CR>"),
        ("nnoremap <Space>w :write", "<Space>w<CR>"),
        ("autocmd TextChanged * ++nested silent! write", ":w<CR>"),
        ("set autowriteall", ":wq<CR>"),
    ] {
        let (_provider, editor) = reviewing();
        editor.command(setup);
        editor.keys("dih");
        editor.keys(keys);
        wait_end(&editor, "Done.\n\n@You:\n\n");
        let after = before().replace("line 18\n", "eighteen\n");
        assert_eq!(file(&editor), after, "{setup} {keys}");
    }
}

#[test]
fn a_draft_that_was_kept_is_approved_later() {
    let (_provider, editor) = reviewing();
    editor.keys("dih:wa<CR>");
    wait_message(&editor, "Kept as a draft");
    editor.keys(":q<CR>");
    editor.keys(":Flemma review<CR>");
    wait_review(&editor);
    editor.keys(":w<CR>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    let after = before().replace("line 18\n", "eighteen\n");
    assert_eq!(file(&editor), after);
}
