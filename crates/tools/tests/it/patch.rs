//! A patch applies to all of its files or to none.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tools::{FileState, Registry, ShownFiles};

use crate::fixture::{Interferes, OneBuffer, TestFolder};

fn input(sections: &str) -> Value {
    let patch = format!("*** Begin Patch\n{sections}*** End Patch\n");
    json!({ "label": "test", "input": patch })
}

#[tokio::test]
async fn files_are_created_changed_moved_and_deleted_together() {
    let place = TestFolder::new()
        .with("a", "one\ntwo\n")
        .with("b", "b\n")
        .with("c", "x\r\ny\r\n");
    fs::set_permissions(place.path("c"), fs::Permissions::from_mode(0o755)).unwrap();
    let sections = "*** Add File: new/d\n+d\n*** Update File: a\n@@\n-two\n+2\n*** Delete File: b\n\
                    *** Update File: c\n*** Move to: moved/e\n@@\n x\n-y\n+z\n";

    let content = place.done("apply_patch", input(sections)).await;

    assert!(content.starts_with(
        "Applied the patch:\nnew/d: created.\na: changed at line 2.\nb: deleted.\nc: moved to"
    ));
    assert_eq!(place.text("new/d"), "d\n");
    assert_eq!(place.text("a"), "one\n2\n");
    assert_eq!(place.text("moved/e"), "x\r\nz\r\n");
    assert!(!place.path("b").exists() && !place.path("c").exists());
    let mode = fs::metadata(place.path("moved/e")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o755);
}

#[tokio::test]
async fn a_patch_that_does_not_apply_to_all_files_changes_none() {
    let place = TestFolder::new().with("a", "one\n").with("b", "x\nx\n");
    let first = "*** Add File: new\n+n\n*** Update File: a\n@@\n-one\n+1\n";
    for (then, reason) in [
        (
            "*** Update File: b\n@@\n-x\n+y\n",
            "The old text of hunk 1 is in 2 places of b: lines 1, 2.",
        ),
        (
            "*** Update File: b\n@@\n-z\n+y\n",
            "The old text of hunk 1 is not in b",
        ),
        ("*** Update File: missing\n@@\n-z\n+y\n", "does not exist"),
        ("*** Delete File: missing\n", "does not exist"),
        ("*** Add File: b\n+y\n", "is there already"),
        (
            "*** Update File: b\n*** Move to: a\n",
            "The patch does several things",
        ),
        ("*** Delete File: a\n", "The patch does several things to a"),
        ("*** Update File: b\n", "The patch has no lines for b"),
        ("*** Delete File: .\n", "is a directory"),
    ] {
        let problem = place
            .failed("apply_patch", input(&format!("{first}{then}")))
            .await;
        assert!(problem.contains(reason), "{problem}");
    }
    assert_eq!(
        (place.text("a"), place.text("b")),
        ("one\n".into(), "x\nx\n".into())
    );
    assert_eq!(place.names(), ["a", "b"]);
}

#[tokio::test]
async fn a_failure_in_the_middle_reverts_what_was_done() {
    let mut place = TestFolder::new()
        .with("a", "one\n")
        .with("b", "two\n")
        .with("c", "three\n");
    fs::set_permissions(place.path("a"), fs::Permissions::from_mode(0o750)).unwrap();
    // The user saw another text of the last file.
    let registry = Registry::builtin();
    let sections = "*** Add File: new\n+n\n*** Update File: b\n*** Move to: moved\n@@\n-two\n+2\n*** Delete File: a\n\
                    *** Delete File: c\n";
    let tool = registry.get("apply_patch").unwrap();
    let mut states = Vec::new();
    for path in tool.changes(&input(sections), &place.ctx.files.cwd) {
        states.push(FileState::of(&path, place.ctx.files.buffers.clone()).await);
    }
    assert_eq!(states.len(), 5);
    place.ctx.files.shown = Some(ShownFiles {
        states,
        changes: Default::default(),
    });
    fs::write(place.path("c"), "changed\n").unwrap();

    let problem = place.failed("apply_patch", input(sections)).await;

    assert!(problem.contains("has changed"), "{problem}");
    assert!(
        problem.ends_with("The changes before it were reverted."),
        "{problem}"
    );
    assert_eq!(place.names(), ["a", "b", "c"]);
    let texts = ["a", "b", "c"].map(|name| place.text(name));
    assert_eq!(texts, ["one\n", "two\n", "changed\n"]);
    let mode = fs::metadata(place.path("a")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o750);
}

