//! The `edit` tool: an edit applies at exactly one place or not at all.

use std::fs;

use serde_json::{Value, json};

use crate::fixture::{OneBuffer, TestFolder};

fn input(old: &str, new: &str) -> Value {
    json!({ "label": "test", "path": "a", "oldText": old, "newText": new })
}

#[tokio::test]
async fn one_piece_is_replaced_and_the_rest_keeps_its_bytes() {
    let place = TestFolder::new().with("a", "\u{feff}one\r\ntwo\r\nthree");

    let content = place.done("edit", input("one\ntwo\n", "1\n2\n")).await;

    assert_eq!(content, "Edited a at line 1.");
    assert_eq!(place.text("a"), "\u{feff}1\r\n2\r\nthree");
}

#[tokio::test]
async fn an_edit_that_does_not_apply_says_why_and_changes_nothing() {
    let place = TestFolder::new().with("a", "x = 1\ny = 2\nx = 1\n");

    for (old, new, reason) in [
        ("x = 1", "x = 3", "oldText is in 2 places of a: lines 1, 3."),
        ("y = 3", "y = 4", "The nearest text there is:\n\n2: y = 2"),
        ("y = 2", "y = 2", "oldText and newText are the same"),
        ("", "y", "oldText is empty"),
    ] {
        let problem = place.failed("edit", input(old, new)).await;
        assert!(problem.contains(reason), "{problem}");
    }

    assert_eq!(place.text("a"), "x = 1\ny = 2\nx = 1\n");
}

#[tokio::test]
async fn binary_files_are_not_edited() {
    let place = TestFolder::new();
    let problem = place.failed("edit", input("a", "b")).await;
    assert!(problem.ends_with("does not exist."), "{problem}");

    let place = TestFolder::new().with("a", b"caf\xe9\0");
    let problem = place.failed("edit", input("caf", "tea")).await;
    assert!(problem.contains("is a binary file"), "{problem}");
}

#[tokio::test]
async fn text_keeps_its_encoding_and_unencodable_characters_are_refused() {
    let place = TestFolder::new().with("a", b"caf\xe9\n");
    place.done("edit", input("caf\u{e9}", "th\u{e9}")).await;
    assert_eq!(fs::read(place.path("a")).unwrap(), b"th\xe9\n");
    let problem = place.failed("edit", input("th", "\u{20ac}")).await;
    assert!(
        problem.contains("is stored as Latin-1, which cannot hold \u{20ac}"),
        "{problem}"
    );
    assert_eq!(fs::read(place.path("a")).unwrap(), b"th\xe9\n");
    let place = TestFolder::new().with("a", b"\xff\xfea\0\r\0\n\0");
    place.done("edit", input("a", "b")).await;
    assert_eq!(fs::read(place.path("a")).unwrap(), b"\xff\xfeb\0\r\0\n\0");
}

#[tokio::test]
async fn parallel_edits_of_one_file_lose_nothing() {
    let lines: String = (0..20).map(|n| format!("<{n}>\n")).collect();
    let place = TestFolder::new().with("a", lines);

    let calls = (0..20).map(|n| place.done("edit", input(&format!("<{n}>"), &format!("({n})"))));
    futures::future::join_all(calls).await;

    let expected: String = (0..20).map(|n| format!("({n})\n")).collect();
    assert_eq!(place.text("a"), expected);
}

#[tokio::test]
async fn an_open_file_is_edited_in_the_editor_and_unsaved_text_stays_unsaved() {
    let mut place = TestFolder::new().with("a", "on disk\n");
    let buffer = OneBuffer::open(&place.path("a"), "in the editor\n", true);
    place.ctx.buffers = buffer.clone();

    let content = place.done("edit", input("in the", "in an")).await;

    assert!(content.contains("not on disk yet"), "{content}");
    assert_eq!(buffer.shown(), "in an editor\n");
    assert_eq!(place.text("a"), "on disk\n");
}
