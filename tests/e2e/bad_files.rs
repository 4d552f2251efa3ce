//! Files that are not well-formed chats, opened in a real Neovim: no error, nothing runs
//! or is sent, and `:write` keeps every byte.

use std::fs;
use std::path::{Path, PathBuf};

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::processes::{commands_in, host};
use crate::stage::{QUESTION, open, wait_end, with_options};
use crate::traces::settle;

#[allow(dead_code)]
#[path = "../../crates/chat/tests/it/case.rs"]
mod case;

/// The inputs of all cases of `crates/chat`, with the names of their files.
fn inputs() -> Vec<(String, Vec<u8>)> {
    let folder = harness::repository().join("crates/chat/tests/cases");
    let groups = fs::read_dir(folder).unwrap().flatten();
    let files = groups.filter(|it| it.path().is_dir()).flat_map(|group| {
        let files = fs::read_dir(group.path()).unwrap().flatten();
        files.map(|it| it.path()).collect::<Vec<PathBuf>>()
    });
    let read = |path: PathBuf| {
        let case = case::Case::read(&fs::read_to_string(&path).unwrap()).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut input = case.given("input")?;
        // Neovim itself loses an incomplete character at the end of a file.
        if std::str::from_utf8(&input).is_err_and(|it| it.error_len().is_none()) {
            input.push(b'\n');
        }
        Some((name, input))
    };
    files.filter_map(read).collect()
}

/// Opens a file, waits until the host has read it, saves it, and compares the bytes.
#[track_caller]
fn check_kept(editor: &Editor, path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    editor.request(
        "nvim_cmd",
        serde_json::json!([{"cmd": "edit", "args": [path], "bang": true}, {}]),
    );
    settle(editor);
    editor.command("silent write!");
    let kept = fs::read(path).unwrap();
    assert!(kept == bytes, "{}: {}", path.display(), kept.escape_ascii());
}

/// An editor that adds no final newline to files without one.
#[track_caller]
fn exact_editor(provider: &Provider) -> Editor {
    let editor = open(provider, QUESTION);
    editor.command("set nofixendofline");
    host(&editor);
    editor
}

#[track_caller]
fn assert_nothing_happened(editor: &Editor, provider: &Provider) {
    assert!(provider.requests().is_empty());
    assert_eq!(commands_in(&editor.dir()), Vec::<u32>::new());
    let state = editor.lua(
        "return require('flemma.host').state().restarts",
        &serde_json::json!([]),
    );
    assert_eq!(state, serde_json::json!(0), "the host died");
}

#[test]
fn opening_a_bad_file_changes_and_runs_nothing() {
    let provider = Provider::anthropic([Answer::says("Yes.")]);
    let editor = exact_editor(&provider);
    let inputs = inputs();
    assert!(inputs.len() > 100);
    for (name, bytes) in &inputs {
        let path = editor.dir().join(format!("{name}.chat"));
        check_kept(&editor, &path, bytes);
        editor.command("bwipeout");
    }
    assert_nothing_happened(&editor, &provider);
}

#[test]
fn bytes_of_any_kind_are_kept() {
    let provider = Provider::anthropic([Answer::says("Yes.")]);
    let editor = exact_editor(&provider);
    let every: Vec<u8> = (0..=255).cycle().take(4096).collect();
    let long = format!("@You:\n{}\n@Assistant:\nYes.\n", "long ".repeat(200_000));
    let files: [(&str, &[u8]); 9] = [
        ("every byte", &every),
        ("nothing", b""),
        ("a line end", b"\n"),
        ("zeros", &[0; 5000]),
        ("one long line", long.as_bytes()),
        ("crlf", b"@You:\r\nhi\r\n\r\n@Assistant:\r\nyes\r\n"),
        ("some crlf", b"@You:\r\nhi\n\r\n@Assistant:\nyes\r\n"),
        ("a byte order mark", b"\xef\xbb\xbf@You:\nhi\n"),
        ("no last line end", b"@You:\nhi"),
    ];
    for (name, bytes) in files {
        check_kept(&editor, &editor.dir().join(format!("{name}.chat")), bytes);
    }
    assert_nothing_happened(&editor, &provider);
}

#[test]
fn a_line_of_one_megabyte_can_be_edited_and_sent() {
    let provider = Provider::anthropic([Answer::says("Long.")]);
    let line = "0123456789".repeat(100_000);
    let editor = open(&provider, &format!("@You:\n{line}\n"));
    editor.keys("2GAtyped<Esc><C-]>");
    wait_end(&editor, "Long.\n\n@You:\n\n");
    let request = &provider.requests()[0];
    let sent = String::from_utf8_lossy(&request.raw);
    assert!(sent.contains(&format!("{line}typed")));
}

#[test]
fn an_invalid_byte_is_sent_as_a_replacement_and_stays_in_the_file() {
    let provider = Provider::anthropic([Answer::says("Yes.")]);
    let editor = open(&provider, QUESTION);
    let path = editor.dir().join("odd.chat");
    fs::write(&path, b"@You:\na\xff\xfeb \0 c\n").unwrap();
    editor.command("edit ++enc=utf-8 ++bad=keep odd.chat");
    editor.keys("<C-]>");
    wait_end(&editor, "Yes.\n\n@You:\n\n");
    let sent = &provider.requests()[0].body["messages"][0]["content"];
    assert!(sent.to_string().contains("a\u{fffd}\u{fffd}b"), "{sent}");
    editor.command("write!");
    let file = fs::read(&path).unwrap();
    assert!(file.starts_with(b"@You:\na\xff\xfeb \0 c\n\n@Assistant:\nYes.\n"));
}

#[test]
fn line_endings_are_kept_and_not_sent() {
    // All lines with CRLF, which Neovim detects; and all lines but one, which it does not detect.
    for (last, format) in [("\r\n", "dos"), ("\n", "unix")] {
        let call = json!({"label": "sum", "expression": "6*7"});
        let provider = Provider::anthropic([
            Answer::new().tool_use("toolu_1", "calculator", &call),
            Answer::says("42.\nIs it?"),
        ]);
        let options = json!({"tools": {"require_approval": false}});
        let editor = with_options(&provider, options).start();
        let path = editor.dir().join("windows.chat");
        let before = format!("@You:\r\nWhat is\r\nit?\r\n\r\n```\r\ncode\r\n```{last}");
        fs::write(&path, &before).unwrap();
        editor.command("edit windows.chat");
        let ends = editor.lua("return vim.bo.fileformat", &json!([]));
        assert_eq!(ends, json!(format));
        editor.keys("<C-]>");
        wait_end(&editor, "42.\nIs it?\n\n@You:\n\n");
        editor.command("write");
        let after = String::from_utf8(fs::read(&path).unwrap()).unwrap();
        let after = after
            .strip_prefix(&before)
            .unwrap_or_else(|| panic!("{after:?}"));
        let crs = after.matches("\r\n").count();
        assert_eq!(
            crs,
            if format == "dos" {
                after.matches('\n').count()
            } else {
                0
            }
        );
        assert!(after.contains("**Tool Result:** `toolu_1`"), "{after}");
        for request in provider.requests() {
            assert!(!request.body["messages"].to_string().contains("\\r"));
        }
    }
}
