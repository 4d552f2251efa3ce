//! `:checkhealth flemma`: each part is tried, and each failure comes with a fix.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use harness::{Answer, Editor, Provider, Setup};
use serde_json::json;

use crate::stage::*;

/// Runs the checks and returns the report.
#[track_caller]
fn report(editor: &Editor) -> String {
    editor.keys(":checkhealth flemma<CR>");
    // The last heading.
    editor.wait_for("the report", |editor| editor.text().contains("Terminal ~"));
    editor.text()
}

/// Returns true if the report has a line of this level with all of these, and a fix below it.
fn has(report: &str, level: &str, parts: &[&str]) -> bool {
    let mut lines = report.lines();
    lines.any(|line| line.contains(level) && parts.iter().all(|part| line.contains(part)))
}

#[track_caller]
fn expect(report: &str, level: &str, parts: &[&str]) {
    assert!(has(report, level, parts), "{level} {parts:?}: {report}");
}

/// A host program that is this script, and its folder.
fn program(setup: Setup, script: &str) -> (Setup, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flemma");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (setup.host(path), folder)
}

#[test]
fn in_a_good_environment_every_part_is_proved() {
    let provider = Provider::anthropic([Answer::says("Hi.")]);
    let server = env!("CARGO_BIN_EXE_flemma");
    let options = json!({
        "sandbox": {"enabled": true},
        "mcp": {"servers": {"own": {"command": server, "args": ["mcp", "serve"]}}},
    });
    let setup = with_options(&provider, options);
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    at_rest(&editor);
    let report = report(&editor);
    assert!(report.contains("; tested with 0.11.4, "), "{report}");
    expect(&report, "OK", &["Behaves as expected in all "]);
    expect(&report, "OK", &["Host program", "0.1.0"]);
    expect(&report, "OK", &["Running, process"]);
    expect(&report, "OK", &["All options"]);
    expect(
        &report,
        "OK",
        &["Provider: anthropic; $ANTHROPIC_API_KEY is set."],
    );
    expect(
        &report,
        "OK",
        &["anthropic answers at http://127.0.0.1", " ms."],
    );
    expect(&report, "OK", &["own starts in", "tools."]);
    expect(&report, "OK", &["flemma can be written and has"]);
    expect(&report, "OK", &["Ctrl-]"]);
    assert!(!report.contains("ERROR"), "{report}");
    assert!(!report.contains("test-key"), "{report}");
}

#[test]
fn what_is_broken_is_named_with_a_fix() {
    let provider = Provider::anthropic([Answer::says("Hi.")]);
    let options = json!({
        "modle": "m",
        // Nothing listens there.
        "parameters": {"anthropic": {"base_url": "http://127.0.0.1:1"}},
        "sandbox": {"enabled": true, "backend": "bwrap", "backends": {"bwrap": {"path": "/nonexistent/bwrap"}}},
        "mcp": {"servers": {"broken": {"command": "/nonexistent/server"}}},
    });
    let setup = with_options(&provider, options);
    let editor = setup.file("notes.txt", "text\n").start();
    let state = editor.lua("return vim.fn.stdpath('state')", &json!([]));
    // A file in the place of the folder, because nothing is unwritable for root.
    let state = std::path::Path::new(state.as_str().unwrap()).join("flemma");
    drop(fs::remove_dir_all(&state));
    fs::create_dir_all(state.parent().unwrap()).unwrap();
    fs::write(&state, "").unwrap();

    let report = report(&editor);
    expect(&report, "ERROR", &["There is no option \"modle\""]);
    expect(
        &report,
        "WARNING",
        &["anthropic does not answer at http://127.0.0.1:1"],
    );
    expect(
        &report,
        "ERROR",
        &["The sandbox is required, and there is none"],
    );
    expect(&report, "ERROR", &["broken cannot be used"]);
    expect(&report, "ERROR", &["flemma cannot be written"]);
    let problems = report.matches("ERROR").count() + report.matches("WARNING").count();
    let fixes = report.matches("ADVICE").count();
    assert!(fixes >= 5 && fixes == problems, "{report}");
}

#[test]
fn a_missing_host_program_is_an_error_with_a_fix() {
    let editor = Setup::new().host("/nonexistent/flemma");
    let editor = editor.file("notes.txt", "text\n").start();
    let report = report(&editor);
    expect(
        &report,
        "ERROR",
        &["There is no host program at /nonexistent/flemma"],
    );
    assert!(report.contains("`:Flemma install`"), "{report}");
}

#[test]
fn a_host_program_of_another_version_is_an_error_with_both_versions() {
    let (setup, _folder) = program(Setup::new(), "#!/bin/sh\necho flemma 0.0.9\n");
    let editor = setup.file("notes.txt", "text\n").start();
    let report = report(&editor);
    expect(
        &report,
        "ERROR",
        &["is version 0.0.9", "the plugin is version 0.1.0"],
    );
    assert!(report.contains("`:Flemma restart`"), "{report}");
}
