//! The `.chat` document and the state machine that decides what happens next.
//!
//! Pure: no I/O, no clock, no async, no RPC. The buffer is the state; everything here is a
//! function of the text, the options, and what is running.

pub mod address;
pub mod answer;
pub mod approval;
pub mod complete;
pub mod context;
pub mod copies;
pub mod cycle;
pub mod diff;
pub mod document;
pub mod fields;
pub mod folds;
pub mod html;
pub mod json;
pub mod links;
mod markdown;
pub mod marks;
pub mod movement;
pub mod new_problems;
pub mod origin;
pub mod outcome;
pub mod outline;
pub mod preview;
pub mod prompt;
pub mod references;
pub mod result_files;
pub mod say;
pub mod scan;
pub mod schema;
pub mod server_tools;
pub mod shorten;
pub mod spans;
pub mod status;
pub mod summary;
pub mod template;
pub mod text;
pub mod title;
pub mod tool;
pub mod truncate;
mod visible;
pub mod write;

use std::fmt;

/// An error for the user, with its fix.
///
/// Both are full sentences. `what` names the place, the fact, and its consequence, and
/// quotes the user's text. `fix` is the next step, or empty if there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The error and its consequence.
    pub what: String,
    /// The next step.
    pub fix: String,
}

impl Problem {
    /// Creates a problem with its fix.
    pub fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if !self.fix.is_empty() {
            write!(f, " {}", self.fix)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

/// Maximum length of a compared word in bytes; a longer one is not a typo.
const MAX_LENGTH: usize = 128;
/// Maximum number of mistakes in a word of any length.
const MAX_MISTAKES: usize = 3;

/// Returns the name with the smallest edit distance to `word`, ignoring case.
///
/// Allows one mistake per three letters of the name, so a word of two letters has no
/// suggestion. An edit inserts, removes, or replaces a letter, or swaps two neighbors.
/// Among equal distances, the alphabetically first name wins.
pub fn suggest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_LENGTH {
        return None;
    }
    let word = word.to_lowercase();
    let distance = |name: &str| strsim::osa_distance(&name.to_lowercase(), &word);
    let is_near = |distance: usize, name: &str| {
        distance <= MAX_MISTAKES && distance <= name.chars().count() / 3
    };
    let names = names.into_iter().map(|name| (distance(name), name));
    let best = names.filter(|&(distance, name)| is_near(distance, name));
    best.min().map(|(_, name)| name)
}

/// Returns a sentence with the suggestion for `word` and a space before it, or nothing.
pub fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    match suggest(word, names) {
        Some(name) => format!(" Did you mean \"{name}\"?"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fix_follows_the_problem() {
        let with = Problem::new("It failed.", "Press the key again.");
        assert_eq!(with.to_string(), "It failed. Press the key again.");
        let without = Problem::new("It failed.", "");
        assert_eq!(without.to_string(), "It failed.");
    }

    #[test]
    fn one_mistake_per_three_letters_is_allowed() {
        let names = ["bash", "calculator", "edit", "ls", "read", "write"];
        for (word, expected) in [
            ("bsah", Some("bash")),
            ("BASH", Some("bash")),
            ("calculater", Some("calculator")),
            ("clacualtor", Some("calculator")),
            ("task", None),
            ("sl", None),
            ("web_search", None),
        ] {
            assert_eq!(suggest(word, names), expected, "{word}");
        }
        assert_eq!(suggest(&"x".repeat(200), names), None);
    }
}
