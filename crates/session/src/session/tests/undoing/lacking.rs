//! What an undo of a command lacks: said before the command runs, and after it.

use std::fs;

use serde_json::json;

use super::super::script::{bash, calls};
use super::{EditorInput, Input, QUESTION, Stage, choose};

#[test]
fn a_command_that_changes_a_file_without_a_checkpoint_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let large = fs::File::create(folder.path().join("large")).unwrap();
    large.set_len(17 * 1024 * 1024).unwrap();
    let stage = Stage::with(json!({"tools": {"require_approval": false}}), QUESTION);
    let stage = stage.answers([
        calls([bash("t_1", "true")]),
        calls([bash("t_2", "echo x >> large")]),
    ]);
    stage.send(Input::Editor(EditorInput::Directory(
        folder.path().to_str().unwrap().to_owned(),
    )));
    stage.press("advance");
    stage.wait_notice(":Flemma undo cannot restore large: it is larger than 16 MB.");
    stage.wait_rest();
}

#[test]
fn a_command_says_before_it_runs_what_no_checkpoint_holds() {
    let folder = tempfile::tempdir().unwrap();
    let large = fs::File::create(folder.path().join("large")).unwrap();
    large.set_len(17 * 1024 * 1024).unwrap();
    let stage = Stage::with(json!({"tools": {"auto_approve": []}}), QUESTION);
    let long = format!("echo {}", "x".repeat(300));
    let stage = stage.answers([calls([bash("t_1", "true")]), calls([bash("t_2", &long)])]);
    stage.send(Input::Editor(EditorInput::Directory(
        folder.path().to_str().unwrap().to_owned(),
    )));
    stage.press("advance");
    stage.press_at("resolve", "status=pending");
    // The end of the command is cut, and not what it says.
    stage.wait("the preview", |it| {
        let marks = it.marks();
        let mut previews = marks.iter().filter_map(|it| it.preview.as_deref());
        previews.any(|it| it.starts_with("bash: ") && it.ends_with("… (:Flemma undo lacks 1 file)"))
    });
}

#[test]
fn a_command_that_changes_ignored_files_says_before_and_after_that_they_stay() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".ignore"), "build/\n").unwrap();
    fs::create_dir(folder.path().join("build")).unwrap();
    let stage = Stage::with(json!({"tools": {"auto_approve": []}}), QUESTION);
    let command = "echo x > build/out.log; echo x > a";
    let stage = stage.answers([calls([bash("t_1", "true")]), calls([bash("t_2", command)])]);
    stage.send(Input::Editor(EditorInput::Directory(
        folder.path().to_str().unwrap().to_owned(),
    )));
    stage.press("advance");
    stage.press_at("resolve", "status=pending");
    stage.wait("the preview", |it| {
        let marks = it.marks();
        let mut previews = marks.iter().filter_map(|it| it.preview.as_deref());
        previews.any(|it| it.ends_with(" (:Flemma undo lacks ignored files)"))
    });
    stage.press_at("resolve", "status=pending");
    stage.wait_notice(
        ":Flemma undo cannot restore ignored files that changed: build/out.log (others may be gone).",
    );
    // The message is gone soon, but this stays beside the result.
    stage.wait("the files beside the result", |it| {
        let marks = it.marks();
        let mut labels = marks.iter().filter_map(|it| it.label.as_deref());
        labels.any(|it| it.ends_with(" · :Flemma undo lacks build/out.log (others may be gone)"))
    });
    choose(&stage, Some(0));
    stage.key("undo").wait_notice("Restored 1 file");
    assert!(!folder.path().join("a").exists());
    assert!(folder.path().join("build/out.log").exists());
}
