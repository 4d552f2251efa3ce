//! Property test: approved commands change nothing and reach nothing.
//!
//! Command lines are generated from options, scripts, patterns, quotes, and hostile names. Each
//! approved line runs in the read-only view of a scratch folder. It must not change the folder or
//! its surroundings.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod generator;
mod world;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use generator::Generator;
use world::{Observed, World};

use super::view::State;
use super::{ShellLists, inspect};

/// Number of lines that run in one batch.
const BATCH: usize = 250;

/// Generates approved lines that differ from each other.
struct Approved<'a> {
    world: &'a World,
    generator: Generator,
    generated: usize,
    known: HashSet<(usize, String)>,
}

impl Approved<'_> {
    fn batch(&mut self) -> Vec<(usize, String)> {
        let mut accepted = Vec::new();
        while accepted.len() < BATCH {
            let line = self.generator.line();
            let place = self.generator.below(self.world.places().len());
            self.generated += 1;
            let machine = self.world.machine(place);
            let is_approved = inspect(&line, &ShellLists::default(), &machine).is_ok();
            if is_approved && self.known.insert((place, line.clone())) {
                accepted.push((place, line));
            }
        }
        accepted
    }

    fn report(&self, seed: u64, observed: &Observed) -> String {
        let programs = self.known.iter().map(|(_, line)| line.split(' ').next());
        format!(
            "{} different approved lines of {} with {} programs, seed {seed}; {} traced with {} execs and {} opened files: \
             0 writes, 0 connections",
            self.known.len(),
            self.generated,
            programs.collect::<HashSet<_>>().len(),
            observed.lines,
            observed.execs,
            observed.opens,
        )
    }
}

/// Runs at least this many approved lines, every `traced`-th batch under strace, and returns a
/// report.
fn run(seed: u64, lines: usize, traced: Option<usize>) -> String {
    let world = World::new();
    let mut approved = Approved {
        world: &world,
        generator: Generator::new(seed),
        generated: 0,
        known: HashSet::new(),
    };
    let mut observed = Observed::default();
    let before = world.files();
    for batch in 0..lines.div_ceil(BATCH) {
        let accepted = approved.batch();
        let is_traced = traced.is_some_and(|each| batch % each == 0);
        let Some(seen) = world.run(&accepted, is_traced) else {
            return "no sandbox".to_owned();
        };
        let changed = changes(&before, &world.files());
        if !seen.problems.is_empty() || !changed.is_empty() {
            let all = format!("changed {changed:?}; {:?}", seen.problems);
            panic!("seed {seed}: {}", culprit(&accepted, is_traced, &all));
        }
        observed.add(&seen);
    }
    approved.report(seed, &observed)
}

/// The files that are new, gone, or different.
fn changes(before: &BTreeMap<PathBuf, State>, after: &BTreeMap<PathBuf, State>) -> Vec<PathBuf> {
    let files = before.keys().chain(after.keys()).collect::<BTreeSet<_>>();
    let differs = |file: &&&PathBuf| before.get(**file) != after.get(**file);
    files.iter().filter(differs).copied().cloned().collect()
}

/// The first of these lines that changes a new world, and how. `all` is what they did together.
fn culprit(lines: &[(usize, String)], traced: bool, all: &str) -> String {
    for line in lines {
        let world = World::new();
        let before = world.files();
        let seen = world.run(std::slice::from_ref(line), traced);
        let seen = seen.unwrap_or_default();
        let changed = changes(&before, &world.files());
        if !changed.is_empty() || !seen.problems.is_empty() {
            let place = &world.places()[line.0];
            let problems = seen.problems;
            return format!(
                "{:?} in {place:?} changed {changed:?}; {problems:?}",
                line.1
            );
        }
    }
    format!("together, these {all}: {lines:#?}")
}

fn seed() -> u64 {
    let given = std::env::var("FLEMMA_PROVE_SEED").ok();
    given.and_then(|it| it.parse().ok()).unwrap_or(20_260_923)
}

#[test]
fn what_is_approved_changes_nothing_and_reaches_nothing() {
    run(1, 500, Some(2));
}

#[test]
#[ignore = "takes up to an hour; `make prove` runs it"]
fn prove_what_is_approved_changes_nothing_and_reaches_nothing() {
    let lines = std::env::var("FLEMMA_PROVE_LINES").ok();
    let lines = lines.and_then(|it| it.parse().ok()).unwrap_or(20_000);
    let report = run(seed(), lines, Some(10));
    println!("prove: {report}");
}

#[test]
fn what_a_line_does_in_the_view_is_noticed() {
    let world = World::new();
    let before = world.files();
    for (line, noticed) in [
        ("echo x > a", false),
        ("touch /dev/shm/x", false),
        ("./canary", false),
        // Only this one has an effect: the folder is the view's own.
        (
            "mkdir /var/lock/x || mkdir /run/lock; cd /run && mkdir x",
            true,
        ),
    ] {
        let Some(seen) = world.run(&[(0, line.to_owned())], true) else {
            return;
        };
        assert_eq!(world.files(), before, "{line}");
        // Without strace, nothing is observed.
        if seen.execs > 0 {
            assert_eq!(seen.problems.is_empty(), !noticed, "{line}: {seen:?}");
        }
    }
}
