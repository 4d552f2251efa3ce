//! Names of the files below a folder, for completion. Ignore files exclude names as they do
//! for Git.
//!
//! A folder is walked once. Later questions get the names of that walk, and a new walk begins
//! in the background when they are old, so that no question waits for a large project twice.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ignore::WalkBuilder;

/// Maximum number of names of a folder.
const MOST: usize = 200_000;
/// Age of names at which the folder is walked again.
const OLD: Duration = Duration::from_secs(3);

/// The names below one folder.
struct Listing {
    names: Vec<String>,
    made: Instant,
}

/// The folders that were walked, and those that are being walked again.
#[derive(Default)]
struct Known {
    listings: HashMap<PathBuf, Arc<Listing>>,
    walking: HashSet<PathBuf>,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// Returns the names below `folder` that contain the letters of `typed` in this order, relative
/// to the folder and the best first. Blocking.
pub fn matching(folder: &Path, typed: &str, limit: usize) -> Vec<String> {
    let listing = listing(folder);
    best(&listing.names, typed, limit)
}

/// Returns the names of a folder, of which some may be old.
fn listing(folder: &Path) -> Arc<Listing> {
    let known = with_known(|known| known.listings.get(folder).cloned());
    let Some(listing) = known else {
        return walk_and_keep(folder);
    };
    let is_first = || with_known(|known| known.walking.insert(folder.to_owned()));
    if listing.made.elapsed() > OLD && is_first() {
        let folder = folder.to_owned();
        // `walking` keeps a second thread from starting for the same folder.
        std::thread::spawn(move || walk_and_keep(&folder));
    }
    listing
}

fn with_known<T>(change: impl FnOnce(&mut Known) -> T) -> T {
    change(&mut KNOWN.lock().unwrap_or_else(PoisonError::into_inner))
}

fn walk_and_keep(folder: &Path) -> Arc<Listing> {
    let listing = Arc::new(Listing {
        names: walk(folder),
        made: Instant::now(),
    });
    with_known(|known| {
        known.walking.remove(folder);
        known.listings.insert(folder.to_owned(), listing.clone());
    });
    listing
}

fn walk(folder: &Path) -> Vec<String> {
    // Ignore files also count where there is no repository.
    let entries = WalkBuilder::new(folder).require_git(false).build();
    let files = entries.flatten().filter(|entry| {
        // Links are listed, because a reference may follow one.
        entry.file_type().is_some_and(|it| !it.is_dir())
    });
    let names = files.filter_map(|entry| {
        let name = entry.path().strip_prefix(folder).ok()?;
        Some(name.to_str()?.to_owned())
    });
    let mut names: Vec<String> = names.take(MOST).collect();
    names.sort_unstable();
    names
}

fn best(names: &[String], typed: &str, limit: usize) -> Vec<String> {
    let scored = names.iter().filter_map(|name| {
        let score = score(name, typed.as_bytes())?;
        Some((Reverse(score), name.len(), name))
    });
    let mut scored: Vec<_> = scored.collect();
    // Only the best are sorted, because a project may have 200,000 names.
    if scored.len() > limit && limit > 0 {
        scored.select_nth_unstable(limit - 1);
        scored.truncate(limit);
    }
    scored.sort_unstable();
    scored.into_iter().map(|(.., name)| name.clone()).collect()
}

/// Returns how well a path fits; `None` if it lacks a letter. The name of the file counts more
/// than its folders.
fn score(path: &str, typed: &[u8]) -> Option<u32> {
    let name = path.rfind('/').map_or(0, |at| at + 1);
    let in_name = subsequence(&path.as_bytes()[name..], typed).map(|score| score + 10);
    in_name.max(subsequence(path.as_bytes(), typed))
}

/// Returns the points of the letters of `typed` in `text`: more if they follow each other or
/// begin a part of the name.
fn subsequence(text: &[u8], typed: &[u8]) -> Option<u32> {
    let (mut score, mut at, mut follows) = (0, 0, false);
    for letter in typed {
        let rest = &text[at..];
        let skipped = rest.iter().position(|it| it.eq_ignore_ascii_case(letter))?;
        let found = at + skipped;
        let begins = found == 0 || !text[found - 1].is_ascii_alphanumeric();
        score += 1 + u32::from(begins) * 4 + u32::from(follows && skipped == 0) * 4;
        (at, follows) = (found + 1, true);
    }
    Some(score)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    fn ranked(typed: &str) -> Vec<String> {
        let names = [
            "README.md",
            "src/lexer.rs",
            "src/lib.rs",
            "tests/lexer_test.rs",
        ];
        best(&names.map(str::to_owned), typed, 10)
    }

    #[test]
    fn letters_in_order_fit_and_the_name_of_the_file_counts_most() {
        assert_eq!(ranked("lex"), ["src/lexer.rs", "tests/lexer_test.rs"]);
        assert_eq!(ranked("t/lex")[0], "tests/lexer_test.rs");
        assert_eq!(ranked("slib"), ["src/lib.rs"]);
        assert_eq!(ranked("READ"), ["README.md"]);
        assert_eq!(ranked("xyz"), Vec::<String>::new());
        assert_eq!(ranked("").len(), 4);
    }

    #[test]
    fn at_most_the_limit_is_returned_and_the_best_are_kept() {
        let names: Vec<String> = (0..1000).map(|at| format!("a/{at}")).collect();
        let found = best(&names, "7", 3);
        assert_eq!(found, ["a/7", "a/70", "a/71"]);
    }

    #[test]
    fn ignored_and_hidden_files_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            (".gitignore", "out\n"),
            ("a b.txt", ""),
            ("out", ""),
            (".env", ""),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(folder.path().join("sub/c.txt"), "").unwrap();
        assert_eq!(matching(folder.path(), "", 9), ["a b.txt", "sub/c.txt"]);
        assert_eq!(matching(folder.path(), "c", 9), ["sub/c.txt"]);
    }
}
