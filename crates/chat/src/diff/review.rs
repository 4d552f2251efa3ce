//! A change of files as a diff that the user edits, and what the user made of it.
//!
//! The user drops hunks and rewrites lines. [`parse`] accepts only what fits the files exactly:
//! a diff that is malformed anywhere yields no texts at all. Counts in hunk headers may be wrong,
//! because they are hard to maintain by hand.

mod account;
mod lines;
mod place;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use self::account::fates;
use self::lines::{Section, sections};
use self::place::placed;
use super::FileDiff;
use super::unified::quoted;

pub use self::account::{Fate, ReviewedHunk, account};

/// Begins the line with the old mode of a file whose mode changes.
const OLD_MODE: &str = "old mode ";

/// A file that a call would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedFile<'t> {
    /// Its name in the call.
    pub name: &'t str,
    /// Its text. `None` if it does not exist, or has no text.
    pub before: Option<&'t str>,
    /// The text that it would have. `None` if it is deleted.
    pub after: Option<&'t str>,
    /// The path to which it is moved.
    pub moved_to: Option<&'t str>,
    /// What its texts do not show, in lines as in Git's diffs. `None` for a short form of it.
    pub head: Option<&'t str>,
}

/// The result of a review for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedFile {
    /// The text that it gets; as before if the user dropped the change. `None` if it is deleted,
    /// or not created.
    pub after: Option<String>,
    /// Whether the user dropped everything that the call would do to it.
    pub is_dropped: bool,
    /// The fate of each hunk, in order.
    pub hunks: Vec<ReviewedHunk>,
}

/// A line of a review that cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The line, zero-based.
    pub line: usize,
    /// The error, and how to correct it.
    pub message: &'static str,
}

/// Prints a change as a diff, which the user edits.
pub fn text(files: &[ChangedFile<'_>]) -> String {
    files.iter().map(ChangedFile::text).collect()
}

/// Reads a diff that the user edited. The files are in the order of `files`.
///
/// # Errors
///
/// The lines that cannot be applied. Nothing of the change may be applied then.
pub fn parse(files: &[ChangedFile<'_>], text: &str) -> Result<Vec<ReviewedFile>, Vec<Malformed>> {
    let sections = sections(files, text)?;
    let mut malformed = Vec::new();
    let mut reviewed = Vec::new();
    for (file, section) in files.iter().zip(&sections) {
        match file.reviewed(section.as_ref()) {
            Ok(file) => reviewed.push(file),
            Err(problem) => malformed.push(problem),
        }
    }
    if malformed.is_empty() {
        Ok(reviewed)
    } else {
        Err(malformed)
    }
}

impl ChangedFile<'_> {
    /// The line that begins the file's part of the diff. No line of a hunk can look like it.
    fn header(&self) -> String {
        let name = |side: char, name: &str| {
            let name = format!("{side}/{}", name.trim_start_matches('/'));
            quoted(&name).trim_end().to_owned()
        };
        let new = self.moved_to.unwrap_or(self.name);
        format!("diff --git {} {}", name('a', self.name), name('b', new))
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n", self.header());
        // For the user only: `sections` skips these lines.
        text.push_str(match (self.head, self.before, self.after, self.moved_to) {
            (Some(head), ..) => head,
            (_, _, None, _) => "deleted file\n",
            (_, None, ..) => "new file\n",
            (.., Some(_)) => "rename\n",
            _ => "",
        });
        let (before, after) = self.lines();
        let exists = (self.before.is_some(), self.after.is_some());
        text.push_str(&FileDiff::of(&before, &after).unified(self.name, exists));
        text
    }

    /// Whether more than its text changes, which then stays although all hunks are dropped.
    fn has_more(&self) -> bool {
        let is_other_mode = self.head.is_some_and(|it| it.contains(OLD_MODE));
        self.moved_to.is_some() || is_other_mode
    }

    /// Whether all lines end at `\r\n`. The user sees and writes no `\r` then.
    fn has_returns(&self) -> bool {
        let texts = || [self.before, self.after].into_iter().flatten();
        let count = |pattern: &str| texts().map(|it| it.matches(pattern).count()).sum::<usize>();
        count("\n") > 0 && count("\n") == count("\r\n")
    }

    /// Both texts, as the diff shows them.
    fn lines(&self) -> (Cow<'_, str>, Cow<'_, str>) {
        let (before, after) = (
            self.before.unwrap_or_default(),
            self.after.unwrap_or_default(),
        );
        if self.has_returns() {
            (
                before.replace("\r\n", "\n").into(),
                after.replace("\r\n", "\n").into(),
            )
        } else {
            (before.into(), after.into())
        }
    }

    /// Applies the file's part of an edited diff. `None` if the user removed it.
    fn reviewed(&self, section: Option<&Section<'_>>) -> Result<ReviewedFile, Malformed> {
        let (before, after) = self.lines();
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let hunks = section.map_or(&[][..], |it| &it.hunks);
        let (text, changes) = placed(hunks, &old)?;
        let diff = FileDiff::of(&before, &after);
        let is_dropped = match section {
            None => true,
            // A file without hunks is dropped with its header.
            Some(_) => changes.is_empty() && !diff.is_empty() && !self.has_more(),
        };
        let after = match is_dropped {
            true => self.before.map(str::to_owned),
            // The user kept the removal of every line, so the file is deleted.
            false if self.after.is_none() && text.is_empty() => None,
            false if self.has_returns() => Some(text.replace('\n', "\r\n")),
            false => Some(text),
        };
        Ok(ReviewedFile {
            after,
            is_dropped,
            hunks: fates(&diff, &changes, &old),
        })
    }
}
