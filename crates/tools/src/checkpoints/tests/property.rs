//! Random agent runs that are undone: each file is as it was before, or reported, and no edit
//! of the user is lost.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::Project;
use super::commands::end;
use super::turn::{apply, found};
use crate::checkpoints::{Request, Restored, user_saved};

pub(super) const NAMES: [&str; 6] = ["a", "b", "c", "deep/a", "deep/b", "deep/er/a"];
/// Runs in one project.
const RUNS: usize = 25;

/// The files of a project with their texts.
type Files = BTreeMap<PathBuf, String>;

/// Numbers that look random and are the same each time.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    pub(super) fn name(&mut self) -> &'static str {
        NAMES[self.below(NAMES.len())]
    }
}

impl Numbers {
    /// Changes or adds one line of a file.
    pub(super) fn changed(&mut self, project: &Project, name: &str, word: &str) -> String {
        let text = project.text(name).unwrap_or_default();
        let mut lines: Vec<&str> = text.lines().collect();
        let at = self.below(lines.len() + 1);
        match self.below(2) {
            0 if at < lines.len() && !lines[at].starts_with("user") => lines[at] = word,
            _ => lines.insert(at, word),
        }
        lines.join("\n") + "\n"
    }
}

/// Counts of what happened.
#[derive(Debug, Default)]
struct Tally {
    runs: usize,
    calls: usize,
    user_edits: usize,
    restored: usize,
    reported: usize,
}

/// The parts of a diff that are about one file each.
fn parts(diff: &str) -> impl Iterator<Item = &str> {
    let starts = diff.match_indices("diff --git ").map(|it| it.0);
    let mut starts: Vec<usize> = starts
        .filter(|at| *at == 0 || diff[..*at].ends_with('\n'))
        .collect();
    starts.push(diff.len());
    let ends = starts.clone().into_iter().skip(1);
    starts.into_iter().zip(ends).map(|(at, end)| &diff[at..end])
}

struct Agent {
    project: Project,
    numbers: Numbers,
    /// Words that the user wrote, each of which is unique.
    words: usize,
    /// Files that the user edited in this run.
    edited: Vec<PathBuf>,
    tally: Tally,
}

impl Agent {
    fn files(&self) -> Files {
        let names = NAMES.iter().map(|it| self.project.path(it));
        names
            .filter_map(|it| Some((it.clone(), fs::read_to_string(it).ok()?)))
            .collect()
    }

    fn changed(&mut self, name: &str, word: &str) -> String {
        self.numbers.changed(&self.project, name, word)
    }

    fn user_edits(&mut self) -> PathBuf {
        let name = self.numbers.name();
        self.words += 1;
        self.tally.user_edits += 1;
        let text = self.changed(name, &format!("user{}.", self.words));
        self.project.put(name, &text);
        self.edited.push(self.project.path(name));
        self.project.path(name)
    }

    fn writes(&mut self) {
        let name = self.numbers.name();
        let word = format!("agent{}", self.project.calls);
        let text = self.changed(name, &word);
        self.project.write(name, &text);
    }

    fn runs_a_command(&mut self) {
        let (from, to) = (self.numbers.name(), self.numbers.name());
        let number = self.project.calls;
        let command = match self.numbers.below(6) {
            0 => format!("rm -f {from}"),
            1 => format!("mkdir -p $(dirname {to}); mv {from} {to}"),
            2 => format!("mkdir -p $(dirname {to}); cp {from} {to}"),
            3 => format!("sed -i '1s/.*/agent{number}/' {from}"),
            4 => format!("mkdir -p $(dirname {to}); echo agent{number} >> {to}; rm -f {from}"),
            _ => "rm -rf deep/er; echo x > c".to_owned(),
        };
        self.project.sh(&format!("{command} 2>/dev/null; true"));
    }

    /// A command that runs while the user saves a file.
    fn runs_beside_the_user(&mut self) {
        let command = self.project.begin();
        let name = self.numbers.name();
        let text = self.changed(name, "command");
        self.project.put(name, &text);
        let saved = self.user_edits();
        user_saved(&saved);
        end(command);
    }

