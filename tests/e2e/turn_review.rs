//! `:Flemma review turn` and `:Flemma undo FILE` in a real Neovim, and `flemma undo FILE` in a
//! shell: the files before, the keys, and the files after.

use std::fs;

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::shell::Shell;
use crate::stage::*;

/// Lines 1 to 9.
const BEFORE: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// A chat whose run edited `a.txt` in two places, and in which a command changed `b.txt`, made
/// `new.txt`, and removed `gone.txt`.
fn ran() -> (Provider, Editor) {
    let edits =
        json!([{"oldText": "1\n", "newText": "one\n"}, {"oldText": "9\n", "newText": "nine\n"}]);
    let script = "sed -i 's/5/five/' b.txt; echo new > new.txt; rm gone.txt";
    let provider = Provider::anthropic([
        Answer::new().tool_use(
            "t_1",
            "edit",
            &json!({"label": "", "path": "a.txt", "edits": edits}),
        ),
        Answer::new().tool_use("t_2", "bash", &command(script)),
        Answer::says("Done."),
    ]);
    let options = json!({"tools": {"require_approval": false}});
    let setup = with_options(&provider, options).with("question.chat", QUESTION);
    let setup = setup.with("a.txt", BEFORE).with("b.txt", BEFORE);
    let editor = setup.with("gone.txt", "gone\n").size(100, 40).start();
    editor.command("edit question.chat");
    editor.keys("<C-]>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    (provider, editor)
}

fn read(editor: &Editor, name: &str) -> String {
    fs::read_to_string(editor.dir().join(name)).unwrap_or_default()
}

/// Opens a review with these keys.
fn open(editor: &Editor, keys: &str) {
    editor.keys(keys);
    editor.wait_screen("the review", |rows| {
        rows.iter()
            .any(|row| row.contains(":w reverts what you removed"))
    });
}

/// Chooses the first item of each list that is shown from now on.
fn choose_first(editor: &Editor) {
    let code = "vim.ui.select = function(items, _, done) done(items[1], 1) end";
    editor.lua(code, &json!([]));
}

#[test]
fn removed_hunks_of_an_edit_and_of_a_command_are_reverted_and_undo_takes_it_back() {
    let (_provider, editor) = ran();
    // Enter in the prompt, below the line about the run.
    editor.wait_screen("the line", |rows| {
        rows.concat().contains("changed 1 file +2 −2 · Enter")
    });
    open(&editor, "<CR>");
    editor.keys("gg/^+one<CR>dih/^+five<CR>dih:w<CR>");
    wait_message(
        &editor,
        "Reverted what you removed in 2 files: a.txt, b.txt.",
    );
    let half = BEFORE.replace("9\n", "nine\n");
    assert_eq!(
        [read(&editor, "a.txt"), read(&editor, "b.txt")],
        [&half, BEFORE]
    );
    editor.wait_for("the chat", |it| it.text().contains("@You:"));
    choose_first(&editor);
    editor.keys(":Flemma undo<CR>");
    wait_message(&editor, "Restored 2 files: a.txt, b.txt.");
    assert!(read(&editor, "a.txt").starts_with("one\n"));
    assert!(read(&editor, "b.txt").contains("five"));
    editor.keys(":Flemma redo<CR>");
    editor.wait_for("the redo", |it| read(it, "a.txt") == half);
}

#[test]
fn a_new_file_goes_and_a_deleted_one_comes_back() {
    let (_provider, editor) = ran();
    open(&editor, ":Flemma review turn<CR>");
    editor.keys("gg/^+new<CR>dih/gone<CR>dif:wq<CR>");
    wait_message(
        &editor,
        "Reverted what you removed in 2 files: gone.txt, new.txt.",
    );
    assert_eq!(read(&editor, "gone.txt"), "gone\n");
    assert!(!editor.dir().join("new.txt").exists());
    assert!(read(&editor, "a.txt").starts_with("one\n"));
    // What is left can be reverted, too.
    open(&editor, ":Flemma review turn<CR>");
    editor.keys("ggdG:w<CR>");
    wait_message(&editor, "in 2 files: a.txt, b.txt.");
    assert_eq!(
        [read(&editor, "a.txt"), read(&editor, "b.txt")],
        [BEFORE, BEFORE]
    );
    editor.keys(":Flemma review turn<CR>");
    wait_message(&editor, "There is nothing to review");
}

#[test]
fn what_is_not_saved_is_merged_as_one_undo_step_and_a_conflict_leaves_its_file() {
    let (_provider, editor) = ran();
    editor.keys(":edit b.txt<CR>5Gccmine<Esc>:write<CR>:edit a.txt<CR>5Gccfive<Esc>");
    editor.keys(":buffer question.chat<CR>");
    open(&editor, ":Flemma review turn<CR>");
    editor.keys("gg/^+one<CR>dih/^+five<CR>dih:w<CR>");
    wait_message(&editor, "Reverted what you removed in 1 file: a.txt.");
    wait_message(
        &editor,
        "Left as it is: b.txt: the same lines have changed since.",
    );
    assert_eq!(read(&editor, "b.txt"), BEFORE.replace("5", "mine"));
    editor.keys(":buffer a.txt<CR>");
    let state = "return { table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), ' '), vim.bo.modified }";
    assert_eq!(
        editor.lua(state, &json!([])),
        json!(["1 2 3 4 five 6 7 8 nine", true])
    );
    assert_eq!(
        read(&editor, "a.txt"),
        BEFORE.replace("1\n", "one\n").replace("9\n", "nine\n")
    );
    editor.keys("u");
    assert_eq!(
        editor.lua(state, &json!([])),
        json!(["one 2 3 4 five 6 7 8 nine", true])
    );
}

#[test]
fn a_new_file_with_unsaved_text_stays_and_an_open_deleted_one_comes_back() {
    let (_provider, editor) = ran();
    editor.keys(":edit new.txt<CR>omine<Esc>:buffer question.chat<CR>");
    open(&editor, ":Flemma review turn<CR>");
    editor.keys("ggdG:w<CR>");
    wait_message(&editor, "in 3 files: a.txt, b.txt, gone.txt.");
    wait_message(&editor, "Left as it is: new.txt: ");
    assert_eq!(read(&editor, "new.txt"), "new\n");
    assert_eq!(read(&editor, "gone.txt"), "gone\n");
    editor.keys(":buffer new.txt<CR>");
    let lines = "return vim.api.nvim_buf_get_lines(0, 0, -1, false)";
    assert_eq!(editor.lua(lines, &json!([])), json!(["new", "mine"]));
}

#[test]
fn only_a_typed_write_reverts_and_a_draft_is_kept() {
    for (setup, keys) in [
        (
            "autocmd TextChanged * ++nested silent! write",
            "gg/^+one<CR>dih",
        ),
        ("nnoremap <F2> :w<CR>", "gg/^+one<CR>dih<F2>"),
        ("", "gg/^+one<CR>dih:wall<CR>"),
    ] {
        let (_provider, editor) = ran();
        open(&editor, ":Flemma review turn<CR>");
        editor.command(setup);
        editor.keys(keys);
        wait_message(&editor, "Kept as a draft; type :w in its window to revert");
        assert!(
            read(&editor, "a.txt").starts_with("one\n"),
            "{setup} {keys}"
        );
        editor.keys(":q<CR>");
        open(&editor, ":Flemma review turn<CR>");
        editor.keys(":w<CR>");
        wait_message(&editor, "Reverted what you removed in 1 file: a.txt.");
        assert!(read(&editor, "a.txt").starts_with("1\n"), "{setup} {keys}");
    }
}

#[test]
fn a_diff_that_cannot_be_applied_is_shown_again_and_an_unchanged_one_reverts_nothing() {
    let (_provider, editor) = ran();
    open(&editor, ":Flemma review turn<CR>");
    editor.keys("gg/^-1$<CR>x:w<CR>");
    wait_message(&editor, "Nothing was applied. Line");
    assert!(read(&editor, "a.txt").starts_with("one\n"));
    editor.keys("u:w<CR>");
    wait_message(
        &editor,
        "Nothing was removed from the review, so no file was changed.",
    );
    assert!(read(&editor, "a.txt").starts_with("one\n"));
}

#[test]
fn a_file_can_be_reviewed_and_restored_alone_also_after_a_restart() {
    let (_provider, editor) = ran();
    editor.keys(":write<CR>:Flemma restart<CR>");
    open(&editor, ":Flemma review turn b.txt<CR>");
    let text = editor.text();
    assert!(text.contains("+five") && !text.contains("+one"), "{text}");
    editor.keys(":q<CR>");
    choose_first(&editor);
    editor.keys(":Flemma undo b.txt<CR>");
    wait_message(
        &editor,
        "Restored 1 file: b.txt. :Flemma redo reverts that.",
    );
    assert_eq!(read(&editor, "b.txt"), BEFORE);
    assert_eq!(read(&editor, "new.txt"), "new\n");
    // The rest of the call.
    editor.keys(":Flemma undo<CR>");
    wait_message(&editor, "Restored 2 files: gone.txt, new.txt.");
    editor.keys(":Flemma undo b.txt<CR>");
    wait_message(&editor, "There is nothing to undo in b.txt");
    editor.keys(":Flemma undo ./a.txt<CR>");
    wait_message(&editor, "Restored 1 file: a.txt.");
    assert_eq!(read(&editor, "a.txt"), BEFORE);
}

#[test]
fn a_shell_restores_one_file_of_several() {
    let shell = Shell::offline();
    for name in ["a.txt", "b.txt"] {
        shell.write(name, BEFORE);
    }
    let call = r#"{"label": "", "command": "echo new > a.txt; echo new > b.txt"}"#;
    assert_eq!(shell.run(&["tool", "bash", call, "--yes"]).code, Some(0));
    let ran = shell.run(&["undo", "b.txt", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("Restored 1 file: b.txt."), "{}", ran.err);
    assert_eq!(
        [shell.read("a.txt"), shell.read("b.txt")],
        ["new\n", BEFORE]
    );
    assert_eq!(shell.run(&["undo", "b.txt", "--yes"]).code, Some(4));
    for other in [["undo", "b.txt", "--redo"], ["undo", "b.txt", "--turns=1"]] {
        let ran = shell.run(&other);
        assert!(
            ran.code == Some(1) && ran.err.contains("--redo and --turns do not apply"),
            "{ran:?}"
        );
    }
    assert_eq!(shell.run(&["undo", "missing.chat", "a.txt"]).code, Some(1));
    assert_eq!(shell.run(&["undo", "--yes"]).code, Some(0));
    assert_eq!(shell.read("a.txt"), BEFORE);
}
