//! `:Flemma undo`, `:Flemma redo`, and `:Flemma rewind`: what they list, ask, restore, and report.

mod lacking;

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::script::{bash, calls};
use super::{QUESTION, Stage};
use crate::protocol::{Display, EditorQuestion, Prompted};
use crate::session::{EditorInput, Input};

/// A chat in a folder with the file `a`, whose model writes `two` into it.
fn wrote() -> (Stage, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "one\n").unwrap();
    let input = json!({"label": "", "path": "a", "content": "two\n"});
    let stage = Stage::unasked(QUESTION).answers([calls([("t_1", "write", input)])]);
    let cwd = folder.path().to_str().unwrap().to_owned();
    stage.send(Input::Editor(EditorInput::Directory(cwd)));
    stage.press("advance");
    assert_eq!(text(&folder), "two\n");
    (stage, folder)
}

fn text(folder: &TempDir) -> String {
    fs::read_to_string(folder.path().join("a")).unwrap()
}

/// Answers the next list.
fn choose(stage: &Stage, item: Option<usize>) {
    let prompted = Prompted { text: None, item };
    stage.record().prompted.push_back(prompted);
}

fn last_list(stage: &Stage) -> Vec<String> {
    let asked = stage.record().asked.clone();
    let mut lists = asked.into_iter().rev().filter_map(|it| match it {
        EditorQuestion::Prompt(prompt) => prompt.items,
        _ => None,
    });
    lists.next().unwrap()
}

#[test]
fn undo_lists_the_files_first_and_redo_takes_it_back() {
    let (stage, folder) = wrote();
    choose(&stage, Some(0));
    stage.key("undo").wait_notice("Restored 1 file");
    assert_eq!(
        last_list(&stage),
        [
            "Restore 1 file",
            "Leave everything as it is",
            "restore  a  +1 −1"
        ]
    );
    assert_eq!(text(&folder), "one\n");
    choose(&stage, Some(0));
    stage.key("redo").wait_notice(":Flemma undo reverts that");
    assert_eq!(text(&folder), "two\n");
    stage.key("redo").wait_notice("There is nothing to redo");
}

#[test]
fn nothing_is_restored_unless_the_user_says_so_and_a_file_shows_its_diff() {
    let (stage, folder) = wrote();
    choose(&stage, Some(2));
    choose(&stage, None);
    stage.key("undo");
    stage.wait("the list again", |it| it.prompted.is_empty());
    let shown = stage.record().shown.clone();
    let diff = shown.into_iter().find_map(|it| match it {
        Display::Report(report) => Some(report.lines),
        _ => None,
    });
    assert!(diff.unwrap().contains(&"-two".to_owned()));
    choose(&stage, Some(1));
    stage.key("undo");
    stage.wait("the list", |it| it.prompted.is_empty());
    assert_eq!(text(&folder), "two\n");
}

#[test]
fn a_call_whose_files_need_no_change_does_not_stop_the_next_undo() {
    let (stage, folder) = ran(["echo two > a", "echo three > a"]);
    fs::write(folder.path().join("a"), "two\n").unwrap();
    stage
        .key("undo")
        .wait_notice("No file needs to be changed.\nsame     a");
    choose(&stage, Some(0));
    stage.key("undo").wait_notice("Restored 1 file");
    assert_eq!(text(&folder), "one\n");
}

#[test]
fn a_file_that_changed_since_stays_unless_the_user_overwrites_it() {
    let (stage, folder) = wrote();
    fs::write(folder.path().join("a"), "mine\n").unwrap();
    choose(&stage, Some(0));
    stage.key("undo").wait_notice("Restored 1 file");
    assert!(last_list(&stage)[0].starts_with("Also overwrite 1 file"));
    assert_eq!(text(&folder), "one\n");
    choose(&stage, Some(0));
    stage.key("redo").wait_notice(":Flemma undo reverts that");
    assert_eq!(text(&folder), "mine\n");
}

