//! A call that the user approves by hand works on the file that they saw, and no other.

use std::fs;
use std::io::{Read, Write};
use std::process::{ChildStderr, Stdio};

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::shell::Shell;
use crate::stage::*;

fn edit(old: &str, new: &str) -> Json {
    json!({"label": "testing", "path": "f.txt", "oldText": old, "newText": new})
}

fn write() -> Json {
    json!({"label": "testing", "path": "f.txt", "content": "new\n"})
}

/// No call is approved by a rule.
fn ask_always() -> Json {
    json!({"tools": {"auto_approve": []}})
}

/// The number of calls that are shown with their keys.
fn shown_calls(editor: &Editor) -> usize {
    let lines = editor.virtual_lines().into_iter();
    lines
        .filter(|it| it.text.starts_with("Enter: decide"))
        .count()
}

/// A chat beside `f.txt` with these calls, which are pending and shown.
#[track_caller]
fn shown(calls: Answer) -> (Provider, Editor) {
    let provider = Provider::anthropic([calls]);
    let setup = with_options(&provider, ask_always()).with("f.txt", "one\ntwo\n");
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    wait_cursor(&editor, "**Tool Result:** `t_1`");
    editor.wait_for("previews", |editor| {
        let waiting = editor.text().matches("status=pending").count();
        shown_calls(editor) == waiting
    });
    (provider, editor)
}

fn one_edit() -> Answer {
    Answer::new().tool_use("t_1", "edit", &edit("one", "1"))
}

#[track_caller]
fn on_disk(editor: &Editor) -> String {
    fs::read_to_string(editor.dir().join("f.txt")).unwrap()
}

#[test]
fn alt_enter_on_a_call_whose_file_changed_shows_it_again_and_the_next_one_runs_it() {
    let (_provider, editor) = shown(one_edit());
    fs::write(editor.dir().join("f.txt"), "one\nsomebody else's\n").unwrap();
    editor.keys("<M-CR>");
    let said = wait_message(&editor, "was not run, because since it was shown");
    assert!(said.contains("f.txt has changed"), "{said}");
    editor.wait_screen("that the call is shown again", |rows| {
        let sign = "**Tool Result:** `t_1` ● its file changed since you saw it";
        rows.iter().any(|row| row == sign)
    });
    at_rest(&editor);
    assert!(result(&editor, "t_1").contains("status=pending"));
    assert_eq!(on_disk(&editor), "one\nsomebody else's\n");
    press_until_done(&editor, "<M-CR>");
    assert_eq!(on_disk(&editor), "1\nsomebody else's\n");
}

/// Presses the keys until the call is decided, because they only count once a preview was visible for
/// some time.
#[track_caller]
fn press_until_done(editor: &Editor, keys: &str) {
    let refused = |editor: &Editor| editor.messages().matches("Nothing was done:").count();
    let waits = |editor: &Editor| result(editor, "t_1").contains("status=");
    while waits(editor) {
        let before = refused(editor);
        editor.keys(keys);
        editor.wait_for("what the key does", |editor| {
            !waits(editor) || refused(editor) > before
        });
    }
    editor.wait_text("@Assistant:\nDone.");
}

#[test]
fn a_second_alt_enter_before_the_change_is_shown_approves_nothing() {
    let (_provider, editor) = shown(one_edit());
    fs::write(editor.dir().join("f.txt"), "one\nsomebody else's\n").unwrap();
    editor.keys("<M-CR><M-CR><M-CR>");
    wait_message(&editor, "was not run, because since it was shown");
    at_rest(&editor);
    assert!(result(&editor, "t_1").contains("status=pending"));
    assert_eq!(on_disk(&editor), "one\nsomebody else's\n");
    press_until_done(&editor, "<M-CR>");
    assert_eq!(on_disk(&editor), "1\nsomebody else's\n");
}

#[test]
fn a_typed_approval_of_a_deleted_file_is_reset() {
    let (_provider, editor) = shown(Answer::new().tool_use("t_1", "write", &write()));
    fs::remove_file(editor.dir().join("f.txt")).unwrap();
    editor.keys(&format!("{APPROVE}<C-]>"));
    wait_message(&editor, "f.txt is gone, and would be made anew");
    editor.wait_for("the call waits again", |editor| {
        result(editor, "t_1").contains("status=pending")
    });
    assert!(!editor.dir().join("f.txt").exists());
    editor.keys(APPROVE);
    press_until_done(&editor, "<C-]>");
    assert_eq!(on_disk(&editor), "new\n");
}

