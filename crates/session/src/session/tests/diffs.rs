//! Diffs of calls that change files: below their previews, and beside their results.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::script::{Answer, calls};
use super::{QUESTION, Record, Stage};
use crate::protocol::DiffItem;

/// A folder with a file of three lines.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f.txt"), "one\ntwo\nthree\n").unwrap();
    folder
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_string_lossy().into_owned()
}

fn edit(folder: &TempDir, old: &str, new: &str) -> Value {
    json!({"path": path(folder, "f.txt"), "oldText": old, "newText": new})
}

fn write(folder: &TempDir, name: &str, content: &str) -> Value {
    json!({"path": path(folder, name), "content": content})
}

/// A chat in which these calls wait.
fn waiting(answer: Answer) -> Stage {
    // The sandbox has a /tmp of its own.
    let options = json!({"tools": {"auto_approve": []}, "sandbox": {"enabled": false}});
    let stage = Stage::with(options, QUESTION).answers([answer]);
    stage.press("advance");
    stage
}

/// The diff of a call: a line for each file, and its rows.
fn diff(record: &Record, id: &str) -> String {
    let marks = record.marks();
    let mark = marks.iter().find(|it| it.id == id);
    let files = mark.iter().flat_map(|it| it.diff.iter());
    files.map(file).collect()
}

fn file(item: &DiffItem) -> String {
    let name = item.name.rsplit('/').next().unwrap_or_default();
    let mut text = format!("{name} {} {}\n", item.counts, item.labels);
    for row in &item.rows {
        let number = row.number;
        text.push_str(&format!("{number} {} {}\n", row.kind, row.text));
    }
    text
}

fn wait_diff(stage: &Stage, id: &str, expected: &str) {
    stage.wait(expected, |it| diff(it, id) == expected);
}

#[test]
fn a_pending_edit_shows_the_lines_that_it_changes() {
    let folder = folder();
    let stage = waiting(calls([("t_1", "edit", edit(&folder, "two", "2\n2.5"))]));
    wait_diff(
        &stage,
        "t_1",
        "f.txt +2 −1 \n1 context one\n2 delete two\n2 add 2\n3 add 2.5\n4 context three\n",
    );
    // It is beside the text, not in it.
    assert!(!stage.text().contains("context"));
}

#[test]
fn files_that_are_made_or_replaced_are_labeled() {
    let folder = folder();
    fs::write(folder.path().join("b.png"), b"\x89PNG\0\xff").unwrap();
    let stage = waiting(calls([
        ("t_1", "write", write(&folder, "new.txt", "a\n")),
        (
            "t_2",
            "write",
            write(&folder, "f.txt", "one\r\n2\r\nthree\r\n"),
        ),
        ("t_3", "write", write(&folder, "b.png", "a\n")),
        ("t_4", "write", write(&folder, "f.txt", "one\ntwo\nthree\n")),
    ]));
    wait_diff(&stage, "t_1", "new.txt +1 −0 \n1 add a\n");
    stage.wait("line endings", |it| {
        diff(it, "t_2").starts_with("f.txt +3 −3 line endings LF → CRLF\n")
    });
    wait_diff(
        &stage,
        "t_3",
        "b.png +1 −0 replaces a binary file\n1 add a\n",
    );
    wait_diff(&stage, "t_4", "f.txt +0 −0 no change\n");
}

#[test]
fn a_call_that_would_fail_says_why() {
    let folder = folder();
    let stage = waiting(calls([("t_1", "edit", edit(&folder, "four", "4"))]));
    stage.wait("the reason", |it| diff(it, "t_1").contains("Would fail: "));
}

#[test]
fn a_diff_is_made_again_when_a_call_or_another_program_changed_the_file() {
    let folder = folder();
    let stage = waiting(calls([
        ("t_1", "edit", edit(&folder, "one", "1")),
        ("t_2", "edit", edit(&folder, "two", "2")),
    ]));
    stage.wait("both", |it| {
        !diff(it, "t_1").is_empty() && diff(it, "t_2").contains("\n1 context one\n")
    });
    stage.press_at("resolve", "**Tool Result:** `t_1`");
    stage.wait("the first change", |it| {
        diff(it, "t_2").contains("\n1 context 1\n")
    });
    fs::write(folder.path().join("f.txt"), "1\ntwo\n3\n").unwrap();
    stage.press_at("resolve", "**Tool Result:** `t_2`");
    wait_diff(
        &stage,
        "t_2",
        "f.txt +1 −1 \n1 context 1\n2 delete two\n2 add 2\n3 context 3\n",
    );
}

#[test]
fn a_result_says_how_many_lines_its_call_changed() {
    let folder = folder();
    let answer = calls([
        ("t_1", "edit", edit(&folder, "two", "2\n2.5")),
        ("t_2", "write", write(&folder, "f.txt", "1\n")),
        ("t_3", "edit", edit(&folder, "four", "4")),
    ]);
    let options = json!({
        "tools": {"require_approval": false, "max_concurrent": 1},
        "sandbox": {"enabled": false},
    });
    let stage = Stage::with(options, QUESTION).answers([answer]);
    stage.press("advance");
    let labels = |record: &Record| {
        let marks = record.marks();
        // The marks of the calls have no label.
        let labels = marks.iter().filter_map(|it| it.label.clone());
        labels.collect::<Vec<_>>()
    };
    stage.wait("the results", |it| labels(it).len() == 3);
    let labels = labels(&stage.record());
    assert!(labels[0].starts_with("edit · +2 −1 · "), "{labels:?}");
    assert!(labels[1].starts_with("write · +1 −4 · "), "{labels:?}");
    assert!(
        labels[2].starts_with("edit · ") && !labels[2].contains('+'),
        "{labels:?}"
    );
}