#[test]
fn a_call_whose_files_all_changed_since_can_be_left_for_the_call_before() {
    let (stage, folder) = ran(["echo b > b", "echo two > a"]);
    fs::write(folder.path().join("a"), "mine\n").unwrap();
    // The second item of the first list, and the first of the next.
    choose(&stage, Some(1));
    choose(&stage, Some(0));
    stage.key("undo").wait_notice("Restored 1 file: b.");
    let lists = stage.record().asked.clone();
    let lists: Vec<Vec<String>> = lists
        .into_iter()
        .filter_map(|it| match it {
            EditorQuestion::Prompt(prompt) => prompt.items,
            _ => None,
        })
        .collect();
    let first = [
        "Also overwrite 1 file that changed since; :Flemma redo brings that back",
        "Leave 1 file unchanged, and go on to the call before",
        "Leave everything as it is",
        "keep     a: it has changed since",
    ];
    assert_eq!(lists[0][..3], first[..3]);
    assert!(lists[0][3].starts_with("keep     a: "), "{lists:?}");
    assert_eq!(
        lists[1],
        ["Restore 1 file", "Leave everything as it is", "remove   b"]
    );
    assert_eq!(text(&folder), "mine\n");
    assert!(!folder.path().join("b").exists());

    // Redo goes the same way back, and the call that was left can be undone again.
    choose(&stage, Some(0));
    stage.key("redo").wait_notice(":Flemma undo reverts that");
    stage
        .key("redo")
        .wait_notice("No file needs to be changed.");
    choose(&stage, Some(0));
    stage.key("undo").wait_notice("Restored 1 file: a.");
    assert_eq!(text(&folder), "one\n");
}

#[test]
fn calls_before_one_that_is_left_are_all_reached_or_there_are_none() {
    let (stage, folder) = ran(["echo two > a", "echo three > a"]);
    fs::write(folder.path().join("a"), "mine\n").unwrap();
    choose(&stage, Some(1));
    choose(&stage, Some(1));
    stage.key("undo").wait_notice("There is nothing to undo");
    assert_eq!(text(&folder), "mine\n");
    // Leaving everything leaves the call, too.
    let (stage, folder) = ran(["echo two > a", "echo three > a"]);
    fs::write(folder.path().join("a"), "mine\n").unwrap();
    for _ in 0..2 {
        choose(&stage, Some(2));
        stage.key("undo");
        stage.wait("the list", |it| it.prompted.is_empty());
    }
    assert!(last_list(&stage)[1].starts_with("Leave 1 file unchanged"));
    assert_eq!(text(&folder), "mine\n");
}

#[test]
fn a_result_names_the_command_that_restores_its_files() {
    let (stage, _folder) = wrote();
    let marks = stage.record().marks();
    let labels: Vec<_> = marks.into_iter().filter_map(|it| it.label).collect();
    assert!(
        labels.iter().any(|it| it.ends_with(":Flemma undo")),
        "{labels:?}"
    );
}

#[test]
fn nothing_is_stored_if_checkpoints_are_off() {
    let options = json!({"tools": {"require_approval": false}, "checkpoints": {"enabled": false}});
    let folder = tempfile::tempdir().unwrap();
    let input = json!({"label": "", "path": "a", "content": "two\n"});
    let stage = Stage::with(options, QUESTION).answers([calls([("t_1", "write", input)])]);
    stage.send(Input::Editor(EditorInput::Directory(
        folder.path().to_str().unwrap().to_owned(),
    )));
    stage.press("advance");
    assert_eq!(text(&folder), "two\n");
    stage.key("undo").wait_notice("There is nothing to undo");
}

/// A chat in a folder with the file `a`, whose model runs these commands in one turn each.
fn ran<const N: usize>(commands: [&str; N]) -> (Stage, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "one\n").unwrap();
    let stage = Stage::unasked(QUESTION);
    stage.send(Input::Editor(EditorInput::Directory(
        folder.path().to_str().unwrap().to_owned(),
    )));
    for (at, command) in commands.into_iter().enumerate() {
        let id = format!("t_{}", at + 1);
        stage.script.answers_next(calls([bash(&id, command)]));
        stage.script.answers_next(super::script::says("Done."));
        if at > 0 {
            let last = stage.text().lines().count() - 1;
            stage.replaces(last..last + 1, &[format!("More {at}.")], Some(usize::MAX));
        }
        stage.press("advance");
    }
    (stage, folder)
}

#[test]
fn a_command_that_changed_ten_files_is_undone_and_redone() {
    let (stage, folder) = ran(["for i in 0 1 2 3 4 5 6 7 8; do echo x > f$i; done; echo two > a"]);
    choose(&stage, Some(0));
    stage.key("undo").wait_notice("Restored 10 files");
    assert_eq!(text(&folder), "one\n");
    assert!(!folder.path().join("f3").exists());
    choose(&stage, Some(0));
    stage.key("redo").wait_notice(":Flemma undo reverts that");
    assert_eq!(text(&folder), "two\n");
    assert!(folder.path().join("f3").exists());
    let marks = stage.record().marks();
    let mut labels = marks.into_iter().filter_map(|it| it.label);
    assert!(labels.any(|it| it.ends_with(":Flemma undo")));
}

