//! `:Flemma undo` in a real Neovim, and `flemma undo` in a shell.

use std::fs;

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::shell::Shell;
use crate::stage::*;

const BEFORE: &str = "1\n2\n3\n4\n5\n";

/// Has the user choose this item of each list that is shown from now on.
pub fn choose(editor: &Editor, item: usize) {
    let code = "local item = ...
      vim.ui.select = function(items, _, done) done(items[item], item) end";
    editor.lua(code, &json!([item]));
}

fn write(text: &str) -> Answer {
    let input = json!({"label": "", "path": "a.txt", "content": text});
    Answer::new().tool_use("t_1", "write", &input)
}

#[test]
fn an_undo_changes_an_open_file_as_one_step_and_keeps_what_is_not_saved() {
    let provider = Provider::anthropic([write("ONE\n2\n3\n4\n5\n"), Answer::says("Done.")]);
    let setup = setup(&provider).with("question.chat", QUESTION);
    let editor = setup.file("a.txt", BEFORE).start();
    editor.command("edit a.txt");
    editor.command("edit question.chat");
    editor.keys("<C-]>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    editor.command("buffer a.txt");
    editor.keys("Gccfive<Esc>");
    editor.command("buffer question.chat");
    choose(&editor, 1);
    editor.command("Flemma undo");
    wait_message(&editor, "Restored 1 file");
    editor.command("buffer a.txt");
    let state = "return { vim.api.nvim_buf_get_lines(0, 0, -1, false), vim.bo.modified }";
    let merged = json!([["1", "2", "3", "4", "five"], true]);
    assert_eq!(editor.lua(state, &json!([])), merged);
    assert_eq!(
        fs::read_to_string(editor.dir().join("a.txt")).unwrap(),
        "ONE\n2\n3\n4\n5\n"
    );
    editor.keys("u");
    let typed = json!([["ONE", "2", "3", "4", "five"], true]);
    assert_eq!(editor.lua(state, &json!([])), typed);
}

#[test]
fn a_shell_lists_the_files_and_asks_before_it_restores_them() {
    let shell = Shell::offline();
    shell.write("a.txt", BEFORE);
    let call = r#"{"label": "", "path": "a.txt", "content": "new\n"}"#;
    assert_eq!(shell.run(&["tool", "write", call, "--yes"]).code, Some(0));
    assert_eq!(shell.read("a.txt"), "new\n");

    let ran = shell.run(&["undo"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("restore  a.txt  +5 −1\n"), "{}", ran.err);
    assert_eq!(shell.read("a.txt"), "new\n");

    let ran = shell.run_with(&["undo"], "y\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.err.contains("`flemma undo --redo` reverts that"),
        "{}",
        ran.err
    );
    assert_eq!(shell.read("a.txt"), BEFORE);
    assert_eq!(shell.run(&["undo", "--redo", "--yes"]).code, Some(0));
    assert_eq!(shell.read("a.txt"), "new\n");

    shell.write("a.txt", "mine\n");
    // It stays the call that an undo is about, because its file can still be overwritten.
    assert_eq!(shell.run(&["undo", "--yes"]).code, Some(4));
    assert_eq!(shell.read("a.txt"), "mine\n");
    let ran = shell.run(&["undo", "--yes", "--overwrite"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(shell.read("a.txt"), BEFORE);
    assert_eq!(shell.run(&["undo", "missing.chat"]).code, Some(1));
}

#[test]
fn a_call_whose_files_all_changed_since_can_be_skipped() {
    let provider = Provider::anthropic([
        Answer::new().tool_use("t_1", "bash", &command("echo b > b.txt")),
        write("ONE\n"),
        Answer::says("Done."),
    ]);
    let options = json!({"tools": {"require_approval": false}});
    let setup = with_options(&provider, options).with("question.chat", QUESTION);
    let editor = setup.with("a.txt", BEFORE).size(80, 24).start();
    let read = |name: &str| fs::read_to_string(editor.dir().join(name)).unwrap_or_default();
    editor.command("edit question.chat");
    editor.keys("<C-]>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    fs::write(editor.dir().join("a.txt"), "mine\n").unwrap();
    assert_eq!([read("a.txt"), read("b.txt")], ["mine\n", "b\n"]);

    editor.keys(":Flemma undo<CR>");
    editor.wait_screen("the list", |rows| {
        let has = |text: &str| rows.iter().any(|row| row == text);
        has("2: Leave 1 file unchanged, and go on to the call before")
            && has("4: keep     a.txt: the same lines have changed since")
    });
    editor.keys("2<CR>");
    editor.wait_screen("the call before", |rows| {
        rows.iter().any(|row| row == "3: remove   b.txt")
    });
    editor.keys("1<CR>");
    wait_message(&editor, "Restored 1 file: b.txt.");
    assert_eq!([read("a.txt"), read("b.txt")], ["mine\n", ""]);
}

#[test]
fn a_call_whose_new_file_has_unsaved_text_is_not_taken_for_undone() {
    let provider = Provider::anthropic([write("new\n"), Answer::says("Done.")]);
    let editor = setup(&provider).file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    editor.keys(":edit a.txt<CR>ccmine<Esc>:buffer question.chat<CR>");
    choose(&editor, 2);
    editor.lua(
        "local ask = vim.ui.select
       vim.ui.select = function(items, ...) listed = items; ask(items, ...) end",
        &json!([]),
    );
    editor.command("Flemma undo");
    let listed = "return listed or {}";
    editor.wait_for("the list", |it| it.lua(listed, &json!([])) != json!([]));
    let items = json!([
        "Leave 1 file unchanged, and go on to the call before",
        "Leave everything as it is",
        "keep     a.txt: it has changed since",
    ]);
    assert_eq!(editor.lua(listed, &json!([])), items);
    editor.keys(":buffer a.txt<CR>:edit!<CR>:buffer question.chat<CR>");
    choose(&editor, 1);
    editor.command("Flemma undo");
    wait_message(&editor, "Restored 1 file: a.txt.");
    assert!(!editor.dir().join("a.txt").exists());
}

#[test]
fn a_shell_skips_a_call_whose_files_all_changed_since() {
    let shell = Shell::offline();
    let call = |path: &str| format!(r#"{{"label": "", "path": "{path}", "content": "new\n"}}"#);
    for path in ["b.txt", "a.txt"] {
        let ran = shell.run(&["tool", "write", &call(path), "--yes"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    shell.write("a.txt", "mine\n");

    // Not without being asked to.
    let ran = shell.run(&["undo", "--yes"]);
    assert!(
        ran.err.contains("`--skip` goes on to the call before"),
        "{ran:?}"
    );
    let ran = shell.run_with(&["undo"], "n\n");
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let question = "Leave these files unchanged, and go on to the call before?";
    assert!(ran.err.contains(question), "{}", ran.err);
    assert_eq!(
        [shell.read("a.txt"), shell.read("b.txt")],
        ["mine\n", "new\n"]
    );

    let ran = shell.run_with(&["undo"], "y\ny\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("remove   b.txt"), "{}", ran.err);
    assert_eq!(shell.read("a.txt"), "mine\n");
    assert!(!shell.path("b.txt").exists());

    for _ in 0..2 {
        assert_eq!(shell.run(&["undo", "--redo", "--yes"]).code, Some(0));
    }
    assert_eq!(shell.read("b.txt"), "new\n");
    assert_eq!(shell.run(&["undo", "--skip", "--yes"]).code, Some(0));
    assert!(!shell.path("b.txt").exists());
    assert_eq!(shell.read("a.txt"), "mine\n");
}

#[test]
fn a_command_that_changed_ten_files_is_undone_except_what_the_user_saved_meanwhile() {
    let script = "touch begun; while [ ! -e go ]; do sleep 0.02; done; rm go begun
      for i in 0 1 2 3 4 5 6 7 8; do echo x > f$i; done; echo two >> a.txt";
    let provider = Provider::anthropic([
        Answer::new().tool_use("t_1", "bash", &command(script)),
        Answer::says("Done."),
    ]);
    let options = json!({"tools": {"require_approval": false}});
    let setup = with_options(&provider, options).with("question.chat", QUESTION);
    let editor = setup
        .file("a.txt", BEFORE)
        .file("mine.txt", "one\n")
        .start();
    let folder = editor.dir();
    editor.command("edit question.chat");
    editor.keys("<C-]>");
    editor.wait_for("the command", |_| folder.join("begun").exists());
    editor.command("edit mine.txt");
    editor.keys("ccmine<Esc>");
    editor.command("write");
    editor.command("edit question.chat");
    fs::write(folder.join("go"), "").unwrap();
    wait_message(&editor, "You saved mine.txt while a command ran");
    wait_end(&editor, "Done.\n\n@You:\n\n");

    choose(&editor, 1);
    editor.command("Flemma undo");
    wait_message(&editor, "Restored 10 files");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    assert_eq!(
        [read("a.txt"), read("f3"), read("mine.txt")],
        [BEFORE, "", "mine\n"]
    );
    editor.command("Flemma redo");
    wait_message(&editor, ":Flemma undo reverts that");
    assert_eq!([read("f3"), read("mine.txt")], ["x\n", "mine\n"]);

    // The chat is cut as one step, which `u` takes back.
    let before = editor.text();
    editor.command("Flemma rewind");
    editor.wait_for("the cut", |it| it.text().trim_end() == QUESTION.trim_end());
    assert_eq!(read("f3"), "");
    editor.keys("u");
    assert_eq!(editor.text(), before);
}

#[test]
fn the_diff_of_a_listed_file_is_shown_until_the_user_decides() {
    let provider = Provider::anthropic([write("ONE\n2\n3\n4\n5\n"), Answer::says("Done.")]);
    let setup = setup(&provider).with("a.txt", BEFORE).size(80, 24);
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    editor.keys(":Flemma undo<CR>");
    let shows = |text: &'static str| move |rows: &[String]| rows.iter().any(|row| row == text);
    editor.wait_screen("the list", shows("3: restore  a.txt  +1 −1"));
    editor.keys("3<CR>");
    // Beside the list, which is shown again.
    editor.wait_screen("the diff", |rows| {
        let found = ["-ONE", "+1", "1: Restore 1 file"].map(|it| rows.iter().any(|row| row == it));
        found == [true; 3]
    });
    editor.keys("1<CR>");
    wait_message(&editor, "Restored 1 file: a.txt.");
    let state = "return { vim.bo.filetype, #vim.api.nvim_list_wins() }";
    assert_eq!(editor.lua(state, &json!([])), json!(["chat", 1]));
    assert_eq!(
        fs::read_to_string(editor.dir().join("a.txt")).unwrap(),
        BEFORE
    );
    editor.command("Flemma undo");
    wait_message(&editor, "or all changes are undone");
}
