//! Two programs at work in random order: what they did is undone or reported, and no edit of the
//! user is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use super::super::Project;
use super::super::commands::end;
use super::super::property::{NAMES, Numbers};
use super::project;
use crate::checkpoints::{CommandRun, Recorder, Request, user_saved};

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
        user_saved(&self.project.path(name));
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
