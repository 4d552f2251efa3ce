//! What a run changed without asking is shown when it is over.

use serde_json::{Value, json};

use super::script::{calls, says};
use super::{QUESTION, Stage};
use crate::protocol::MarkItem;

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "oldText": old, "newText": new})
}

fn options(review: &str) -> Value {
    json!({"tools": {"auto_approve": ["edit", "write"], "review": review}, "sandbox": {"enabled": false}})
}

fn line(stage: &Stage) -> Option<MarkItem> {
    let marks = stage.record().marks();
    marks.into_iter().find(|it| it.id == "flemma:changes")
}

/// A run that edits a file twice and makes another one.
fn run(review: &str) -> Stage {
    let stage = Stage::beside(&[("a", b"1\n2\n3\n")], options(review), QUESTION);
    stage.answers([
        calls([
            ("t_1", "edit", edit("a", "1\n", "one\n")),
            ("t_2", "write", json!({"path": "b", "content": "x\ny\n"})),
        ]),
        calls([("t_3", "edit", edit("a", "one\n", "uno\n"))]),
        says("Done."),
    ])
}

#[test]
fn one_line_says_what_a_run_changed() {
    let stage = run("after");
    stage.press("advance").wait_text("Done.");
    stage.wait("the line", |it| {
        it.marks().iter().any(|it| it.id == "flemma:changes")
    });
    let shown = line(&stage).unwrap();
    assert_eq!(shown.preview.as_deref(), Some("changed 2 files +3 −1"));
    let names: Vec<_> = shown
        .diff
        .iter()
        .map(|it| (&*it.name, &*it.counts))
        .collect();
    assert_eq!(names, [("a", "+1 −1"), ("b", "+2 −0")]);
    // Above the prompt.
    let text = stage.text();
    let above: Vec<&str> = text.lines().take(shown.line + 2).collect();
    assert_eq!(above.last(), Some(&"@You:"));
}

#[test]
fn the_line_is_gone_when_the_user_goes_on() {
    let stage = run("after");
    stage.press("advance").wait_text("Done.");
    stage.wait("the line", |it| {
        it.marks().iter().any(|it| it.id == "flemma:changes")
    });
    stage.key("undo");
    stage.wait("no line", |it| {
        it.marks().iter().all(|it| it.id != "flemma:changes")
    });
}

#[test]
fn long_diffs_are_not_opened_unasked() {
    let content = "line\n".repeat(61);
    let stage = Stage::beside(&[], options("after"), QUESTION).answers([
        calls([("t_1", "write", json!({"path": "b", "content": content}))]),
        says("Done."),
    ]);
    stage.press("advance").wait_text("Done.");
    stage.wait("the line", |it| {
        it.marks().iter().any(|it| it.id == "flemma:changes")
    });
    let shown = line(&stage).unwrap();
    assert_eq!(shown.preview.as_deref(), Some("changed 1 file +61 −0"));
    assert!(shown.diff.is_empty());
}

#[test]
fn without_after_there_is_no_line() {
    let stage = run("none");
    stage.press("advance").wait_text("Done.");
    stage.wait_rest();
    assert_eq!(line(&stage), None);
}
