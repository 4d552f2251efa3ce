//! Commands of two programs in one project, which know of each other only by what is on disk.

mod random;

use std::fs;
use std::path::PathBuf;

use super::Project;
use super::commands::end;
use crate::checkpoints::{CommandRun, Recorder, Request, user_saved};

impl Project {
    /// From now on, this is the other program, with another chat.
    fn switch(&mut self) {
        self.program = 1 - self.program;
    }

    /// Begins a command in the other program.
    fn begin_there(&mut self) -> (CommandRun, Recorder) {
        self.there(Self::begin)
    }

    fn there<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.switch();
        let done = work(self);
        self.switch();
        done
    }

    fn calls_of_checkpoints(&self) -> Vec<usize> {
        let checkpoints = self.journal().checkpoints;
        checkpoints.iter().map(|it| it.calls.len()).collect()
    }
}

/// A project that both programs have an index of.
fn project() -> Project {
    let mut project = Project::new();
    for name in ["a", "b"] {
        project.put(name, "one\n");
    }
    project.sh("true");
    project.there(|it| it.sh("true"));
    project
}

#[test]
fn commands_of_two_programs_that_overlap_share_one_checkpoint() {
    // Which of the two ends first, and where the undo is.
    for (first_ends_first, undo_there) in
        [(true, true), (true, false), (false, true), (false, false)]
    {
        let mut project = project();
        let first = project.begin();
        project.put("a", "two\n");
        let second = project.begin_there();
        project.put("a", "three\n");
        project.put("b", "two\n");
        let (early, late) = if first_ends_first {
            (first, second)
        } else {
            (second, first)
        };
        end(early);
        project.put("c", "new\n");
        end(late);
        assert_eq!(project.calls_of_checkpoints(), [2]);
        if undo_there {
            project.switch();
        }
        let plan = project.plan(Request::Undo).unwrap().unwrap();
        assert_eq!(plan.calls.len(), 2, "both calls are named");
        let restored = project.undo();
        assert_eq!(restored.kept, [], "{first_ends_first} {undo_there}");
        let texts = ["a", "b", "c"].map(|it| project.text(it));
        assert_eq!(texts, [Some("one\n".into()), Some("one\n".into()), None]);
        project.redo();
        assert_eq!(project.text("a").as_deref(), Some("three\n"));
    }
}

#[test]
fn a_chain_of_commands_that_overlap_is_one_checkpoint_and_the_next_is_another() {
    let mut project = project();
    let first = project.begin();
    project.put("a", "1\n");
    let second = project.begin_there();
    project.put("a", "2\n");
    end(first);
    let third = project.begin();
    project.put("a", "3\n");
    end(second);
    project.put("a", "4\n");
    end(third);
    project.sh("echo 5 > a");
    project.there(|it| it.sh("echo 6 > a"));
    assert_eq!(project.calls_of_checkpoints(), [3, 1, 1]);
    project.there(|it| it.undo());
    assert_eq!(project.text("a").as_deref(), Some("5\n"));
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("4\n"));
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
}

#[test]
fn a_turn_in_which_an_edit_and_a_command_changed_one_file_is_undone() {
    for changes_back in [false, true] {
        let mut project = project();
        let command = project.begin();
        project.put("a", "by the command\n");
        project.write("a", "by the command\nand an edit\n");
        if changes_back {
            project.put("a", "one\n");
        }
        project.put("b", "two\n");
        end(command);
        let request = Request::Turns {
            from: 1,
            calls: Vec::new(),
        };
        assert_eq!(project.restore(request, false).kept, []);
        let texts = ["a", "b"].map(|it| project.text(it));
        let one = Some("one\n".to_owned());
        assert_eq!(texts, [one.clone(), one], "{changes_back}");
    }
}

#[test]
fn what_commands_of_two_programs_changed_and_changed_back_stays_as_before() {
    for first_ends_first in [true, false] {
        let mut project = project();
        let first = project.begin();
        fs::remove_file(project.path("a")).unwrap();
        project.put("temporary", "x\n");
        let second = project.begin_there();
        fs::remove_file(project.path("temporary")).unwrap();
        project.put("a", "one\n");
        project.put("b", "two\n");
        let (early, late) = if first_ends_first {
            (first, second)
        } else {
            (second, first)
        };
        end(early);
        end(late);
        assert_eq!(project.undo().changed, [project.path("b")]);
    }
}

