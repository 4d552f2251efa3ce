//! The difference of two texts of a file: hunks of lines, changed words, and counts.
//!
//! Knows texts only: the caller reads files. Lines end at `\n`, as for `patch`; a `\r` before it
//! is part of the line. Work and memory are bounded, so that no text stalls the caller: where
//! the limits are reached, more lines count as changed than need to.
//!
//! Also unified diffs as text, for `patch` and `git apply`; what the arguments of a call say
//! about the texts of files ([`StatedChange`]); and changes that lines don't show ([`Note`]).

pub mod review;
mod shown;

use core::fmt;
use core::iter::Sum;
use core::time::Duration;
use std::borrow::Cow;
use std::fmt::Write;

use similar::{Algorithm, DiffOp, DiffTag, TextDiff, group_diff_ops};

use crate::text::Lines;

pub use shown::{Extent, Row, RowKind, ShownDiff, Wrapped, shown, wrapped};

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
    /// True if `\r` at the end of a line means something: not all lines have it.
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
        let notes = notes(before, after);
        let shows_returns = shows_returns(before, after);
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

/// The remark after a line without a line break.
pub const NO_NEWLINE: &str = "\\ No newline at end of file";

/// The name of a file that does not exist.
const NONE: &str = "/dev/null";

impl FileDiff<'_> {
    /// Prints the difference of a file. `exists` says whether it does before and after. Texts
    /// that are equal print nothing.
    pub fn unified(&self, name: &str, exists: (bool, bool)) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut text = String::new();
        for (sign, side, exists) in [("---", 'a', exists.0), ("+++", 'b', exists.1)] {
            let name = if exists {
                // An absolute name would otherwise get two slashes after the side.
                quoted(&format!("{side}/{}", name.trim_start_matches('/'))).into_owned()
            } else {
                NONE.to_owned()
            };
            text.push_str(&format!("{sign} {name}\n"));
        }
        for hunk in self.hunks(MOST_CONTEXT) {
            hunk.print(&mut text);
        }
        text
    }
}

impl Hunk<'_> {
    /// `@@ -1,3 +1,4 @@`.
    pub fn header(&self) -> String {
        format!("@@ -{} +{} @@", range(&self.before), range(&self.after))
    }

    fn print(&self, text: &mut String) {
        text.push_str(&self.header());
        text.push('\n');
        for line in &self.lines {
            text.push(line.kind.sign());
            text.push_str(line.text);
            if !line.text.ends_with('\n') {
                text.push_str(&format!("\n{NO_NEWLINE}\n"));
            }
        }
    }
}

impl LineKind {
    /// The first character of the line in a unified diff.
    pub fn sign(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Added => '+',
            Self::Removed => '-',
        }
    }
}

/// First line, from 1, and number of lines. An empty range is named by the line above it.
fn range(lines: &Lines) -> String {
    let first = lines.start + usize::from(!lines.is_empty());
    format!("{first},{}", lines.len())
}

/// Quotes a name as Git does, if it would not end at the end of its line.
fn quoted(name: &str) -> Cow<'_, str> {
    let is_plain = |it: char| !it.is_control() && !matches!(it, '"' | '\\');
    if name.chars().all(is_plain) {
        // A tab ends a name that contains blanks.
        return if name.contains(' ') {
            format!("{name}\t").into()
        } else {
            name.into()
        };
    }
    let mut quoted = String::from("\"");
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'~' => quoted.push(char::from(byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(quoted, "\\{byte:03o}")),
        }
    }
    quoted.push('"');
    quoted.into()
}

/// The changes of a call in files, as far as its arguments state them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatedChange {
    /// Names of the arguments that say it.
    pub arguments: &'static [&'static str],
    /// The files, in the order of the arguments.
    pub files: Vec<StatedFile>,
}

/// A file of a [`StatedChange`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatedFile {
    /// The file as the call names it.
    pub name: String,
    /// Changes that texts don't show, such as `deleted`.
    pub remark: Option<String>,
    /// Pieces of its text, and what replaces each.
    pub texts: Vec<(String, String)>,
}

impl StatedChange {
    /// Returns how many lines the call adds and removes. `None` if it replaces no text.
    pub fn counts(&self) -> Option<Counts> {
        let has_texts = self.files.iter().any(|it| !it.texts.is_empty());
        has_texts.then(|| self.files.iter().map(StatedFile::counts).sum())
    }
}

impl StatedFile {
    /// Returns how many lines of the file are added and removed.
    pub fn counts(&self) -> Counts {
        let texts = self.texts.iter();
        texts
            .map(|(before, after)| FileDiff::of(before, after).counts)
            .sum()
    }
}

/// The byte order mark.
const MARK: char = '\u{feff}';

/// A change that lines don't show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// The text gets other line endings.
    Endings(Ending, Ending),
    /// A new text has `\r\n`.
    Returns,
    /// The text gets a byte order mark.
    MarkAdded,
    /// The text loses its byte order mark.
    MarkRemoved,
}

/// The line endings of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// `\n`.
    Newline,
    /// `\r\n`.
    ReturnNewline,
    /// Both.
    Mixed,
}

impl Note {
    /// A few words for the user.
    pub fn text(self) -> String {
        match self {
            Self::Endings(from, to) => format!("line endings {} → {}", from.name(), to.name()),
            Self::Returns => "CRLF line endings".to_owned(),
            Self::MarkAdded => "byte order mark added".to_owned(),
            Self::MarkRemoved => "byte order mark removed".to_owned(),
        }
    }
}

impl Ending {
    /// The endings of a text; `None` if it has only one line.
    fn of(text: &str) -> Option<Self> {
        let all = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        match text.matches("\r\n").count() {
            _ if all == 0 => None,
            0 => Some(Self::Newline),
            pairs if pairs == all => Some(Self::ReturnNewline),
            _ => Some(Self::Mixed),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Newline => "LF",
            Self::ReturnNewline => "CRLF",
            Self::Mixed => "mixed",
        }
    }
}

/// Returns what lines don't show of a change from `before` to `after`. A text that is emptied
/// has none.
fn notes(before: &str, after: &str) -> Vec<Note> {
    if after.is_empty() {
        return Vec::new();
    }
    let endings = match (Ending::of(before), Ending::of(after)) {
        // For a new text, `\n` is expected and needs no note.
        (None, Some(Ending::ReturnNewline)) if before.is_empty() => Some(Note::Returns),
        // A text of one line has no line endings to compare.
        (Some(from), Some(to)) if from != to => Some(Note::Endings(from, to)),
        _ => None,
    };
    let mark = match (before.starts_with(MARK), after.starts_with(MARK)) {
        (false, true) => Some(Note::MarkAdded),
        (true, false) => Some(Note::MarkRemoved),
        _ => None,
    };
    endings.into_iter().chain(mark).collect()
}

/// Returns true unless all lines of both texts end in `\r\n`.
fn shows_returns(before: &str, after: &str) -> bool {
    let ends = |text| Ending::of(text).is_none_or(|it| it == Ending::ReturnNewline);
    !ends(before) || !ends(after)
}

#[cfg(test)]
mod tests;