    fn run(&mut self) {
        self.project.turn += 1;
        self.edited.clear();
        let before = self.files();
        for _ in 0..=self.numbers.below(4) {
            self.tally.calls += 1;
            match self.numbers.below(8) {
                0..=2 => self.writes(),
                3..=5 => self.runs_a_command(),
                6 => self.runs_beside_the_user(),
                _ => drop(self.user_edits()),
            }
        }
        let after = self.files();
        let request = Request::Turns {
            from: self.project.turn,
            calls: Vec::new(),
        };
        let planned = self.project.plan(request.clone()).unwrap();
        let restored = match planned {
            // Every other run is taken back by a review of which nothing is left.
            Some(_) if self.tally.runs % 2 == 1 => self.reviews(),
            Some(_) => self.project.restore(request, false),
            None => Restored::default(),
        };
        self.check(&before, &after, &restored);
        self.tally.runs += 1;
        self.tally.restored += restored.changed.len();
        self.tally.reported += restored.kept.len();
    }

    /// Removes all that is in the review of the turn, except changes that include the user's own.
    fn reviews(&mut self) -> Restored {
        let Some(changes) = found(&self.project) else {
            return Restored::default();
        };
        let mut left = String::new();
        let restored = apply(&self.project, &changes, |diff| {
            left = parts(diff).filter(|it| it.contains("\nnote: ")).collect();
            left.clone()
        });
        let is_left = |it: &&&str| left.contains(&format!("diff --git a/{it} "));
        let names = NAMES.iter().filter(is_left);
        self.edited.extend(names.map(|it| self.project.path(it)));
        restored
    }

    fn check(&self, before: &Files, after: &Files, restored: &Restored) {
        let now = self.files();
        for path in NAMES.iter().map(|it| self.project.path(it)) {
            let is_kept = restored.kept.iter().any(|(kept, _)| *kept == path);
            let [before, after, now] = [before, after, &now].map(|it| it.get(&path));
            if is_kept {
                assert_eq!(now, after, "{path:?} is reported and changed");
            } else if !self.edited.contains(&path) {
                assert_eq!(now, before, "{path:?} was {after:?}: {restored:?}");
            }
        }
        let all = |files: &Files| {
            files
                .values()
                .flat_map(|it| it.lines().map(str::to_owned))
                .collect::<Vec<_>>()
        };
        let now = all(&now);
        let lost = all(after)
            .into_iter()
            .filter(|it| it.starts_with("user") && !now.contains(it));
        // A copy of a word that the user wrote in an earlier run may go.
        let before = all(before);
        let lost: Vec<_> = lost.filter(|it| !before.contains(it)).collect();
        assert_eq!(lost, Vec::<String>::new(), "{restored:?}");
    }
}

fn undo_runs(count: usize, seed: u64) -> Tally {
    let mut tally = Tally::default();
    for round in 0..count.div_ceil(RUNS) {
        let mut agent = Agent {
            project: Project::new(),
            numbers: Numbers(seed + round as u64),
            words: 0,
            edited: Vec::new(),
            tally,
        };
        agent.project.put("a", "1\n2\n3\n4\n5\n6\n7\n8\n");
        agent.project.put("deep/b", "1\n2\n3\n4\n5\n6\n7\n8\n");
        let runs = RUNS.min(count - agent.tally.runs);
        (0..runs).for_each(|_| agent.run());
        tally = agent.tally;
    }
    tally
}

#[test]
fn undone_runs_leave_each_file_as_before_or_report_it() {
    assert_eq!(undo_runs(15, 1).runs, 15);
}

#[test]
#[ignore = "takes minutes"]
fn prove_that_1000_undone_runs_leave_each_file_as_before_or_report_it() {
    let seed = crate::variable("FLEMMA_PROVE_SEED");
    let seed = seed.and_then(|it| it.parse().ok()).unwrap_or(7);
    let Tally {
        runs,
        calls,
        user_edits,
        restored,
        reported,
    } = undo_runs(1000, seed);
    eprintln!(
        "prove: {runs} runs undone: {calls} actions, {user_edits} edits of the user, {restored} files restored, \
         {reported} reported, 0 lost (seed {seed})"
    );
}
