//! The `read` tool.

use std::process::Command;

use serde_json::{Value, json};

use crate::fixture::{OneBuffer, TestFolder};

fn all_of(path: &str) -> Value {
    json!({ "label": "test", "path": path, "offset": null, "limit": null })
}

fn part_of(path: &str, offset: f64, limit: f64) -> Value {
    json!({ "label": "test", "path": path, "offset": offset, "limit": limit })
}

async fn check(content: impl AsRef<[u8]>, expected: &str) {
    let place = TestFolder::new().with("a", content);
    assert_eq!(place.done("read", all_of("a")).await, expected);
}

#[tokio::test]
async fn a_small_file_is_its_text() {
    check("one\n\ttwo\n\nthree", "one\n\ttwo\n\nthree").await;
    check("a\r\nb\r\n", "a\r\nb\r").await;
    check("\u{feff}a\n", "\u{feff}a").await;
    check("", "(empty file)").await;
    check("\n", "(1 blank line)").await;
}

#[tokio::test]
async fn a_part_names_the_next_offset() {
    let place = TestFolder::new().with("a", "1\n2\n3\n4\n5\n");

    let middle = place.done("read", part_of("a", 2.0, 2.0)).await;
    let end = place.done("read", part_of("a", 4.0, 9.0)).await;
    let strange = place.done("read", part_of("a", -7.0, 0.5)).await;

    assert_eq!(middle, "2\n3\n\n[2 more lines. Continue with offset=4.]");
    assert_eq!(end, "4\n5");
    assert_eq!(strange, "1\n\n[4 more lines. Continue with offset=2.]");
}

#[tokio::test]
async fn a_long_file_is_cut_after_2000_lines() {
    let text: String = (1..=3000).map(|n| format!("{n}\n")).collect();
    let place = TestFolder::new().with("a", text);

    let content = place.done("read", all_of("a")).await;

    let (kept, notice) = content.split_once("\n\n").unwrap();
    assert!(kept.ends_with("\n2000"));
    assert_eq!(
        notice,
        "[Showing lines 1-2000 of 3000. Continue with offset=2001.]"
    );
}

#[tokio::test]
async fn an_offset_past_the_end_is_an_error_with_the_total() {
    let place = TestFolder::new().with("a", "1\n2\n");

    let problem = place.failed("read", part_of("a", 3.0, 1.0)).await;

    assert_eq!(
        problem,
        "Offset 3 is beyond the end of a, which has 2 lines."
    );
}

#[tokio::test]
async fn a_line_that_is_too_long_comes_with_a_command() {
    let place = TestFolder::new().with("a", "x".repeat(60_000));

    let content = place.done("read", all_of("a")).await;

    assert!(
        content.starts_with("[Line 1 is 58.6 KB, over the 50.0 KB limit."),
        "{content}"
    );
}

#[tokio::test]
async fn invalid_utf_8_is_reported() {
    let place = TestFolder::new()
        .with("binary", b"\x7fELF\0\0")
        .with("latin", b"caf\xe9\n")
        .with("mostly", b"caf\xc3\xa9 \xff\n")
        .with("wide", b"\xff\xfea\0\n\0b\0")
        .with("mac", "a\rb\rc");

    let problem = place.failed("read", all_of("binary")).await;
    let latin = place.done("read", all_of("latin")).await;
    let mostly = place.done("read", all_of("mostly")).await;
    let wide = place.done("read", all_of("wide")).await;
    let mac = place.done("read", all_of("mac")).await;

    assert!(problem.contains("is a binary file of 6 B"), "{problem}");
    let notice = "[The file is not UTF-8 and is shown as Latin-1.]";
    assert_eq!(latin, format!("caf\u{e9}\n\n{notice}"));
    let notice = "[Some bytes are not UTF-8 and are shown as \u{fffd}.]";
    assert_eq!(mostly, format!("caf\u{e9} \u{fffd}\n\n{notice}"));
    assert_eq!(wide, "\u{feff}a\nb");
    assert_eq!(mac, "a\nb\nc");
}

#[tokio::test]
async fn a_file_that_is_too_large_is_refused_at_once() {
    let place = TestFolder::new();
    let file = std::fs::File::create(place.path("large")).unwrap();
    file.set_len(64 * 1024 * 1024 + 1).unwrap();
    let old = json!({"label": "", "path": "large", "oldText": "a", "newText": "b"});
    for (tool, input) in [
        ("read", all_of("large")),
        ("edit", old),
        (
            "grep",
            json!({"label": "", "pattern": "x", "path": "large", "glob": null, "limit": null}),
        ),
    ] {
        let problem = place.failed(tool, input).await;
        assert!(problem.contains("over the limit of 64.0 MB"), "{problem}");
    }
}

#[tokio::test]
async fn special_files_are_refused_at_once() {
    let place = TestFolder::new();
    std::fs::create_dir(place.path("dir")).unwrap();
    let made = Command::new("mkfifo")
        .arg(place.path("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(place.path("socket")).unwrap();

    for (path, reason) in [
        ("dir", "is a directory; use bash with ls to list it."),
        ("pipe", "is a named pipe, not a file."),
        ("socket", "is a socket, not a file."),
        ("/dev/zero", "is a device, not a file."),
        ("missing", "does not exist."),
        ("", "Nothing was done."),
        ("a\0b", "Nothing was done."),
    ] {
        let problem = place.failed("read", all_of(path)).await;
        assert!(problem.ends_with(reason), "{path}: {problem}");
    }
}

#[tokio::test]
async fn names_are_taken_literally() {
    let name = "`touch made` $(touch made) *\n é";
    let place = TestFolder::new().with(name, "text");

    assert_eq!(place.done("read", all_of(name)).await, "text");
    assert_eq!(place.names(), [name]);
}

#[tokio::test]
async fn unsaved_text_is_what_the_model_reads() {
    let mut place = TestFolder::new().with("a", "on disk\n");
    place.ctx.files.buffers = OneBuffer::open(&place.path("a"), "in the editor\n", true);

    assert_eq!(place.done("read", all_of("a")).await, "in the editor");
}
