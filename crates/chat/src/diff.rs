//! The difference of two texts of a file: hunks of lines, changed words, and counts.
//!
//! Knows texts only: the caller reads files. Lines end at `\n`, as for `patch`; a `\r` before it
//! is part of the line. Work and memory are bounded, so that no text stalls the caller: where
//! the limits are reached, more lines count as changed than need to.

mod notes;
pub mod review;
mod shown;
mod stated;
mod unified;
mod words;

#[cfg(test)]
mod tests;

use core::fmt;
use core::iter::Sum;
use core::time::Duration;

use similar::{Algorithm, DiffOp, DiffTag, TextDiff, group_diff_ops};

use crate::text::Lines;

pub use notes::Note;
pub use shown::{Extent, Row, RowKind, ShownDiff, Wrapped, shown, wrapped};
pub use stated::{StatedChange, StatedFile};
pub use unified::NO_NEWLINE;

/// Maximum lines of context around changes.
pub const MOST_CONTEXT: usize = 3;
/// Maximum changed lines of each text that are compared. Of larger changes, all lines between
/// the first and the last difference count as changed.
const MOST_LINES: usize = 50_000;
/// Maximum time for comparing lines.
const TIME: Duration = Duration::from_millis(200);

/// The difference of two texts.
#[derive(Debug, Clone)]
pub struct FileDiff<'t> {
    /// The lines that are compared, with their ends: all that differ, and a few around them.
    before: Vec<&'t str>,
    after: Vec<&'t str>,
    /// Number of equal lines above the compared ones.
    above: usize,
    ops: Vec<DiffOp>,
    /// Numbers of added and removed lines.
    pub counts: Counts,
    /// Changes that lines don't show.
    pub notes: Vec<Note>,
    /// Whether `\r` at the end of a line means something: not all lines have it.
    shows_returns: bool,
}

/// Numbers of added and removed lines. Displayed as `+12 −3`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
}

/// The effect of a change on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// It is in both texts.
    Context,
    /// It is in the new text only.
    Added,
    /// It is in the old text only.
    Removed,
}

/// A line of a [`Hunk`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'t> {
    /// The effect of the change on it.
    pub kind: LineKind,
    /// Its number in the old text, zero-based.
    pub before: Option<usize>,
    /// Its number in the new text, zero-based.
    pub after: Option<usize>,
    /// The line with its end. Only the last line of a text may have none.
    pub text: &'t str,
}

/// Changed lines that are near each other, with the lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'t> {
    /// Lines of the old text.
    pub before: Lines,
    /// Lines of the new text.
    pub after: Lines,
    /// All lines. Of a replaced block, removed lines come first.
    pub lines: Vec<Line<'t>>,
}

impl<'t> FileDiff<'t> {
    /// Compares two texts. A file that does not exist has the empty text.
    pub fn of(before: &'t str, after: &'t str) -> Self {
        let notes = notes::notes(before, after);
        let shows_returns = notes::shows_returns(before, after);
        let (above, before, after) = differing(before, after);
        let is_large = before.len().max(after.len()) > MOST_LINES;
        let ops = if is_large {
            coarse(&before, &after)
        } else {
            let mut config = TextDiff::configure();
            // Without a time limit, unlike texts would take quadratic time.
            config.algorithm(Algorithm::Myers).timeout(TIME);
            config.diff_slices(&before, &after).ops().to_vec()
        };
        let changed = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
        let (removed, added) = changed.fold((0, 0), |(removed, added), op| {
            (removed + op.old_range().len(), added + op.new_range().len())
        });
        Self {
            before,
            after,
            above,
            ops,
            counts: Counts { added, removed },
            notes,
            shows_returns,
        }
    }

    /// Returns true if the texts are equal.
    pub fn is_empty(&self) -> bool {
        self.counts == Counts::default()
    }

