//! The built-in tools on real files: on disk, and in open buffers with unsaved changes.

use std::fs;

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;
use crate::traces::settle;

fn edit(path: &str, old: &str, new: &str) -> Json {
    json!({"label": "testing", "path": path, "oldText": old, "newText": new})
}

fn write(path: &str, content: &str) -> Json {
    json!({"label": "testing", "path": path, "content": content})
}

/// Types `before` in the window of a chat beside `f.txt`, and runs an approved call.
#[track_caller]
fn run(tool: &str, input: &Json, before: &str) -> Editor {
    let provider = Provider::anthropic([Answer::new().tool_use("t_1", tool, input)]);
    let options = json!({"tools": {"require_approval": false}});
    let setup = with_options(&provider, options).with("f.txt", "one\ntwo\nthree\n");
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys(before);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nDone.");
    editor
}

/// The text of the only result.
#[track_caller]
fn output(editor: &Editor) -> String {
    let block = result(editor, "t_1");
    let lines: Vec<&str> = block.lines().collect();
    lines[3..lines.len() - 1].join("\n")
}

#[track_caller]
fn on_disk(editor: &Editor, name: &str) -> String {
    fs::read_to_string(editor.dir().join(name)).unwrap()
}

/// Opens `f.txt` and types a line without saving it.
const UNSAVED: &str = ":edit f.txt<CR>Gomine<Esc>:buffer 1<CR>";

#[test]
fn a_file_is_edited_on_disk() {
    let editor = run("edit", &edit("f.txt", "two", "2"), "");
    assert_eq!(on_disk(&editor, "f.txt"), "one\n2\nthree\n");
}

#[test]
fn an_open_file_is_edited_in_its_buffer_and_saved() {
    let editor = run(
        "edit",
        &edit("f.txt", "two", "2"),
        ":edit f.txt<CR>:buffer 1<CR>",
    );
    assert_eq!(on_disk(&editor, "f.txt"), "one\n2\nthree\n");
    editor.command("buffer f.txt");
    assert_eq!(editor.text(), "one\n2\nthree\n");
    assert_eq!(
        editor.lua("return vim.bo.modified", &json!([])),
        json!(false)
    );
}

/// Runs the calls one after another, each in its own answer, after the keys `open`.
#[track_caller]
fn run_all(calls: &[(&str, Json)], open: &str) -> Editor {
    let answer = |(number, (tool, input)): (usize, &(&str, Json))| {
        Answer::new().tool_use(&format!("t_{}", number + 1), tool, input)
    };
    let provider = Provider::anthropic(calls.iter().enumerate().map(answer));
    let options = json!({"tools": {"require_approval": false}});
    let setup = with_options(&provider, options).with("f.txt", "one\ntwo\nthree\n");
    let editor = setup.file("question.chat", QUESTION).start();
    editor.command("set noautoread");
    editor.keys(open);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nDone.");
    editor
}

#[test]
fn the_next_call_sees_what_a_command_did_to_an_open_file() {
    let calls = [
        ("bash", command("sed -i s/two/2/ f.txt")),
        ("edit", edit("f.txt", "2", "two again")),
        ("read", file("f.txt")),
    ];
    let editor = run_all(&calls, ":edit f.txt<CR>:buffer 1<CR>");
    assert_eq!(on_disk(&editor, "f.txt"), "one\ntwo again\nthree\n");
    assert!(result(&editor, "t_3").contains("one\ntwo again\nthree\n"));
    editor.command("buffer f.txt");
    assert_eq!(editor.text(), "one\ntwo again\nthree\n");
}

#[test]
fn an_unsaved_buffer_is_not_saved_over_what_a_command_wrote() {
    let calls = [
        ("bash", command("echo theirs > f.txt")),
        ("edit", edit("f.txt", "two", "2")),
        ("bash", command("cat f.txt")),
    ];
    let editor = run_all(&calls, UNSAVED);
    assert_eq!(on_disk(&editor, "f.txt"), "theirs\n");
    let said = result(&editor, "t_2");
    assert!(said.contains("not on disk yet"), "{said}");
    assert!(said.contains("another program changed it"), "{said}");
    // Doesn't enter the buffer: Neovim would ask which text to keep.
    let code = "return vim.api.nvim_buf_get_lines(vim.fn.bufnr('f.txt'), 0, -1, false)";
    let lines = editor.lua(code, &json!([]));
    assert_eq!(lines, json!(["one", "2", "three", "mine"]));
}

