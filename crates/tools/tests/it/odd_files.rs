//! Changes of paths that are not ordinary text files: they say what is there, and leave it as it is.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::fixture::TestFolder;

/// A call of each tool that changes files, on the same path.
fn calls(path: &str) -> [(&'static str, Value); 3] {
    let edit = json!({"label": "", "path": path, "oldText": "a", "newText": "b"});
    let write = json!({"label": "", "path": path, "content": "b\n"});
    let patch = format!("*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch\n");
    let patch = json!({"label": "", "input": patch});
    [("edit", edit), ("write", write), ("apply_patch", patch)]
}

#[tokio::test]
async fn folders_pipes_sockets_devices_and_loops_are_refused_at_once() {
    let place = TestFolder::new();
    fs::create_dir(place.path("dir")).unwrap();
    let pipe = place.path("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.path("socket")).unwrap();
    symlink("loop", place.path("loop")).unwrap();

    for path in ["dir", "pipe", "socket", "/dev/null", "loop"] {
        for (tool, input) in calls(path) {
            let problem = place.failed(tool, input).await;
            assert!(problem.contains(path), "{tool} {path}: {problem}");
        }
    }
    assert_eq!(place.names(), ["dir", "loop", "pipe", "socket"]);
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
}

#[tokio::test]
async fn a_file_that_is_gone_is_not_created_by_an_edit() {
    let place = TestFolder::new().with("a", "a\n");
    let old = json!({"label": "", "path": "a", "offset": null, "limit": null});
    place.done("read", old).await;
    fs::remove_file(place.path("a")).unwrap();
    for (tool, input) in calls("a") {
        if tool != "write" {
            let problem = place.failed(tool, input).await;
            assert!(problem.contains("does not exist"), "{tool}: {problem}");
        }
    }
    assert!(place.names().is_empty());
}

#[tokio::test]
async fn a_file_above_the_limit_and_a_binary_file_keep_their_bytes() {
    let place = TestFolder::new().with("binary", b"a\0\xff\xfe\n");
    let large = fs::File::create(place.path("large")).unwrap();
    large.set_len(64 * 1024 * 1024 + 1).unwrap();
    for path in ["large", "binary"] {
        for (tool, input) in calls(path) {
            if tool != "write" {
                let problem = place.failed(tool, input).await;
                assert!(problem.contains(path), "{tool} {path}: {problem}");
            }
        }
    }
    assert_eq!(fs::read(place.path("binary")).unwrap(), b"a\0\xff\xfe\n");
    let size = fs::metadata(place.path("large")).unwrap().len();
    assert_eq!(size, 64 * 1024 * 1024 + 1);
}

#[tokio::test]
async fn mixed_line_ends_and_a_missing_last_one_stay() {
    for (before, after) in [
        ("x\r\na\ny\r\n", "x\r\nb\ny\r\n"),
        ("x\na\r\ny\n", "x\nb\r\ny\n"),
        ("x\na", "x\nb"),
        ("x\r\na", "x\r\nb"),
        ("a", "b"),
    ] {
        for (tool, input) in calls("f") {
            if tool != "write" {
                let place = TestFolder::new().with("f", before);
                place.done(tool, input).await;
                assert_eq!(place.text("f"), after, "{tool} of {before:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_named_and_keeps_its_bytes() {
    if rustix::process::geteuid().is_root() {
        // Root can read every file.
        return;
    }
    let place = TestFolder::new().with("secret", "a\n");
    let mode = |mode| fs::set_permissions(place.path("secret"), Permissions::from_mode(mode));
    mode(0o000).unwrap();
    for (tool, input) in calls("secret") {
        if tool != "write" {
            let problem = place.failed(tool, input).await;
            assert!(problem.contains("secret"), "{tool}: {problem}");
            assert!(problem.contains("ermission denied"), "{tool}: {problem}");
        }
    }
    mode(0o600).unwrap();
    assert_eq!(place.text("secret"), "a\n");
    assert_eq!(place.names(), ["secret"]);
}
