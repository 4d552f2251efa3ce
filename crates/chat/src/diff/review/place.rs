//! Where the hunks of an edited diff fit in the old text. Nothing is guessed: a hunk that fits
//! nowhere, or in several places, is refused.

use core::ops::Range;

use super::Malformed;
use super::{EditedHunk, EditedLine};
use crate::diff::{Hunk, LineKind};

/// A range of lines of the old text, and the lines that replace it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineChange {
    pub gone: Range<usize>,
    pub new: Vec<String>,
}

const ELSEWHERE: &str = "The file does not have this line here. To keep a removed line, replace its - by a space instead of \
                         deleting it.";
const AMBIGUOUS: &str = "This hunk fits in several places. Undo to restore its unchanged lines.";
const OVERLAPS: &str = "This hunk overlaps the one above it, or belongs above it.";
const OPEN: &str = "Only the last line of a file can have no line break. Remove \"\\ No newline at end of file\" below it.";

/// Applies hunks to the lines of a text. Returns the new text, and what changed.
pub(super) fn placed(
    hunks: &[EditedHunk<'_>],
    old: &[&str],
) -> Result<(String, Vec<LineChange>), Malformed> {
    let (mut text, mut changes, mut end) = (String::new(), Vec::new(), 0);
    // The last line so far that has no line break.
    let mut open = None;
    for hunk in hunks {
        let start = place(hunk, old)?;
        let skipped = old.get(end..start).ok_or(at(hunk.line, OVERLAPS))?;
        for line in skipped {
            close(&mut open)?;
            text.push_str(line);
        }
        for line in hunk.lines.iter().filter(|it| it.kind != LineKind::Removed) {
            close(&mut open)?;
            text.push_str(line.text);
            if line.is_open {
                open = Some(line.line)
            } else {
                text.push('\n')
            }
        }
        // The next hunk must start below this one.
        end = start + old_lines(hunk).count();
        let lines = hunk.lines.iter().map(|it| (it.kind, it.text, !it.is_open));
        changes.extend(changed(lines, start, old));
    }
    for line in &old[end..] {
        close(&mut open)?;
        text.push_str(line);
    }
    Ok((text, changes))
}

/// Refuses a line without a line break, because another follows.
fn close(open: &mut Option<usize>) -> Result<(), Malformed> {
    match open.take() {
        Some(line) => Err(at(line, OPEN)),
        None => Ok(()),
    }
}

fn at(line: usize, message: &'static str) -> Malformed {
    Malformed { line, message }
}

fn old_lines<'h, 't>(hunk: &'h EditedHunk<'t>) -> impl Iterator<Item = &'h EditedLine<'t>> {
    hunk.lines.iter().filter(|it| it.is_old())
}

/// Returns where the old lines of a hunk are in the text.
fn place(hunk: &EditedHunk<'_>, old: &[&str]) -> Result<usize, Malformed> {
    let wanted: Vec<&EditedLine<'_>> = old_lines(hunk).collect();
    let fits = |start: usize| {
        let there = start.checked_add(wanted.len());
        let there = there.and_then(|end| old.get(start..end));
        there.is_some_and(|there| wanted.iter().zip(there).all(|(line, old)| line.is(old)))
    };
    // With as many lines as before, the hunk is where it was.
    if wanted.len() == hunk.count && fits(hunk.start) {
        return Ok(hunk.start);
    }
    // The user may have added context above the hunk, or deleted context at its top.
    let added = wanted.len().saturating_sub(hunk.count);
    let first = hunk.start.saturating_sub(added);
    let last = hunk.start.saturating_add(hunk.count).min(old.len());
    let mut places = (first..=last).filter(|start| fits(*start));
    match (places.next(), places.next()) {
        (Some(start), None) => Ok(start),
        (Some(_), Some(_)) => Err(at(hunk.line, AMBIGUOUS)),
        (None, _) => Err(at(misfit(hunk, old), ELSEWHERE)),
    }
}

/// Returns the first line of a hunk that is not in the text where the hunk is.
fn misfit(hunk: &EditedHunk<'_>, old: &[&str]) -> usize {
    let there = old.get(hunk.start..).unwrap_or_default();
    let same = old_lines(hunk)
        .zip(there)
        .take_while(|(line, old)| line.is(old));
    let line = old_lines(hunk).nth(same.count());
    line.map_or(hunk.line, |it| it.line)
}

/// Returns the changes that a hunk of the original diff makes.
pub(super) fn of_hunk(hunk: &Hunk<'_>, old: &[&str]) -> Vec<LineChange> {
    let lines = hunk.lines.iter().map(|it| {
        let text = it.text.strip_suffix('\n');
        (it.kind, text.unwrap_or(it.text), text.is_some())
    });
    changed(lines, hunk.before.start, old)
}

/// Returns what the lines of a hunk change: kind, text, and whether it has a line break.
fn changed<'t>(
    lines: impl Iterator<Item = (LineKind, &'t str, bool)>,
    start: usize,
    old: &[&str],
) -> Vec<LineChange> {
    let mut changes: Vec<LineChange> = Vec::new();
    let mut next = start;
    for (kind, text, is_closed) in lines {
        if kind == LineKind::Context {
            next += 1;
            continue;
        }
        // Changes with no unchanged line between them are one.
        if changes.last().is_none_or(|it| it.gone.end != next) {
            let (gone, new) = (next..next, Vec::new());
            changes.push(LineChange { gone, new });
        }
        // Never empty here, because a change was just added if there was none.
        let Some(change) = changes.last_mut() else {
            continue;
        };
        if kind == LineKind::Removed {
            next += 1;
            change.gone.end = next;
        } else {
            let end = if is_closed { "\n" } else { "" };
            change.new.push(format!("{text}{end}"));
        }
    }
    changes.iter_mut().for_each(|it| it.trim(old));
    changes.retain(|it| !it.gone.is_empty() || !it.new.is_empty());
    changes
}

impl LineChange {
    /// Leaves out lines at both ends that stay as they are.
    fn trim(&mut self, old: &[&str]) {
        while !self.gone.is_empty()
            && self
                .new
                .first()
                .is_some_and(|it| it == old[self.gone.start])
        {
            self.gone.start += 1;
            self.new.remove(0);
        }
        while !self.gone.is_empty()
            && self
                .new
                .last()
                .is_some_and(|it| it == old[self.gone.end - 1])
        {
            self.gone.end -= 1;
            self.new.pop();
        }
    }
}
