//! A write happens whole or not at all.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::fixture::{Interferes, OneBuffer, TestFolder};

fn input(path: &str, content: &str) -> Value {
    json!({ "label": "test", "path": path, "content": content })
}

#[tokio::test]
async fn bytes_are_stored_exactly_and_parents_are_made() {
    let place = TestFolder::new();
    let text = "a\r\nb\n\0 no newline at the end";

    let content = place.done("write", input("new/deep/a", text)).await;

    assert_eq!(
        content,
        format!("Wrote {} bytes to new/deep/a.", text.len())
    );
    assert_eq!(place.text("new/deep/a"), text);
}

#[tokio::test]
async fn empty_content_makes_an_empty_file() {
    let place = TestFolder::new();

    assert_eq!(
        place.done("write", input("a", "")).await,
        "Wrote 0 bytes to a."
    );
    assert_eq!(place.text("a"), "");
}

#[tokio::test]
async fn the_mode_of_an_existing_file_is_kept() {
    let place = TestFolder::new().with("run.sh", "old");
    fs::set_permissions(place.path("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();

    place.done("write", input("run.sh", "new")).await;

    let mode = fs::metadata(place.path("run.sh"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(
        (place.text("run.sh").as_str(), mode & 0o7777),
        ("new", 0o755)
    );
}

#[tokio::test]
async fn a_new_file_gets_the_mode_that_the_user_gives_new_files() {
    let place = TestFolder::new().with("by-hand", "");

    place.done("write", input("by-tool", "")).await;

    let mode = |name| fs::metadata(place.path(name)).unwrap().permissions().mode();
    assert_eq!(mode("by-tool"), mode("by-hand"));
}

#[tokio::test]
async fn a_symbolic_link_stays_and_its_target_is_written() {
    let place = TestFolder::new().with("target", "old");
    symlink("target", place.path("link")).unwrap();
    symlink("not-there-yet", place.path("dangling")).unwrap();
    symlink("circle", place.path("circle")).unwrap();

    place.done("write", input("link", "new")).await;
    place.done("write", input("dangling", "made")).await;
    let problem = place.failed("write", input("circle", "x")).await;

    assert_eq!(
        fs::read_link(place.path("link")).unwrap().to_str(),
        Some("target")
    );
    assert_eq!(place.text("target"), "new");
    assert_eq!(place.text("not-there-yet"), "made");
    assert!(problem.ends_with("leads to itself."), "{problem}");
}

#[tokio::test]
async fn another_name_of_the_same_file_does_not_change() {
    let place = TestFolder::new().with("a", "old");
    fs::hard_link(place.path("a"), place.path("b")).unwrap();

    place.done("write", input("a", "new")).await;

    assert_eq!(
        (place.text("a").as_str(), place.text("b").as_str()),
        ("new", "old")
    );
}

#[tokio::test]
async fn a_failed_write_leaves_nothing_behind() {
    let place = TestFolder::new().with("file", "old");
    let too_long = format!("new/deep/{}", "n".repeat(300));

    for path in [too_long.as_str(), "file/below", "/proc/flemma/x"] {
        let problem = place.failed("write", input(path, "text")).await;
        assert!(problem.contains("cannot be written"), "{problem}");
    }

    assert_eq!(place.names(), ["file"]);
    assert_eq!(place.text("file"), "old");
}

#[tokio::test]
async fn a_directory_and_a_device_are_not_overwritten() {
    let place = TestFolder::new();
    fs::create_dir(place.path("dir")).unwrap();

    for path in ["dir", "/dev/null"] {
        let problem = place.failed("write", input(path, "text")).await;
        assert!(problem.contains(" is a d"), "{problem}");
    }
}

#[tokio::test]
async fn an_open_file_is_written_through_the_editor() {
    let mut place = TestFolder::new().with("a", "old");
    let buffer = OneBuffer::open(&place.path("a"), "old", false);
    place.ctx.files.buffers = buffer.clone();

    let content = place.done("write", input("a", "new")).await;

    assert_eq!(content, "Wrote 3 bytes to a.");
    assert_eq!(
        (buffer.shown().as_str(), place.text("a").as_str()),
        ("new", "new")
    );
}

#[tokio::test]
async fn what_changed_since_the_file_was_read_is_kept_or_the_call_fails() {
    let place = TestFolder::new().with("a", "one\ntwo\nthree\nfour\n");
    let read = json!({"label": "", "path": "a", "offset": null, "limit": null});
    let write = |content: &str| json!({"label": "", "path": "a", "content": content});
    let edit = json!({"label": "", "path": "a", "oldText": "ONE", "newText": "1"});

    place.done("read", read.clone()).await;
    fs::write(place.path("a"), "one\ntwo\nthree\n4\n").unwrap();
    let written = place.done("write", write("ONE\ntwo\nthree\nfour\n")).await;
    assert!(
        written.contains("a had changed since you read it"),
        "{written}"
    );
    assert_eq!(place.text("a"), "ONE\ntwo\nthree\n4\n");

    place.done("read", read).await;
    fs::write(place.path("a"), "ONE\n2\nthree\n4\n").unwrap();
    let problem = place.failed("write", write("ONE\nzwei\nthree\n4\n")).await;
    let reason = "a has changed since you read it, also where your text changes it (line 2";
    assert!(problem.starts_with(reason), "{problem}");
    assert_eq!(place.text("a"), "ONE\n2\nthree\n4\n");
    let edited = place.done("edit", edit).await;
    assert!(
        edited.ends_with("a has changed since you read it."),
        "{edited}"
    );
    assert_eq!(place.text("a"), "1\n2\nthree\n4\n");
}

#[tokio::test]
async fn own_changes_are_no_changes_since_the_file_was_read() {
    let place = TestFolder::new();
    let write = |content: &str| json!({"label": "", "path": "a", "content": content});
    let edit = json!({"label": "", "path": "a", "oldText": "one", "newText": "two"});
    place.done("write", write("one\n")).await;
    assert_eq!(
        place.done("edit", edit).await,
        "Applied the edit to a at line 1."
    );
    assert_eq!(
        place.done("write", write("three\n")).await,
        "Wrote 6 bytes to a."
    );
}

#[tokio::test]
async fn a_file_that_another_program_writes_meanwhile_stays() {
    let append = json!({ "path": "a", "content": "mine", "append": true });
    for (tool, input, is_there) in [
        ("write", input("a", "mine"), false),
        ("write", input("a", "mine"), true),
        ("write_file", append.clone(), false),
        ("write_file", append, true),
    ] {
        let mut place = TestFolder::new();
        if is_there {
            place = place.with("a", "old");
        }
        // The call looks the file up to plan the change, and again to store it.
        let other = Interferes::new(&place.path("a"), 2, &[(place.path("a"), "theirs")]);
        place.ctx.files.buffers = other.clone();

        let text = place.failed(tool, input).await;

        assert!(
            text.contains("by another program in the meantime"),
            "{text}"
        );
        assert!(other.has_written());
        assert_eq!(place.text("a"), "theirs");
    }
}
