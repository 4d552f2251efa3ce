//! Reviews of pending calls, with real keys: what the user leaves of a diff is applied, and only
//! a `:w` that the user types in its window approves it.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

pub fn before() -> String {
    (1..=20).map(|it| format!("line {it}\n")).collect()
}

/// An editor in whose chat an edit of two hunks waits, with its review open.
pub fn reviewing() -> (Provider, Editor) {
    let (provider, editor) = waiting();
    // The cursor is on the pending call.
    editor.keys("<CR>");
    wait_review(&editor);
    (provider, editor)
}

/// An editor in whose chat an edit of two hunks waits.
pub fn waiting() -> (Provider, Editor) {
    let edits = json!([
        {"oldText": "line 2\n", "newText": "two\n"},
        {"oldText": "line 18\n", "newText": "eighteen\n"},
    ]);
    let input = json!({"label": "", "path": "f.txt", "edits": edits});
    let calls = Answer::new().tool_use("t_1", "edit", &input);
    let provider = Provider::anthropic([calls, Answer::says("Done.")]);
    let setup = with_options(&provider, json!({"tools": {"auto_approve": []}}));
    let setup = setup.with("f.txt", before()).size(80, 24);
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    editor.wait_screen("the hint", |rows| {
        rows.iter().any(|it| it.contains("Enter: decide"))
    });
    (provider, editor)
}

/// Waits until the review is the current window.
pub fn wait_review(editor: &Editor) {
    editor.wait_for("the review", |it| {
        it.lua("return vim.bo.filetype", &json!([])) == json!("diff")
    });
}

pub fn wait_chat(editor: &Editor) {
    editor.wait_for("the chat alone", |it| {
        it.lua(
            "return {vim.bo.filetype, #vim.api.nvim_list_wins()}",
            &json!([]),
        ) == json!(["chat", 1])
    });
}

pub fn file(editor: &Editor) -> String {
    std::fs::read_to_string(editor.dir().join("f.txt")).unwrap()
}

pub fn wait_message(editor: &Editor, part: &str) {
    editor.wait_screen(part, |rows| rows.concat().contains(part));
}