#[test]
fn an_edit_keeps_unsaved_changes_and_is_one_undo_step() {
    let editor = run("edit", &edit("f.txt", "one\ntwo", "1\n2\n2.5"), UNSAVED);
    assert_eq!(on_disk(&editor, "f.txt"), "one\ntwo\nthree\n");
    editor.command("buffer f.txt");
    assert_eq!(editor.text(), "1\n2\n2.5\nthree\nmine\n");
    assert_eq!(
        editor.lua("return vim.bo.modified", &json!([])),
        json!(true)
    );
    editor.keys("u");
    assert_eq!(editor.text(), "one\ntwo\nthree\nmine\n");
    editor.keys("u");
    assert_eq!(editor.text(), "one\ntwo\nthree\n");
}

#[test]
fn a_write_updates_the_open_buffer() {
    let editor = run("write", &write("f.txt", "new\n"), UNSAVED);
    assert_eq!(on_disk(&editor, "f.txt"), "one\ntwo\nthree\n");
    editor.command("buffer f.txt");
    assert_eq!(editor.text(), "new\n");
    editor.keys("u");
    assert_eq!(editor.text(), "one\ntwo\nthree\nmine\n");
}

#[test]
fn a_read_sees_what_the_user_has_not_saved() {
    let editor = run("read", &file("f.txt"), UNSAVED);
    assert_eq!(output(&editor), "one\ntwo\nthree\nmine");
}

#[test]
fn a_write_creates_folders_and_keeps_the_text() {
    let editor = run("write", &write("new/deep/g.txt", "é\r\n\n@You:\n```"), "");
    assert_eq!(on_disk(&editor, "new/deep/g.txt"), "é\r\n\n@You:\n```");
}

#[test]
fn an_edit_without_exactly_one_match_changes_nothing() {
    let editor = run("edit", &edit("f.txt", "twoo", "2"), "");
    let said = output(&editor);
    assert!(said.contains("two"), "{said}");
    assert!(result(&editor, "t_1").starts_with("**Tool Result:** `t_1` (error)"));
    assert_eq!(on_disk(&editor, "f.txt"), "one\ntwo\nthree\n");

    let editor = run("edit", &edit("f.txt", "o", "0"), "");
    assert!(result(&editor, "t_1").starts_with("**Tool Result:** `t_1` (error)"));
    assert_eq!(on_disk(&editor, "f.txt"), "one\ntwo\nthree\n");
}

#[test]
fn a_partial_read_says_where_to_continue() {
    let input = json!({"label": "", "path": "f.txt", "offset": 2, "limit": 1});
    let editor = run("read", &input, "");
    let said = output(&editor);
    assert!(
        said.starts_with("two\n") && said.contains("offset=3"),
        "{said}"
    );
}

#[test]
fn the_model_gets_a_tools_error_unchanged() {
    let call = Answer::new().tool_use("t_1", "read", &file("missing.txt"));
    let provider = Provider::anthropic([call]);
    let editor = ask_with(&provider, json!({}));
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nDone.");
    let said = output(&editor);
    assert!(said.contains("missing.txt"), "{said}");
    let sent = &provider.requests()[1].body["messages"][2]["content"][0];
    assert_eq!(sent["content"], said);
    assert_eq!(sent["is_error"], true);
}

#[test]
fn a_failed_command_is_no_error_and_reports_its_code() {
    let text = "echo out; echo err >&2; read line; exit 3";
    let editor = run("bash", &command(text), "");
    assert_eq!(
        result(&editor, "t_1"),
        "**Tool Result:** `t_1`\n\n```\nout\nerr\n\nCommand exited with code 3\n```"
    );
}

#[test]
fn a_command_that_takes_too_long_is_stopped_and_its_output_kept() {
    let input = json!({"label": "", "command": "echo begun; sleep 60", "timeout": 1});
    let editor = run("bash", &input, "");
    let block = result(&editor, "t_1");
    assert!(
        block.starts_with("**Tool Result:** `t_1` (error)\n\n```\nbegun\n"),
        "{block}"
    );
    assert!(block.contains("timed out after 1 seconds"), "{block}");
}

#[test]
fn long_output_keeps_its_end_and_is_saved_whole() {
    let editor = run("bash", &command("seq 3000"), "");
    let said = output(&editor);
    assert!(said.starts_with("1001\n"), "{}", &said[..40]);
    let notice = said.lines().last().unwrap();
    let path = notice
        .split("Full output: ")
        .nth(1)
        .unwrap()
        .trim_end_matches(']');
    assert!(
        notice.starts_with("[Showing lines 1001-3000 of 3000"),
        "{notice}"
    );
    let whole = fs::read_to_string(path).unwrap();
    assert_eq!(
        (whole.lines().count(), whole.lines().next()),
        (3000, Some("1"))
    );
}

