//! Commands that change files, and what takes their changes back.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, Instant};

use chat::tool::ToolUseId;
use serde_json::json;

use super::{LIMIT, Project, block_on};
use crate::checkpoints::{CommandRun, Coverage, Recorder, Summary, commands, user_saved};
use crate::context::ToolContext;
use crate::run;

impl Project {
    /// Runs a shell command.
    pub(super) fn sh(&mut self, command: &str) -> Summary {
        self.call("bash", json!({"label": "", "command": command}))
    }

    fn recorder(&mut self) -> Recorder {
        self.calls += 1;
        Recorder::new(self.path(""), LIMIT, self.label())
    }

    /// Begins a command, whose changes the test makes itself.
    pub(super) fn begin(&mut self) -> (CommandRun, Recorder) {
        let recorder = self.recorder();
        (block_on(CommandRun::begin(&recorder)), recorder)
    }
}

pub(super) fn end((run, recorder): (CommandRun, Recorder)) -> Summary {
    block_on(run.end());
    recorder.summary()
}

#[test]
fn a_command_that_changes_ten_files_is_undone_and_redone() {
    let mut project = Project::new();
    for number in 0..8 {
        project.put(&format!("src/{number}"), "one\n");
    }
    project.put("gone/deep/a", "old\n");
    let summary = project.sh("for i in 0 1 2 3 4 5 6 7; do echo two >> src/$i; done; rm -r gone; mkdir -p new/er; echo x > new/er/b");
    assert_eq!(summary.changes, 10, "{summary:?}");
    assert_eq!(summary.remarks, Vec::<String>::new());
    let restored = project.undo();
    assert_eq!(restored.changed.len(), 10);
    assert_eq!(project.text("src/3").as_deref(), Some("one\n"));
    assert_eq!(project.text("gone/deep/a").as_deref(), Some("old\n"));
    assert!(!project.path("new").exists());
    project.redo();
    assert_eq!(project.text("src/3").as_deref(), Some("one\ntwo\n"));
    assert_eq!(project.text("new/er/b").as_deref(), Some("x\n"));
    assert!(!project.path("gone/deep/a").exists());
}

#[test]
fn modes_and_links_that_a_command_changes_come_back() {
    let mut project = Project::new();
    project.put("a", "one\n");
    fs::set_permissions(project.path("a"), Permissions::from_mode(0o644)).unwrap();
    symlink("a", project.path("link")).unwrap();
    let summary = project.sh("chmod 755 a; ln -sfn b link; ln -s a other");
    assert_eq!(summary.changes, 3, "{summary:?}");
    project.undo();
    let mode = fs::metadata(project.path("a")).unwrap().mode() & 0o777;
    assert_eq!(mode, 0o644);
    assert_eq!(
        fs::read_link(project.path("link")).unwrap().as_os_str(),
        "a"
    );
    assert!(fs::symlink_metadata(project.path("other")).is_err());
}

#[test]
fn a_command_that_changes_nothing_has_no_checkpoint() {
    let mut project = Project::new();
    project.put("a", "one\n");
    assert_eq!(project.sh("touch a; cat a").changes, 0);
    assert!(project.journal().checkpoints.is_empty());
}

#[test]
fn changes_of_ignored_files_and_of_git_are_left_alone() {
    let mut project = Project::new();
    project.put(".gitignore", "target/\n");
    project.put("target/a", "one\n");
    let summary = project.sh("echo two > target/a; echo x > .git/x; echo y > y");
    assert_eq!(summary.changes, 1, "{summary:?}");
    project.undo();
    assert_eq!(project.text("target/a").as_deref(), Some("two\n"));
    assert_eq!(project.text("y"), None);
}

#[test]
fn what_the_user_saves_while_a_command_begins_is_not_the_commands_change() {
    let mut project = Project::new();
    for number in 0..500 {
        project.put(&format!("src/{number}"), "one\n");
    }
    project.sh("true");
    let recorder = project.recorder();
    let begins = {
        let recorder = recorder.clone();
        std::thread::spawn(move || block_on(CommandRun::begin(&recorder)))
    };
    // Each at another moment, some of them while the index is brought up to date.
    for number in 0..500 {
        project.put(&format!("src/{number}"), "by the user\n");
        user_saved(&project.path(&format!("src/{number}")));
    }
    let summary = end((begins.join().unwrap(), recorder));
    assert_eq!(summary.changes, 0);
}

#[test]
fn a_file_that_rules_no_longer_ignore_is_not_removed() {
    let mut project = Project::new();
    project.put(".gitignore", "mine\n");
    project.put("mine", "precious\n");
    project.sh("true");
    let summary = project.sh("echo > .gitignore; echo more >> mine");
    assert!(
        summary.remarks[0].contains("mine: it was ignored before"),
        "{summary:?}"
    );
    project.undo();
    assert_eq!(project.text("mine").as_deref(), Some("precious\nmore\n"));
    assert_eq!(project.text(".gitignore").as_deref(), Some("mine\n"));
}

#[test]
fn a_file_that_the_user_saves_meanwhile_belongs_to_the_user() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.put("b", "one\n");
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
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
    assert_eq!(project.text("b").as_deref(), Some("by the user\n"));
}

