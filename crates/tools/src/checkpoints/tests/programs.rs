//! Commands of two programs in one project, which know of each other only by what is on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use super::Project;
use super::commands::end;
use super::property::{NAMES, Numbers};
use crate::checkpoints::{CommandRun, Recorder, Request, commands};

impl Project {
    /// From now on, this is the other program, with another chat.
    fn switch(&mut self) {
        self.other
            .switch(&self.folder.path().canonicalize().unwrap());
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
        let (early, late) = match first_ends_first {
            true => (first, second),
            false => (second, first),
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
fn an_edit_during_a_command_splits_what_the_command_changed() {
    for is_other_program in [false, true] {
        let mut project = project();
        let command = project.begin();
        project.put("a", "by the command\n");
        let edit = |it: &mut Project| it.write("a", "by the command\nand an edit\n");
        match is_other_program {
            true => project.there(edit),
            false => edit(&mut project),
        };
        project.put("b", "two\n");
        assert_eq!(end(command).changes, 2);
        // The edit is undone first, and the command's part of the file is still known.
        let request = Request::Turns {
            from: 1,
            calls: Vec::new(),
        };
        if is_other_program {
            project.there(|it| it.undo());
            assert_eq!(project.text("a").as_deref(), Some("by the command\n"));
        }
        assert_eq!(project.restore(request, false).kept, []);
        assert_eq!(project.text("a").as_deref(), Some("one\n"));
        assert_eq!(project.text("b").as_deref(), Some("one\n"));
    }
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
        let second = match is_other_program {
            true => project.begin_there(),
            false => project.begin(),
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
    commands::record_save(&project.path("b"));
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

#[test]
fn what_a_program_that_was_killed_left_is_removed() {
    let mut project = project();
    let folder = project.store().folder().join("running");
    let left = r#"{"checkpoint": "left", "began": 0, "label": {"call": "t_1"}}"#;
    fs::write(folder.join("1-1-1"), "").unwrap();
    fs::write(folder.join("1-1-1.json"), left).unwrap();
    project.sh("echo two > a");
    assert_eq!(project.calls_of_checkpoints(), [1]);
    assert_ne!(project.journal().checkpoints[0].id, "left");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn a_call_without_an_index_is_named_too() {
    let mut project = project();
    project.there(|it| commands::outgrow(&it.path("").canonicalize().unwrap()));
    let without = project.begin_there();
    let command = project.begin();
    project.put("a", "two\n");
    end(command);
    end(without);
    assert_eq!(project.calls_of_checkpoints(), [2]);
}

/// The files of a project with their texts.
type Files = BTreeMap<PathBuf, String>;

/// Two programs at work in a project.
struct Pair {
    project: Project,
    numbers: Numbers,
    words: usize,
    running: [Option<(CommandRun, Recorder)>; 2],
    /// Files that the user edited.
    edited: BTreeSet<PathBuf>,
    /// Files that an undo reported.
    reported: BTreeSet<PathBuf>,
    log: Vec<String>,
}

impl Pair {
    fn files(&self) -> Files {
        let names = NAMES.iter().map(|it| self.project.path(it));
        names
            .filter_map(|it| Some((it.clone(), fs::read_to_string(it).ok()?)))
            .collect()
    }

    fn word(&mut self, of: &str) -> String {
        self.words += 1;
        format!("{of}{}.", self.words)
    }

    fn act(&mut self) {
        if self.numbers.below(2) == 1 {
            self.project.switch();
        }
        let program = self.project.program;
        let kind = self.numbers.below(10);
        self.log.push(format!("{program}: {kind}"));
        match kind {
            0..=2 => match self.running[program].take() {
                Some(command) => drop(end(command)),
                None => self.running[program] = Some(self.project.begin()),
            },
            3..=5 if self.running.iter().any(Option::is_some) => self.command_changes(),
            6 | 7 => {
                let (name, word) = (self.numbers.name(), self.word("edit"));
                let text = self.numbers.changed(&self.project, name, &word);
                self.log.push(format!("edits {name}: {text:?}"));
                self.project.write(name, &text);
            }
            8 => self.user_saves(),
            9 => self.undo(Request::Undo),
            _ => {}
        }
    }

    /// One of the commands that run changes a file.
    fn command_changes(&mut self) {
        let (name, word) = (self.numbers.name(), self.word("command"));
        self.log.push(format!("changes {name}"));
        match self.numbers.below(4) {
            0 => drop(fs::remove_file(self.project.path(name))),
            _ => {
                let text = self.numbers.changed(&self.project, name, &word);
                self.project.put(name, &text);
            }
        }
    }

    fn user_saves(&mut self) {
        let (name, word) = (self.numbers.name(), self.word("user"));
        let text = self.numbers.changed(&self.project, name, &word);
        self.log.push(format!("user saves {name}: {text:?}"));
        self.project.put(name, &text);
        commands::record_save(&self.project.path(name));
        self.edited.insert(self.project.path(name));
    }

    fn undo(&mut self, request: Request) {
        let before = self.files();
        if self.project.plan(request.clone()).unwrap().is_none() {
            return;
        }
        let restored = self.project.restore(request, false);
        self.log.push(format!("undone: {restored:?}"));
        self.reported
            .extend(restored.kept.into_iter().map(|it| it.0));
        let after = self.files();
        for path in NAMES.iter().map(|it| self.project.path(it)) {
            let is_changed = before.get(&path) != after.get(&path);
            let is_said = restored.changed.contains(&path);
            assert_eq!(is_changed, is_said, "{path:?}: {:#?}", self.log);
            let words = |files: &Files| {
                let lines = files.get(&path).into_iter().flat_map(|it| it.lines());
                let of_user = lines.filter(|it| it.starts_with("user"));
                of_user.map(str::to_owned).collect::<BTreeSet<_>>()
            };
            assert!(
                words(&before).is_subset(&words(&after)),
                "{path:?} lost: {:#?}",
                self.log
            );
        }
    }

    fn run(&mut self) {
        self.project.turn += 1;
        self.edited.clear();
        self.reported.clear();
        self.log.clear();
        let before = self.files();
        for _ in 0..3 + self.numbers.below(12) {
            self.act();
        }
        for command in &mut self.running {
            command.take().map(end);
        }
        let after = self.files();
        for _ in 0..2 {
            self.project.switch();
            self.undo(Request::Turns {
                from: self.project.turn,
                calls: Vec::new(),
            });
        }
        let now = self.files();
        for path in NAMES.iter().map(|it| self.project.path(it)) {
            if !self.reported.contains(&path) && !self.edited.contains(&path) {
                let texts = [before.get(&path), now.get(&path)];
                assert_eq!(
                    texts[0],
                    texts[1],
                    "{path:?} was {:?}: {:#?}",
                    after.get(&path),
                    self.log
                );
            }
        }
    }
}

fn undo_pairs(runs: usize, seed: u64) {
    let mut pair = Pair {
        project: project(),
        numbers: Numbers(seed),
        words: 0,
        running: [None, None],
        edited: BTreeSet::new(),
        reported: BTreeSet::new(),
        log: Vec::new(),
    };
    pair.project.put("a", "1\n2\n3\n4\n5\n6\n7\n8\n");
    pair.project.put("deep/b", "1\n2\n3\n4\n5\n6\n7\n8\n");
    (0..runs).for_each(|_| pair.run());
}

#[test]
fn what_two_programs_did_is_undone_or_reported_and_no_edit_of_the_user_is_lost() {
    (0..6).for_each(|seed| undo_pairs(8, seed));
}

#[test]
#[ignore = "takes minutes"]
fn prove_that_1000_undone_pairs_of_runs_leave_each_file_as_before_or_report_it() {
    (0..50).for_each(|seed| undo_pairs(20, 1000 + seed));
}
