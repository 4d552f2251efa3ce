//! Host programs that are missing, broken, or of another version: a chat remains a file
//! that can be edited and saved, and one message says what to do.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use harness::{Answer, Editor, Gate, Provider, Setup};
use rmpv::Value;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::processes::{self, signal};
use crate::stage::{QUESTION, setup, wait_end, wait_message};

/// Reads its input until Neovim closes it, and keeps its output open.
const READ: &str = "while read -r line; do :; done";

/// A folder with a program that replaces the host.
fn program(script: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (folder, path)
}

#[track_caller]
fn open_with(host: &Path) -> Editor {
    Setup::new().host(host).file("a.chat", QUESTION).start()
}

/// Checks what needs no host: typing, undo, and saving work without an error of the plugin.
#[track_caller]
fn assert_usable(editor: &Editor) {
    editor.keys("Gotyped<Esc>yypu");
    editor.command("write");
    assert_eq!(editor.text(), format!("{QUESTION}typed\n"));
    let file = fs::read_to_string(editor.dir().join("a.chat"));
    assert_eq!(file.unwrap(), format!("{QUESTION}typed\n"));
    let messages = editor.messages();
    assert!(!messages.contains("traceback"), "{messages}");
    assert!(!editor.mode().blocking);
}

/// The first frame of a host with another version of the protocol.
fn welcome(protocol: u64) -> Vec<u8> {
    let payload = Value::Map(vec![
        ("protocol".into(), protocol.into()),
        ("version".into(), "9.9".into()),
    ]);
    let code = r#"require("flemma.host").receive(...)"#;
    let arguments = Value::Array(vec!["welcome".into(), payload]);
    let parameters = Value::Array(vec![code.into(), arguments]);
    let frame = Value::Array(vec![2.into(), "nvim_exec_lua".into(), parameters]);
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, &frame).unwrap();
    bytes
}

#[test]
fn a_host_that_dies_at_once_is_started_four_times() {
    let (folder, host) = program("echo start >> \"${0%/*}/starts\"; exit 1");
    let editor = open_with(&host);
    let messages = wait_message(&editor, "stays off");
    let starts = || fs::read_to_string(folder.path().join("starts")).unwrap();
    assert_eq!(starts().lines().count(), 4);
    assert_eq!(messages.matches("stays off").count(), 1, "{messages}");
    assert!(messages.contains(":Flemma restart"), "{messages}");
    assert_usable(&editor);

    // A key repeats the message and starts nothing.
    editor.command("messages clear");
    editor.keys("<C-]>");
    wait_message(&editor, ":Flemma restart");
    assert_eq!(starts().lines().count(), 4);
}

#[test]
fn a_missing_host_is_reported_at_a_key_and_found_once_it_exists() {
    let folder = tempfile::tempdir().unwrap();
    let host = folder.path().join("flemma");
    let editor = open_with(&host);
    let messages = wait_message(&editor, "There is no host program at");
    assert!(messages.contains(&*host.to_string_lossy()), "{messages}");
    assert!(messages.contains(":Flemma install"), "{messages}");
    assert_usable(&editor);

    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_flemma"), &host).unwrap();
    editor.keys("<C-]>");
    wait_message(&editor, "API_KEY");
}

#[test]
fn a_host_that_is_not_executable_is_reported_as_missing() {
    let (_folder, host) = program("true");
    fs::set_permissions(&host, fs::Permissions::from_mode(0o644)).unwrap();
    let editor = open_with(&host);
    wait_message(&editor, "nothing can be sent");
    assert_usable(&editor);
}

#[test]
fn a_chat_saved_before_the_host_is_ready_is_listed() {
    let flemma = env!("CARGO_BIN_EXE_flemma");
    let (folder, host) = program(&format!(
        "until [ -e \"${{0%/*}}/ready\" ]; do sleep 0.01; done; exec '{flemma}' \"$@\""
    ));
    for keys in [
        ":write<CR>:edit b.txt<CR>",
        // What is typed after the save is not in the file, which is a chat nevertheless.
        ":write<CR>Gomore<Esc>:edit b.txt<CR>",
        // The chat is closed before the host is ready.
        ":set nohidden<CR>:write<CR>:edit b.txt<CR>",
        ":write<CR>:edit b.txt<CR>:bwipeout a.chat<CR>",
        // It has another name by then.
        ":write<CR>:file other.chat<CR>:edit b.txt<CR>",
    ] {
        let _ = fs::remove_file(folder.path().join("ready"));
        let setup = Setup::new().host(&host);
        let editor = setup.file("talks/a.chat", QUESTION).start();
        editor.keys(keys);
        editor.wait_for("the other file", |editor| editor.text() == "\n");

        fs::write(folder.path().join("ready"), "").unwrap();
        editor.keys(":Flemma chats<CR>1<CR>");
        editor.wait_for("the chat", |editor| editor.text().starts_with(QUESTION));
    }
}

#[test]
fn a_host_of_another_version_is_stopped_and_both_versions_are_named() {
    let (folder, host) = program(&format!("cat \"${{0%/*}}/frame\"; {READ}"));
    fs::write(folder.path().join("frame"), welcome(99)).unwrap();
    let editor = open_with(&host);
    let messages = wait_message(&editor, "The host speaks protocol 99, the plugin 2");
    assert!(messages.contains(":Flemma install"), "{messages}");
    editor.wait_for("the wrong host is gone", |editor| {
        editor.host_pid().is_none()
    });
    assert_usable(&editor);
}

#[test]
fn a_host_that_sends_garbage_does_no_harm() {
    for nonsense in [
        &format!("echo hello world; {READ}"),
        "head -c 100000 /dev/urandom",
    ] {
        let (_folder, host) = program(nonsense);
        let editor = open_with(&host);
        wait_message(&editor, "host");
        assert_usable(&editor);
    }
}

#[test]
fn a_replaced_host_finishes_and_the_next_start_uses_the_new_one() {
    let gate = Gate::new();
    let provider = Provider::anthropic([
        Answer::says("One, ").gate(&gate).text("two."),
        Answer::says("Three."),
    ]);
    let (folder, other) = program(&format!("cat \"${{0%/*}}/frame\"; {READ}"));
    fs::write(folder.path().join("frame"), welcome(99)).unwrap();
    let installed = folder.path().join("flemma");
    let install = |program: &Path| {
        let _ = fs::remove_file(&installed);
        symlink(program, &installed).unwrap();
    };
    install(Path::new(env!("CARGO_BIN_EXE_flemma")));
    let setup = setup(&provider).host(&installed);
    let editor = setup.file("a.chat", QUESTION).start();
    editor.keys("<C-]>");
    editor.wait_text("One,");
    let old = processes::host(&editor);

    install(&other);
    gate.open();
    wait_end(&editor, "@Assistant:\nOne, two.\n\n@You:\n\n");
    assert_eq!(processes::host(&editor).worker, old.worker);
    let answered = editor.text();
    signal(old.worker, Signal::KILL);
    wait_message(&editor, "The host speaks protocol 99, the plugin 2");
    assert_eq!(editor.text(), answered);

    install(Path::new(env!("CARGO_BIN_EXE_flemma")));
    editor.keys("GiAnd?<Esc>:Flemma restart<CR><C-]>");
    wait_end(&editor, "And?\n\n@Assistant:\nThree.\n\n@You:\n\n");
    assert_eq!(provider.requests().len(), 2);
}