#[tokio::test]
async fn links_and_unsaved_text_are_not_deleted() {
    let mut place = TestFolder::new().with("a", "one\n").with("b", "two\n");
    symlink("a", place.path("link")).unwrap();
    let problem = place
        .failed("apply_patch", input("*** Delete File: link\n"))
        .await;
    assert!(problem.contains("is a symbolic link"), "{problem}");
    place.ctx.files.buffers = OneBuffer::open(&place.path("b"), "unsaved\n", true);
    let problem = place
        .failed("apply_patch", input("*** Delete File: b\n"))
        .await;
    assert!(
        problem.contains("has unsaved changes in the editor"),
        "{problem}"
    );
    assert_eq!(
        (place.text("a"), place.text("b")),
        ("one\n".into(), "two\n".into())
    );
}

#[tokio::test]
async fn every_file_that_a_patch_names_is_one_that_the_call_changes() {
    let place = TestFolder::new().with("a", "one\ntwo\n");
    let tool = Registry::builtin().get("apply_patch").unwrap();
    let sections = "*** Update File: a\r\n@@\n-one\n+1\n*** Update File: a\n@@\n-two\n+2\n*** Add File: d/new\n+x\n";
    let call = input(sections);
    let named = tool.changes(&call, Path::new("/p"));
    assert_eq!(named, [Path::new("/p/a"), Path::new("/p/d/new")]);

    let proposal = tool.propose(&call, &place.ctx).await.unwrap().unwrap();
    let after = proposal.files.iter().map(|it| it.after.as_deref());
    assert_eq!(after.collect::<Vec<_>>(), [Some("1\n2\n"), Some("x\n")]);
    assert!(proposal.files[1].is_new() && !place.path("d").exists());
    // The user keeps the first and drops the second.
    let mut place = place;
    let mut reviewed = proposal;
    reviewed.files[1].after = None;
    place.ctx.files.reviewed = Some(Arc::new(reviewed));
    place.done("apply_patch", call).await;
    assert_eq!(place.text("a"), "1\n2\n");
    assert!(!place.path("d").exists());
}

#[tokio::test]
async fn a_file_that_another_program_creates_meanwhile_stays() {
    let moved = "*** Update File: a\n*** Move to: new\n@@\n-one\n+1\n";
    for (sections, looked_up) in [("*** Add File: new\n+mine\n", "new"), (moved, "a")] {
        let mut place = TestFolder::new().with("a", "one\n");
        // The call looks the file up to plan its change, and again to store it.
        let theirs = (place.path("new"), "theirs");
        let other = Interferes::new(&place.path(looked_up), 2, &[theirs]);
        place.ctx.files.buffers = other.clone();

        let text = place.failed("apply_patch", input(sections)).await;

        assert!(other.has_written(), "{sections}");
        assert_eq!(place.text("new"), "theirs", "{text}");
        assert_eq!(place.text("a"), "one\n", "{text}");
    }
}

#[tokio::test]
async fn a_file_that_took_the_place_of_a_deleted_one_stays_when_the_patch_is_reverted() {
    let mut place = TestFolder::new().with("a", "one\n").with("b", "two\n");
    let theirs = [(place.path("a"), "theirs"), (place.path("b"), "changed")];
    let other = Interferes::new(&place.path("b"), 2, &theirs);
    place.ctx.files.buffers = other.clone();
    let sections = "*** Delete File: a\n*** Delete File: b\n";

    let text = place.failed("apply_patch", input(sections)).await;

    assert!(other.has_written());
    assert!(text.contains("could not be reverted"), "{text}");
    assert_eq!(place.text("a"), "theirs");
}
