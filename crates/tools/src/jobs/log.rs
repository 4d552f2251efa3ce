//! The output of a job: its end in memory, and how far the model has read it.

use std::path::PathBuf;

use chat::preview::one_line;
use chat::truncate::{ceil_char_boundary, truncate_tail};
use serde::Serialize;

use crate::screen::last_state;

/// Bytes that remain when the kept end is trimmed…
const KEPT: usize = 256 * 1024;
/// …which happens at this size.
const CUT_AT: usize = 2 * KEPT;
/// Maximum bytes and lines of a [`LogPart`], which an editor inserts within a frame.
const PART: usize = 32 * 1024;
const PART_LINES: usize = 1000;
/// Maximum columns of an unfinished line.
const UNFINISHED: usize = 200;

/// The output of a job. Positions in it are bytes from its start.
#[derive(Debug, Default)]
pub(super) struct Log {
    kept: String,
    /// The position of `kept`.
    start: u64,
    /// The position up to which the model has read it.
    read: u64,
    /// The file with the output from its start, if it is long.
    pub(super) file: Option<PathBuf>,
}

/// Lines that the model has not read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NewLines {
    /// The lines, without the last line end.
    pub text: String,
    /// True if lines before them are left out.
    pub is_cut: bool,
    /// A line that is not complete yet.
    pub unfinished: String,
}

/// A part of a job's output for a front end that follows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogPart {
    /// Its complete lines; all if the job has ended.
    pub lines: Vec<String>,
    /// A line that is not complete yet.
    pub unfinished: String,
    /// The position from which the next part is asked for.
    pub next: u64,
    /// True if output before it is left out.
    pub is_cut: bool,
    /// How the job ended, a sentence; nothing more follows then.
    pub end: Option<String>,
}

impl Log {
    pub(super) fn push(&mut self, text: &str) {
        self.kept.push_str(text);
        if self.kept.len() >= CUT_AT {
            let cut = ceil_char_boundary(&self.kept, self.kept.len() - KEPT);
            self.kept.drain(..cut);
            self.start += cut as u64;
        }
    }

    /// Returns true if there are lines that the model has not read.
    pub(super) fn has_news(&self) -> bool {
        self.after(self.read).0.contains('\n')
    }

    /// Returns the lines that the model has not read; with `all`, also the last one.
    pub(super) fn take_new(&mut self, all: bool) -> NewLines {
        let (new, mut is_cut) = self.after(self.read);
        let (complete, rest) = split(new, all);
        let text = last_state(complete);
        let kept = truncate_tail(&text);
        is_cut |= kept.truncated_by.is_some();
        let lines = NewLines {
            text: kept.content.to_owned(),
            is_cut,
            unfinished: unfinished(rest),
        };
        self.read = self.start + (self.kept.len() - rest.len()) as u64;
        lines
    }

    /// Returns the output from a position on, or the end of it.
    pub(super) fn part(&self, from: u64, end: Option<String>) -> LogPart {
        let (mut new, mut is_cut) = self.after(from);
        if new.len() > PART {
            let end = &new[ceil_char_boundary(new, new.len() - PART)..];
            new = end.split_once('\n').map_or(end, |(_, rest)| rest);
            is_cut = true;
        }
        let (complete, rest) = split(new, end.is_some());
        let text = last_state(complete);
        let over = text.lines().count().saturating_sub(PART_LINES);
        is_cut |= over > 0;
        LogPart {
            lines: text.lines().skip(over).map(str::to_owned).collect(),
            unfinished: unfinished(rest),
            next: self.start + (self.kept.len() - rest.len()) as u64,
            is_cut,
            end,
        }
    }

    /// Returns the last line that is not blank.
    pub(super) fn last_line(&self) -> String {
        let cut = self.kept.len().saturating_sub(PART);
        let end = last_state(&self.kept[ceil_char_boundary(&self.kept, cut)..]);
        let line = end.lines().rfind(|it| !it.trim().is_empty());
        one_line(line.unwrap_or_default(), UNFINISHED)
    }

    /// Returns the output after a position, and whether output between is not kept.
    fn after(&self, position: u64) -> (&str, bool) {
        let at = usize::try_from(position.saturating_sub(self.start)).unwrap_or(usize::MAX);
        // A front end may name any position.
        let at = ceil_char_boundary(&self.kept, at.min(self.kept.len()));
        (&self.kept[at..], position < self.start)
    }
}

/// Splits output into its complete lines and the rest.
fn split(text: &str, all: bool) -> (&str, &str) {
    let end = if all {
        text.len()
    } else {
        text.rfind('\n').map_or(0, |it| it + 1)
    };
    text.split_at(end)
}

fn unfinished(rest: &str) -> String {
    let cut = rest.len().saturating_sub(PART);
    one_line(
        last_state(&rest[ceil_char_boundary(rest, cut)..]).trim_end(),
        UNFINISHED,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str, is_cut: bool, unfinished: &str) -> NewLines {
        NewLines {
            text: text.to_owned(),
            is_cut,
            unfinished: unfinished.to_owned(),
        }
    }

    #[test]
    fn the_model_reads_each_line_once_and_whole() {
        let mut log = Log::default();
        assert!(!log.has_news());
        log.push("one\ntw");
        assert!(log.has_news());
        assert_eq!(log.take_new(false), taken("one", false, "tw"));
        assert_eq!(log.take_new(false), taken("", false, "tw"));
        log.push("o\nthree");
        assert_eq!(log.take_new(false), taken("two", false, "three"));
        assert_eq!(log.take_new(true), taken("three", false, ""));
        assert_eq!(log.take_new(true), taken("", false, ""));
    }

    #[test]
    fn lines_that_were_drawn_over_are_read_in_their_last_state() {
        let mut log = Log::default();
        log.push("1%\r\u{1b}[2K2%\ndone\n3%\r4%");
        assert_eq!(log.last_line(), "4%");
        assert_eq!(log.take_new(false), taken("2%\ndone", false, "4%"));
    }

    #[test]
    fn a_flood_stays_within_bounds_and_says_what_it_lacks() {
        let mut log = Log::default();
        log.push("first\n");
        let _ = log.take_new(false);
        let line = "x".repeat(99) + "\n";
        for _ in 0..200_000 {
            log.push(&line);
            assert!(log.kept.len() < CUT_AT);
        }
        let part = log.part(0, None);
        assert!(part.is_cut && part.lines.len() <= PART / 100);
        assert!(part.lines.iter().all(|it| it.len() == 99));
        log.push(&"\n".repeat(PART_LINES + 1));
        let blank = log.part(part.next, None);
        assert!(blank.is_cut && blank.lines.len() == PART_LINES);
        assert_eq!(part.next, 6 + 200_000 * 100);
        let new = log.take_new(false);
        assert!(new.is_cut && new.text.len() <= chat::truncate::MAX_BYTES);
        assert_eq!(log.take_new(false), taken("", false, ""));
        assert_eq!(log.part(blank.next, Some(String::new())).lines, [""; 0]);
    }

    #[test]
    fn who_follows_gets_what_is_new_since_the_last_part() {
        let mut log = Log::default();
        log.push("é\nb");
        let part = log.part(0, None);
        assert_eq!(
            (part.lines.as_slice(), part.unfinished.as_str()),
            (&["é".to_owned()][..], "b")
        );
        log.push("c\n");
        let next = log.part(part.next, None);
        assert_eq!(next.lines, ["bc"]);
        // A position inside a character, and one beyond the end.
        assert_eq!(log.part(1, None).lines, ["", "bc"]);
        assert_eq!(log.part(u64::MAX, Some(String::new())).lines, [""; 0]);
    }
}