#[test]
fn what_the_user_saves_between_commands_that_overlap_is_the_users() {
    let mut project = project();
    project.put("a", "1\n2\n3\n4\n5\n6\n7\n");
    let first = project.begin();
    project.put("a", "one\n2\n3\n4\n5\n6\n7\n");
    let second = project.begin_there();
    end(first);
    project.put("a", "one\n2\n3\n4\n5\n6\nmine\n");
    user_saved(&project.path("a"));
    let third = project.begin();
    project.put("a", "one\n2\n3\nfour\n5\n6\nmine\n");
    project.put("b", "two\n");
    end(third);
    end(second);
    assert_eq!(project.undo().kept, []);
    assert_eq!(
        project.text("a").as_deref(),
        Some("1\n2\n3\n4\n5\n6\nmine\n")
    );
    assert_eq!(project.text("b").as_deref(), Some("one\n"));
}

#[test]
fn an_edit_of_another_program_is_not_the_commands() {
    let mut project = project();
    let command = project.begin();
    project.there(|it| it.write("a", "edited\n"));
    project.put("b", "two\n");
    assert_eq!(end(command).changes, 1);
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("edited\n"));
    project.there(|it| it.undo());
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
}

#[test]
fn what_a_command_changes_after_its_checkpoint_was_undone_can_be_undone() {
    for is_other_program in [false, true] {
        let mut project = project();
        let first = project.begin();
        let second = if is_other_program {
            project.begin_there()
        } else {
            project.begin()
        };
        project.put("a", "two\n");
        end(first);
        project.undo();
        assert_eq!(project.text("a").as_deref(), Some("one\n"));
        project.put("b", "two\n");
        end(second);
        if is_other_program {
            project.switch();
        }
        project.undo();
        assert_eq!(project.text("b").as_deref(), Some("one\n"));
        assert_eq!(project.text("a").as_deref(), Some("one\n"));
    }
}

#[test]
fn what_the_user_saves_in_another_neovim_is_the_users() {
    let mut project = project();
    let command = project.begin();
    project.put("a", "by the command\n");
    project.put("b", "by the user\n");
    user_saved(&project.path("b"));
    let summary = end(command);
    assert_eq!(summary.changes, 1);
    assert!(
        summary.remarks[0].starts_with("You saved b while"),
        "{summary:?}"
    );
    project.undo();
    assert_eq!(project.text("b").as_deref(), Some("by the user\n"));
    // It is forgotten when no command runs any more.
    let summary = project.sh("echo two > b");
    assert_eq!((summary.changes, summary.remarks.len()), (1, 0));
}

/// Leaves what a program leaves that is killed while a command runs.
fn kill_a_program(project: &Project) {
    let label = serde_json::json!({
        "session": "first", "turn": 1, "call": "t_1", "tool": "bash",
    });
    let left = serde_json::json!({"began": {"id": "1-1-1", "checkpoint": "left", "began": 0, "label": label}});
    fs::write(running(project), left.to_string()).unwrap();
}

fn running(project: &Project) -> PathBuf {
    project.store().folder().join("running.jsonl")
}

#[test]
fn what_a_program_that_was_killed_left_is_removed() {
    let mut project = project();
    kill_a_program(&project);
    project.sh("echo two > a");
    let ids: Vec<_> = project
        .journal()
        .checkpoints
        .into_iter()
        .map(|it| it.id)
        .collect();
    assert_eq!(ids.len(), 2);
    assert!(!ids.contains(&"left".to_owned()));
    assert_eq!(fs::read_to_string(running(&project)).unwrap(), "");
}

#[test]
fn a_restore_says_which_command_was_cut_off_and_has_no_checkpoint() {
    let lost = "No checkpoint for bash (t_1): Flemma exited during the command.";
    let mut project = project();
    project.sh("echo two > a");
    kill_a_program(&project);
    for _ in 0..2 {
        let plan = project.plan(Request::Undo).unwrap().unwrap();
        assert_eq!(plan.problem.as_deref(), Some(lost));
    }
    // Not of a later call, nor in the other chat.
    project.sh("echo three > a");
    assert_eq!(project.plan(Request::Undo).unwrap().unwrap().problem, None);
    project.undo();
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
    assert_eq!(project.plan(Request::Undo).unwrap_err(), lost);
    assert!(
        project
            .there(|it| it.plan(Request::Undo))
            .unwrap()
            .is_none()
    );
}

#[test]
fn a_call_without_an_index_is_named_too() {
    let mut project = project();
    project.programs[1].outgrow(&project.path(""));
    let without = project.begin_there();
    let command = project.begin();
    project.put("a", "two\n");
    end(command);
    end(without);
    assert_eq!(project.calls_of_checkpoints(), [2]);
}
