//! Command lines made of the programs' own options, patterns, quoting, and hostile names.
//! Every line that is approved runs in a scratch folder without the program's own sandbox,
//! and must leave that folder, what is around it, and the list of programs as they are.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod generator;
mod pieces;
mod world;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use generator::Generator;
use world::{Observed, State, World};

use super::{ShellLists, inspect};

/// Lines that run in one batch.
const BATCH: usize = 250;

/// Runs so many approved lines; every `traced`-th batch under strace. Says what was seen.
fn run(seed: u64, lines: usize, traced: Option<usize>) -> String {
    let world = World::new();
    let mut generator = Generator::new(seed);
    let mut made = 0;
    let mut approved = 0;
    let mut by_program: BTreeMap<String, usize> = BTreeMap::new();
    let mut observed = Observed::default();
    let mut known = HashSet::new();
    let before = world.files();
    for batch in 0.. {
        if approved >= lines {
            break;
        }
        let mut accepted: Vec<(usize, String)> = Vec::new();
        while accepted.len() < BATCH {
            let line = generator.line();
            let place = generator.below(world.places().len());
            made += 1;
            let machine = world.machine(place);
            let is_approved = inspect(&line, &ShellLists::default(), &machine).is_ok();
            if is_approved && known.insert((place, line.clone())) {
                let program = line.split(' ').next().unwrap_or_default();
                *by_program.entry(program.to_owned()).or_default() += 1;
                accepted.push((place, line));
            }
        }
        approved += accepted.len();
        let is_traced = traced.is_some_and(|each| batch % each == 0);
        let seen = world.run(&accepted, is_traced);
        let changed = changes(&before, &world.files());
        if !seen.problems.is_empty() || !changed.is_empty() {
            let all = format!("changed {changed:?}; {:?}", seen.problems);
            panic!("seed {seed}: {}", culprit(&accepted, is_traced, &all));
        }
        observed.add(seen);
    }
    format!(
        "{approved} different approved lines of {made} with {} programs, seed {seed}; {} traced with {} execs and {} opened files: \
         0 writes, 0 execs outside the list, 0 connections",
        by_program.len(),
        observed.lines,
        observed.execs,
        observed.opens,
    )
}

/// The files that are new, gone, or different.
fn changes(before: &BTreeMap<PathBuf, State>, after: &BTreeMap<PathBuf, State>) -> Vec<PathBuf> {
    let files = before.keys().chain(after.keys()).collect::<BTreeSet<_>>();
    let differs = |file: &&&PathBuf| before.get(**file) != after.get(**file);
    files.iter().filter(differs).copied().cloned().collect()
}

/// The first of these lines that changes a fresh world, and how. `all` is what they did
/// together.
fn culprit(lines: &[(usize, String)], traced: bool, all: &str) -> String {
    for line in lines {
        let world = World::new();
        let before = world.files();
        let seen = world.run(std::slice::from_ref(line), traced);
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
fn what_is_approved_changes_nothing_and_runs_nothing_else() {
    run(1, 2_000, None);
}

#[test]
#[ignore = "takes half an hour; `make prove` runs it"]
fn prove_what_is_approved_changes_nothing_and_runs_nothing_else() {
    let lines = std::env::var("FLEMMA_PROVE_LINES").ok();
    let lines = lines.and_then(|it| it.parse().ok()).unwrap_or(200_000);
    let said = run(seed(), lines, Some(10));
    println!("prove: {said}");
}

#[test]
fn a_line_that_does_more_is_noticed() {
    let world = World::new();
    let before = world.files();
    for line in [
        "sort -o a b",
        "git -c core.fsmonitor=./canary status",
        "find . -name b -exec ./canary \\;",
        "awk 1* f",
    ] {
        let world = World::new();
        let seen = world.run(&[(0, line.to_owned())], false);
        assert!(seen.problems.is_empty());
        assert_ne!(world.files(), before, "{line}");
    }
}