#[test]
fn output_with_fences_gets_a_longer_fence() {
    let editor = run("bash", &command("printf '````\\n@You:\\n````'"), "");
    assert_eq!(
        result(&editor, "t_1").lines().nth(2),
        Some("`````"),
        "{}",
        editor.text()
    );
    assert!(editor.text().contains("`````\n````\n@You:\n````\n`````\n"));
}

#[test]
fn paths_are_relative_to_the_chats_folder() {
    let calls = Answer::new()
        .tool_use("t_1", "bash", &command("pwd"))
        .tool_use("t_2", "read", &file("near.txt"));
    let provider = Provider::anthropic([calls]);
    let options = json!({"tools": {"require_approval": false}});
    let setup = with_options(&provider, options).with("sub/near.txt", "near\n");
    let editor = setup.file("sub/question.chat", QUESTION).start();
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nDone.");
    assert!(
        output(&editor).ends_with("/work/sub"),
        "{}",
        output(&editor)
    );
    assert!(result(&editor, "t_2").contains("\nnear\n"));
}

#[test]
fn the_next_call_works_after_one_that_failed() {
    let calls = Answer::new()
        .tool_use("t_1", "read", &file("missing.txt"))
        .tool_use("t_2", "calculator", &json!({"expression": "1 /"}))
        .tool_use(
            "t_3",
            "calculator",
            &json!({"expression": "2 ^ 10 + sqrt(16)"}),
        )
        .tool_use(
            "t_4",
            "calculator_async",
            &json!({"expression": "6 * 7", "delay": 1}),
        );
    let provider = Provider::anthropic([calls]);
    let editor = ask_with(&provider, json!({"tools": {"require_approval": false}}));
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nDone.");
    assert!(result(&editor, "t_2").starts_with("**Tool Result:** `t_2` (error)"));
    assert!(result(&editor, "t_3").contains("\n1028\n"));
    assert!(result(&editor, "t_4").contains("\n42\n"));
}

#[test]
fn a_write_does_not_follow_a_link_made_after_it_was_approved() {
    let input = json!({"label": "", "path": "d/post-checkout", "content": "#!/bin/sh\n"});
    let calls = Answer::new()
        .tool_use("t_1", "bash", &command("rmdir d && ln -s .git/hooks d"))
        .tool_use("t_2", "write", &input);
    let provider = Provider::anthropic([calls]);
    let options = json!({"tools": {"require_approval": false, "max_concurrent": 1}});
    let setup = with_options(&provider, options).with(".git/hooks/sample", "");
    let editor = setup.file("question.chat", QUESTION).start();
    fs::create_dir(editor.dir().join("d")).unwrap();
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nDone.");
    let said = result(&editor, "t_2");
    assert!(said.contains("when the call was approved"), "{said}");
    assert!(!editor.dir().join(".git/hooks/post-checkout").exists());
}

#[test]
fn the_next_command_runs_in_the_new_working_directory() {
    let calls = Answer::new().tool_use("t_1", "bash", &command("pwd"));
    let provider = Provider::anthropic([calls]);
    let options = json!({"tools": {"require_approval": false, "bash": {"cwd": "$CWD"}}});
    let setup = with_options(&provider, options).with("sub/f.txt", "");
    let editor = setup.file("question.chat", QUESTION).start();
    // The host knows the chat and its present directory.
    settle(&editor);
    editor.command("cd sub");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nDone.");
    let said = output(&editor);
    assert!(said.ends_with("/work/sub"), "{said}");
}

#[test]
fn commands_run_in_the_folder_that_the_options_name() {
    for (cwd, folder) in [
        ("$FLEMMA_BUFFER_PATH", "/work/sub"),
        ("$FLEMMA_BUFFER_PATH/deep", "/work/sub/deep"),
        ("$CWD", "/work"),
        ("sub/deep", "/work/sub/deep"),
    ] {
        let calls = Answer::new().tool_use("t_1", "bash", &command("pwd"));
        let provider = Provider::anthropic([calls]);
        let options = json!({"tools": {"require_approval": false, "bash": {"cwd": cwd}}});
        let setup = with_options(&provider, options).with("sub/deep/f.txt", "");
        let editor = setup.file("sub/question.chat", QUESTION).start();
        editor.keys("<C-]>");
        editor.wait_text("@Assistant:\nDone.");
        assert!(
            output(&editor).ends_with(folder),
            "{cwd}: {}",
            output(&editor)
        );
    }
}
