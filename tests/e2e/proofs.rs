//! Long runs of the tests with random answers and keys, for `make prove`. The seeds
//! begin at `$FLEMMA_PROVE_SEED`; a failure prints its own.

use std::ops::Range;

/// The seeds of a long run.
pub fn seeds(count: u64) -> Range<u64> {
    let first = std::env::var("FLEMMA_PROVE_SEED").ok();
    let first = first.and_then(|it| it.parse().ok()).unwrap_or(0);
    first..first + count
}

/// Prints the summary of a long run, which `scripts/prove.sh` shows in its table.
#[allow(clippy::print_stdout)]
pub fn summary(words: &str) {
    println!("prove: {words}");
}

/// Runs a test with each of its seeds, some at a time, and prints their number.
fn prove(what: &str, count: u64, at_once: u64, test: impl Fn(Range<u64>)) {
    let seeds = seeds(count);
    let first = seeds.start;
    for start in seeds.clone().step_by(usize::try_from(at_once).unwrap()) {
        test(start..(start + at_once).min(seeds.end));
    }
    summary(&format!("{count} {what}, seeds from {first}"));
}

#[test]
#[ignore = "make prove"]
fn prove_broken_answers_leave_a_valid_document() {
    prove("broken answers in each of 4 formats", 60, 15, |seeds| {
        crate::chaos::play_in_all_formats(&seeds);
    });
}

#[test]
#[ignore = "make prove"]
fn prove_typed_and_streamed_text_are_undone_separately() {
    prove("answers interleaved with typing", 40, 1, |seeds| {
        for seed in seeds {
            crate::undo::check(seed, seed % 2 == 0);
        }
    });
}

#[test]
#[ignore = "make prove"]
fn prove_random_keys_lose_nothing() {
    prove("chats with random keys", 60, 1, |seeds| {
        seeds.for_each(crate::random_keys::play);
    });
}