    /// Returns the hunks with this many lines of context, at most [`MOST_CONTEXT`].
    pub fn hunks(&self, context: usize) -> Vec<Hunk<'t>> {
        let groups = group_diff_ops(self.ops.clone(), context.min(MOST_CONTEXT));
        let changes = |group: &&Vec<DiffOp>| group.iter().any(|op| op.tag() != DiffTag::Equal);
        let groups = groups.iter().filter(changes);
        groups.map(|group| self.hunk(group)).collect()
    }

    fn hunk(&self, group: &[DiffOp]) -> Hunk<'t> {
        let range = |range: fn(&DiffOp) -> Lines| {
            let start = group.first().map_or(0, |op| range(op).start);
            let end = group.last().map_or(0, |op| range(op).end);
            start + self.above..end + self.above
        };
        Hunk {
            before: range(DiffOp::old_range),
            after: range(DiffOp::new_range),
            lines: group.iter().flat_map(|op| self.lines_of(op)).collect(),
        }
    }

    fn lines_of(&self, op: &DiffOp) -> Vec<Line<'t>> {
        let line = |kind, before: Option<usize>, after: Option<usize>, text| Line {
            kind,
            before: before.map(|at| at + self.above),
            after: after.map(|at| at + self.above),
            text,
        };
        if op.tag() == DiffTag::Equal {
            let both = op.old_range().zip(op.new_range());
            let context = both.map(|(before, after)| {
                let text = self.after[after];
                line(LineKind::Context, Some(before), Some(after), text)
            });
            return context.collect();
        }
        let removed = op.old_range();
        let removed = removed.map(|at| line(LineKind::Removed, Some(at), None, self.before[at]));
        let added = op.new_range();
        let added = added.map(|at| line(LineKind::Added, None, Some(at), self.after[at]));
        removed.chain(added).collect()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "+{} −{}", self.added, self.removed)
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, it| Self {
            added: sum.added + it.added,
            removed: sum.removed + it.removed,
        })
    }
}

/// One change of everything but the equal lines at start and end.
fn coarse(before: &[&str], after: &[&str]) -> Vec<DiffOp> {
    let most = before.len().min(after.len());
    let both = before.iter().zip(after);
    let start = both.take_while(|(before, after)| before == after).count();
    let both = before.iter().rev().zip(after.iter().rev());
    let same = both.take(most - start);
    let end = same.take_while(|(before, after)| before == after).count();
    let equal = |old_index, new_index, len| DiffOp::Equal {
        old_index,
        new_index,
        len,
    };
    let change = DiffOp::Replace {
        old_index: start,
        old_len: before.len() - start - end,
        new_index: start,
        new_len: after.len() - start - end,
    };
    let last = equal(before.len() - end, after.len() - end, end);
    let ops = [equal(0, 0, start), change, last];
    // Empty operations would count as changes.
    let is_any = |op: &DiffOp| !op.old_range().is_empty() || !op.new_range().is_empty();
    ops.into_iter().filter(is_any).collect()
}

/// Returns the lines from shortly above the first difference to shortly below the last one, and
/// the number of lines above them. Most changes of large files are small.
fn differing<'t>(before: &'t str, after: &'t str) -> (usize, Vec<&'t str>, Vec<&'t str>) {
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let same = old.iter().zip(new).take_while(|(old, new)| old == new);
    // Cut at line ends, so never inside a character.
    let start = old[..same.count()].iter().rposition(|it| *it == b'\n');
    let start = start.map_or(0, |newline| newline + 1);
    let most = old.len().min(new.len()) - start;
    let same = old.iter().rev().zip(new.iter().rev()).take(most);
    let same = same.take_while(|(old, new)| old == new).count();
    // Equal ends of differing lines are not equal lines.
    let end = old[old.len() - same..].iter().position(|it| *it == b'\n');
    let end = end.map_or(0, |newline| same - newline - 1);
    let start = lines_above(&before[..start]);
    let (old_end, new_end) = (before.len() - end, after.len() - end);
    let below = lines_below(&before[old_end..]);
    let above = before[..start].matches('\n').count();
    let old = before[start..old_end + below].split_inclusive('\n');
    let new = after[start..new_end + below].split_inclusive('\n');
    (above, old.collect(), new.collect())
}

/// Returns where the last lines of a text start.
fn lines_above(text: &str) -> usize {
    let mut breaks = text.rmatch_indices('\n');
    let newline = breaks.nth(MOST_CONTEXT);
    newline.map_or(0, |(at, _)| at + 1)
}

/// Returns where the first lines of a text end.
fn lines_below(text: &str) -> usize {
    let mut lines = text.match_indices('\n');
    // The first one may be the rest of a line that differs.
    let newline = lines.nth(MOST_CONTEXT);
    newline.map_or(text.len(), |(at, _)| at + 1)
}