#[test]
fn what_is_removed_because_the_store_is_full_is_announced() {
    let options = json!({"tools": {"require_approval": false}, "checkpoints": {"limit": 20}});
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::with(options, QUESTION);
    stage.send(Input::Editor(EditorInput::Directory(
        folder.path().to_str().unwrap().to_owned(),
    )));
    for turn in 1..=6 {
        let command = format!("head -c 5000000 /dev/urandom > large; echo {turn} > a");
        let id = format!("t_{turn}");
        stage.script.answers_next(calls([bash(&id, &command)]));
        stage.script.answers_next(super::script::says("Done."));
        if turn > 1 {
            let last = stage.text().lines().count() - 1;
            stage.replaces(last..last + 1, &[format!("More {turn}.")], Some(usize::MAX));
        }
        stage.press("advance");
    }
    stage.wait_notice("oldest turn");
    stage.wait_notice("take more than 20 MB (checkpoints.limit).");
    // The list is still that of all calls, and says what it lacks.
    choose(&stage, Some(5));
    choose(&stage, Some(1));
    stage.key("rewind").wait_notice("removed to make room");
    stage.wait_notice("Restored 2 files");
    assert_ne!(text(&folder), "6\n");
}

#[test]
fn a_chat_without_checkpoints_can_be_cut() {
    let (stage, _folder) = ran(["echo two > a", "echo b > b"]);
    let home = std::env::home_dir().unwrap();
    stage.send(Input::Editor(EditorInput::Directory(
        home.to_str().unwrap().to_owned(),
    )));
    choose(&stage, Some(1));
    choose(&stage, Some(0));
    stage
        .key("rewind")
        .wait_notice("because it is not a project");
    stage.wait("the cut", |it| it.text().trim_end() == QUESTION.trim_end());
    assert_eq!(last_list(&stage)[0], "Cut the chat; u brings it back");
}

const COMMANDS: [&str; 3] = ["echo two >> a", "echo b > b", "echo c > c; echo x > b"];

#[test]
fn a_rewind_over_three_turns_restores_the_files_and_keeps_the_users_edit() {
    let (stage, folder) = ran(COMMANDS);
    fs::write(folder.path().join("a"), "zero\none\ntwo\n").unwrap();
    choose(&stage, Some(2));
    choose(&stage, Some(0));
    stage.key("rewind").wait_notice("Restored 3 files");
    let lists = [
        "Restore 3 files and cut the chat",
        "Restore 3 files",
        "Cut the chat; u brings it back",
        "Leave everything as it is",
        "merge    a  +0 −1, keeping later changes",
        "remove   b",
        "remove   c",
    ];
    assert_eq!(last_list(&stage), lists);
    stage.wait("the cut", |it| it.text().trim_end() == QUESTION.trim_end());
    assert_eq!(text(&folder), "zero\none\n");
    assert!(!folder.path().join("b").exists());
    // One edit of the buffer is one undo step, and the restore can be undone, too.
    choose(&stage, Some(0));
    stage.key("redo").wait_notice(":Flemma undo reverts that");
    assert_eq!(text(&folder), "zero\none\ntwo\n");
}

#[test]
fn a_rewind_lists_the_messages_and_can_restore_only_files_or_only_cut_the_chat() {
    let (stage, folder) = ran(COMMANDS);
    let before = stage.text();
    choose(&stage, Some(0));
    choose(&stage, Some(1));
    stage.key("rewind").wait_notice("Restored 2 files");
    assert_eq!(stage.text(), before);
    let b = fs::read_to_string(folder.path().join("b")).unwrap();
    assert_eq!(b, "b\n");
    let asked = stage.record().asked.clone();
    let turns = asked.into_iter().find_map(|it| match it {
        EditorQuestion::Prompt(prompt) => prompt.items,
        _ => None,
    });
    assert_eq!(
        turns.unwrap(),
        [
            "More 2.  (message 3)",
            "More 1.  (message 2)",
            "Go.  (message 1)"
        ]
    );
    choose(&stage, Some(1));
    choose(&stage, Some(2));
    stage.key("rewind");
    stage.wait("the cut", |it| it.text().trim_end().ends_with("More 1."));
    assert_eq!(fs::read_to_string(folder.path().join("b")).unwrap(), "b\n");
}

#[test]
fn a_chat_is_not_rewound_while_something_runs() {
    let stage = Stage::unasked(QUESTION).answers([calls([super::script::wait("t_1")])]);
    stage.key("advance").wait_started("t_1");
    stage.key("rewind").wait_notice("This chat is busy");
    assert!(stage.record().asked.is_empty());
}