#[test]
fn commands_that_overlap_share_one_checkpoint() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.put("b", "one\n");
    let (first, second) = (project.begin(), project.begin());
    project.put("a", "two\n");
    assert_eq!(end(first).changes, 1);
    project.put("b", "two\n");
    project.put("a", "three\n");
    assert_eq!(end(second).changes, 2);
    let journal = project.journal();
    assert_eq!(journal.checkpoints.len(), 1);
    assert_eq!(journal.checkpoints[0].calls.len(), 2);
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
    assert_eq!(project.text("b").as_deref(), Some("one\n"));
}

#[test]
fn an_edit_during_a_command_is_not_the_commands() {
    let mut project = Project::new();
    project.put("a", "one\n");
    let command = project.begin();
    project.write("a", "edited\n");
    project.put("b", "by the command\n");
    assert_eq!(end(command).changes, 1);
    project.undo();
    assert_eq!(project.text("b"), None);
    assert_eq!(project.text("a").as_deref(), Some("edited\n"));
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
}

#[test]
fn an_undo_during_a_command_is_not_the_commands() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.write("a", "two\n");
    let command = project.begin();
    project.undo();
    assert_eq!(end(command).changes, 0);
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
}

#[test]
fn the_next_program_takes_the_index_over() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.sh("true");
    let root = project.path("").canonicalize().unwrap();
    assert!(project.store().index_path().exists());
    commands::forget(&root);
    project.put("a", "two\n");
    project.sh("echo three > a");
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("two\n"));
}

#[test]
fn files_that_are_too_large_are_named() {
    let mut project = Project::new();
    let large = fs::File::create(project.path("large")).unwrap();
    large.set_len(17 * 1024 * 1024).unwrap();
    let summary = project.sh("echo x >> large; echo y > y");
    assert_eq!(summary.changes, 1);
    assert!(
        summary.remarks[0].contains("large: it is larger than 16 MB"),
        "{summary:?}"
    );
    assert_eq!(
        project.recorder().coverage(),
        Coverage::Lacks {
            files: 1,
            ignored: false
        }
    );
    let restored = project.undo();
    assert_eq!(restored.kept.len(), 1);
    assert_eq!(project.text("y"), None);
}

#[test]
fn a_command_that_makes_too_many_files_is_reported() {
    let mut project = Project::new();
    let command = project.begin();
    commands::outgrow(&project.path("").canonicalize().unwrap());
    let summary = end(command);
    let lost = ":Flemma undo cannot restore what this command changed: the project has more than 200,000 files.";
    assert_eq!(summary.remarks, [lost]);
}

#[test]
fn contents_above_the_limit_are_not_covered_and_nothing_is_lost() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.calls += 1;
    let recorder = Recorder::new(project.path(""), 1, project.label());
    let run = block_on(CommandRun::begin(&recorder));
    project.put("a", "two\n");
    block_on(run.end());
    let summary = recorder.summary();
    assert!(summary.remarks[0].contains("too much space"), "{summary:?}");
    assert_eq!(project.text("a").as_deref(), Some("two\n"));
}

#[test]
fn a_call_that_is_dropped_records_what_it_changed() {
    let mut project = Project::new();
    project.put("a", "one\n");
    let (command, _recorder) = project.begin();
    project.put("a", "two\n");
    drop(command);
    // The next command waits for the thread that records it, or shares its checkpoint.
    let tool = project.registry.get("bash").unwrap();
    let context = ToolContext::new(project.path(""), project.path("outputs"));
    let input = json!({"label": "", "command": "true"});
    block_on(run::run(tool, ToolUseId::new("x"), input, context));
    while project.journal().checkpoints.is_empty() {
        std::thread::yield_now();
    }
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
}

#[test]
#[ignore = "a measurement"]
fn prove_how_long_a_checkpoint_of_a_command_takes() {
    let mut project = Project::new();
    let name = |number: usize| format!("src/{}/{}/file{number}.rs", number % 10, number / 100);
    let first = Instant::now();
    for number in 0..100_000 {
        project.put(&name(number), &format!("fn number() {{ {number} }}\n"));
    }
    let made = first.elapsed();
    let first = Instant::now();
    // The first commands come too early for the index.
    while !end(project.begin()).remarks.is_empty() {}
    let indexed = first.elapsed();
    let mut took: Vec<Duration> = (0..15)
        .map(|round| {
            let begun = Instant::now();
            let command = project.begin();
            let before = begun.elapsed();
            for number in 0..10 {
                let path = name(number * 1000 + round);
                fs::write(project.path(&path), format!("fn changed() {{ {round} }}\n")).unwrap();
            }
            let begun = Instant::now();
            assert_eq!(end(command).changes, 10);
            before + begun.elapsed()
        })
        .collect();
    took.sort();
    eprintln!(
        "prove: a checkpoint of a command in 100,000 files: median {:?}, best {:?}, worst {:?}; the first index {indexed:?} \
         (the files were made in {made:?})",
        took[7], took[0], took[14]
    );
}