#[test]
fn a_dropped_hunk_is_not_applied_and_w_approves_the_rest() {
    let (_provider, editor) = reviewing();
    editor.keys("]cdih");
    editor.keys(":w<CR>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    assert_eq!(file(&editor), before().replace("line 2\n", "two\n"));
    assert!(editor.text().contains("hunk 2 of 2 (line 18): dropped"));
    wait_chat(&editor);
}

#[test]
fn zz_and_x_approve_an_unchanged_diff() {
    for keys in ["ZZ", ":x<CR>"] {
        let (_provider, editor) = reviewing();
        editor.keys(keys);
        wait_end(&editor, "Done.\n\n@You:\n\n");
        let after = before()
            .replace("line 2\n", "two\n")
            .replace("line 18\n", "eighteen\n");
        assert_eq!(file(&editor), after);
        wait_chat(&editor);
    }
}

#[test]
fn only_a_typed_write_in_the_window_approves() {
    let (_provider, editor) = reviewing();
    editor.keys("dih");
    editor.keys(":wa<CR>");
    wait_message(&editor, "Kept as a draft");
    let writes = [
        "vim.cmd.write()",
        "vim.cmd('normal! ix')",
        "vim.api.nvim_feedkeys(vim.keycode(':w<CR>'), 'nx', false)",
        "vim.cmd('normal ZZ')",
    ];
    for write in writes {
        editor.lua(write, &json!([]));
        editor.lua(
            "if vim.bo.filetype ~= 'diff' then vim.cmd('Flemma review') end",
            &json!([]),
        );
        wait_review(&editor);
    }
    assert_eq!(file(&editor), before());
    assert!(
        !editor
            .lua("return vim.fn.bufname('%')", &json!([]))
            .to_string()
            .contains("question")
    );
    let chat = "return table.concat(vim.fn.getbufline('question.chat', 1, '$'), '\\n')";
    assert!(
        editor
            .lua(chat, &json!([]))
            .to_string()
            .contains("status=pending")
    );
}

#[test]
fn q_decides_nothing_and_the_draft_is_there_again() {
    let (_provider, editor) = reviewing();
    editor.keys("dih");
    editor.keys(":q<CR>");
    wait_chat(&editor);
    assert!(editor.text().contains("status=pending"));
    editor.keys(":Flemma review<CR>");
    wait_review(&editor);
    let text = editor
        .lua(
            "return table.concat(vim.fn.getline(1, '$'), '\\n')",
            &json!([]),
        )
        .to_string();
    assert!(!text.contains("two") && text.contains("eighteen"), "{text}");
    editor.keys("u");
    let text = editor
        .lua(
            "return table.concat(vim.fn.getline(1, '$'), '\\n')",
            &json!([]),
        )
        .to_string();
    assert!(text.contains("+two"), "{text}");
    assert_eq!(file(&editor), before());
}

#[test]
fn an_emptied_review_asks_for_a_reason_and_rejects_the_call() {
    let (_provider, editor) = reviewing();
    editor.keys("ggdG");
    editor.keys(":w<CR>");
    wait_message(&editor, "Reason for rejecting");
    editor.keys("Keep the numbers.<CR>");
    wait_chat(&editor);
    editor.wait_text("Keep the numbers.");
    assert_eq!(file(&editor), before());
}

/// Lines of the review with a diagnostic, from 1.
fn problems(editor: &Editor) -> Vec<u64> {
    let code = "return vim.tbl_map(function(it) return it.lnum + 1 end, vim.diagnostic.get(0))";
    let lines = editor.lua(code, &json!([]));
    let lines = lines.as_array().into_iter().flatten();
    lines.filter_map(|it| it.as_u64()).collect()
}

#[test]
fn a_malformed_diff_shows_where_and_nothing_is_applied() {
    let (_provider, editor) = reviewing();
    editor.keys("/-line 2<CR>x");
    editor.keys(":w<CR>");
    editor.wait_for("a diagnostic", |it| problems(it).len() == 1);
    // The message is longer than a line of this window.
    wait_message(&editor, "(removed).");
    assert_eq!(file(&editor), before());
    editor.keys("u");
    editor.wait_for("no diagnostic", |it| problems(it).is_empty());
    editor.keys(":w<CR>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    assert!(file(&editor).contains("two\n") && file(&editor).contains("eighteen\n"));
}

#[test]
fn a_problem_stays_at_its_line_until_its_hunk_is_edited() {
    let (_provider, editor) = reviewing();
    // Both hunks lack the sign of a line.
    editor.keys("/-line 2<CR>x/-line 18<CR>x:w<CR>");
    editor.wait_for("both problems", |it| problems(it).len() == 2);
    let second = problems(&editor)[1];
    editor.keys("ggdih");
    wait_message(&editor, "The cursor is in no hunk");
    editor.keys("]cdih");
    editor.wait_for("one problem", |it| problems(it) == [second - 7]);
    editor.keys("u");
    editor.wait_for("the hunk", |it| problems(it) == [second]);
    editor.keys("/^line 18<CR>i-<Esc>");
    editor.wait_for("no problem", |it| problems(it).is_empty());
}

#[test]
fn a_write_to_another_file_saves_the_diff_and_approves_nothing() {
    let (_provider, editor) = reviewing();
    editor.keys("dih:w copy.diff<CR>");
    wait_message(&editor, "Nothing was approved");
    let copy = || std::fs::read_to_string(editor.dir().join("copy.diff")).unwrap();
    assert!(copy().contains("+eighteen\n") && !copy().contains("+two"));
    editor.keys("u:w copy.diff<CR>");
    wait_message(&editor, "E13: File exists");
    assert!(!copy().contains("+two"));
    editor.keys(":w! copy.diff<CR>");
    editor.wait_for("the copy", |_| copy().contains("+two"));
    assert_eq!(file(&editor), before());
}