#[test]
fn a_link_that_leads_elsewhere_asks_again() {
    let (_provider, editor) = shown(Answer::new().tool_use("t_1", "write", &write()));
    let dir = editor.dir();
    fs::write(dir.join("other.txt"), "one\ntwo\n").unwrap();
    fs::remove_file(dir.join("f.txt")).unwrap();
    std::os::unix::fs::symlink("other.txt", dir.join("f.txt")).unwrap();
    editor.keys("<M-CR>");
    wait_message(&editor, "was not run, because since it was shown");
    at_rest(&editor);
    assert_eq!(
        fs::read_to_string(dir.join("other.txt")).unwrap(),
        "one\ntwo\n"
    );
}

#[test]
fn typing_in_the_file_is_a_change_and_viewing_it_is_not() {
    let (_provider, editor) = shown(one_edit());
    editor.keys(":split f.txt<CR>:wincmd p<CR><M-CR>");
    editor.wait_text("@Assistant:\nDone.");
    assert_eq!(on_disk(&editor), "1\ntwo\n");

    let (_provider, editor) = shown(one_edit());
    editor.keys(":split f.txt<CR>Gomine<Esc>:wincmd p<CR><M-CR>");
    wait_message(&editor, "f.txt has changed");
    at_rest(&editor);
    assert!(result(&editor, "t_1").contains("status=pending"));
}

#[test]
fn calls_on_one_file_all_run_when_approved_in_turn() {
    let calls = one_edit().tool_use("t_2", "edit", &edit("two", "2"));
    let (_provider, editor) = shown(calls);
    editor.keys("<M-CR>");
    wait_cursor(&editor, "**Tool Result:** `t_2`");
    editor.keys("<M-CR>");
    editor.wait_text("@Assistant:\nDone.");
    assert_eq!(on_disk(&editor), "1\n2\n");
    assert!(!editor.messages().contains("was not run"));
}

#[test]
fn a_file_that_changes_before_its_approved_call_runs_is_left_alone() {
    let wait = command("until [ -e go ]; do sleep 0.02; done");
    let calls =
        Answer::new()
            .tool_use("t_1", "bash", &wait)
            .tool_use("t_2", "edit", &edit("one", "1"));
    let provider = Provider::anthropic([calls]);
    let mut options = ask_always();
    options["tools"]["max_concurrent"] = json!(1);
    let setup = with_options(&provider, options).with("f.txt", "one\ntwo\n");
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    editor.wait_for("previews", |editor| shown_calls(editor) == 2);
    editor.keys(&format!("gg{APPROVE}{APPROVE}<C-]>"));
    wait_event(&editor, "FlemmaToolStarted t_1");
    fs::write(editor.dir().join("f.txt"), "one, but another\n").unwrap();
    fs::write(editor.dir().join("go"), "").unwrap();
    editor.wait_text("@Assistant:\nDone.");
    let block = result(&editor, "t_2");
    assert!(
        block.starts_with("**Tool Result:** `t_2` (error)"),
        "{block}"
    );
    assert!(block.contains("not as the user saw it"), "{block}");
    assert_eq!(on_disk(&editor), "one, but another\n");
}

#[test]
fn the_command_line_asks_again_about_a_changed_file() {
    let provider = Provider::anthropic([one_edit()]);
    let shell = Shell::new(&provider);
    shell.configure("[tools]\nauto_approve = []\n");
    shell.write("f.txt", "one\ntwo\n");
    shell.write("question.chat", QUESTION);
    let mut command = shell.command(&["send", "question.chat"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let (mut answers, mut asked) = (child.stdin.take().unwrap(), child.stderr.take().unwrap());
    wait_asked(&mut asked);
    shell.write("f.txt", "one\nsomebody else's\n");
    answers.write_all(b"y\n").unwrap();
    let said = wait_asked(&mut asked);
    assert!(said.contains("because since it was shown"), "{said}");
    assert_eq!(shell.read("f.txt"), "one\nsomebody else's\n");
    answers.write_all(b"y\n").unwrap();
    std::io::copy(&mut asked, &mut std::io::sink()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(shell.read("f.txt"), "1\nsomebody else's\n");
}

/// Reads up to the next question, and returns the output before it.
#[track_caller]
fn wait_asked(stderr: &mut ChildStderr) -> String {
    let (mut printed, mut byte) = (Vec::new(), [0]);
    while !printed.ends_with(b"Continue? [y/N]: ") {
        let read = stderr.read(&mut byte).unwrap();
        let so_far = String::from_utf8_lossy(&printed);
        assert_eq!(read, 1, "it asks nothing: {so_far}");
        printed.push(byte[0]);
    }
    String::from_utf8_lossy(&printed).into_owned()
}
