//! A difference as rows of a screen, for review by the user.
//!
//! The texts are untrusted, so nothing in them may hide: invisible characters are spelled out,
//! long lines are wrapped, and a cut is visible.
//!
//! Changed words are marked in lines that were replaced.

use core::ops::Range;
use core::time::Duration;

use similar::{DiffTag, TextDiff};
use unicode_width::UnicodeWidthStr;

use super::{FileDiff, Hunk, Line, LineKind, NO_NEWLINE};
use crate::visible::push_visible;

/// Lines of context in a preview.
const CONTEXT: usize = 2;

/// A difference with too many lines is cut to this many.
const FIRST_OF: usize = 3;

/// Maximum rows of one line of a difference.
const MOST_ROWS: usize = 3;

/// Columns between tab stops.
const TAB: usize = 4;

/// Least columns of a row, in windows that are narrower than the line numbers need.
const LEAST_COLUMNS: usize = 8;

/// The kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowKind {
    /// A line of the file.
    Line(LineKind),
    /// Lines are left out here.
    Gap,
    /// A remark about the line above.
    Remark,
}

/// A row of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Row {
    /// Its kind.
    pub kind: RowKind,
    /// The number of its line from 1, in the new text unless the line is removed. `None` if it
    /// continues the row above, or is not a line.
    pub number: Option<usize>,
    /// The text, without line end.
    pub text: String,
    /// Changed words, in bytes of the text.
    pub changed: Vec<Range<usize>>,
}

impl Row {
    /// The row between parts of a file that are not shown.
    pub fn gap() -> Self {
        Self {
            kind: RowKind::Gap,
            number: None,
            text: "⋯".to_owned(),
            changed: Vec::new(),
        }
    }
}

/// The rows of a difference.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ShownDiff {
    /// All rows from top to bottom.
    pub rows: Vec<Row>,
    /// Number of lines that are left out below.
    pub hidden: usize,
    /// Columns of the line numbers.
    pub digits: usize,
}

/// Returns the rows of a difference for `width` columns, which include line numbers and signs.
/// If a difference has more than `whole` lines, only the first third of that many are shown.
pub fn shown(diff: &FileDiff<'_>, width: usize, whole: usize) -> ShownDiff {
    let hunks = diff.hunks(CONTEXT);
    let total: usize = hunks.iter().map(|hunk| hunk.lines.len()).sum();
    let most = if total > whole {
        whole.div_ceil(FIRST_OF)
    } else {
        total
    };
    let last = hunks.last();
    let last = last.map_or(0, |hunk| hunk.before.end.max(hunk.after.end));
    // Wide enough for the line numbers of both texts.
    let digits = last.to_string().len();
    let mut rows = Rows {
        rows: Vec::new(),
        // A blank, the sign, and a blank.
        columns: width.saturating_sub(digits + 3).max(LEAST_COLUMNS),
        returns: diff.shows_returns,
        most: MOST_ROWS,
        is_cut: false,
    };
    let mut left = most;
    for hunk in &hunks {
        // Later hunks get only the lines that are left.
        left = rows.hunk(hunk, left);
    }
    ShownDiff {
        rows: rows.rows,
        hidden: total - most,
        digits,
    }
}

/// How much of a text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Most lines.
    pub lines: usize,
    /// Most rows of each line.
    pub rows: usize,
}

/// A text as rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wrapped {
    /// All rows from top to bottom.
    pub rows: Vec<String>,
    /// Number of lines that are left out below.
    pub hidden: usize,
    /// True if the end of a line is left out.
    pub is_cut: bool,
}

/// Returns the first lines of a text as rows of at most `columns` columns.
pub fn wrapped(text: &str, columns: usize, extent: Extent) -> Wrapped {
    let mut rows = Rows {
        rows: Vec::new(),
        columns: columns.max(LEAST_COLUMNS),
        returns: false,
        most: extent.rows,
        is_cut: false,
    };
    let mut lines = text.lines();
    for text in lines.by_ref().take(extent.lines) {
        let line = Line {
            kind: LineKind::Context,
            before: None,
            after: None,
            text,
        };
        rows.line(&line, &[]);
    }
    Wrapped {
        rows: rows.rows.into_iter().map(|it| it.text).collect(),
        hidden: lines.count(),
        is_cut: rows.is_cut,
    }
}

struct Rows {
    rows: Vec<Row>,
    /// Columns of a row's text.
    columns: usize,
    /// True if `\r` at the end of a line is shown.
    returns: bool,
    /// Most rows of a line.
    most: usize,
    /// True if the end of a line was left out.
    is_cut: bool,
}

impl Rows {
    /// Adds at most `most` lines of a hunk. Returns how many more may follow.
    fn hunk(&mut self, hunk: &Hunk<'_>, most: usize) -> usize {
        let shown = hunk.lines.len().min(most);
        if shown > 0 && !self.rows.is_empty() {
            self.rows.push(Row::gap());
        }
        // Words of lines that are left out need no comparison.
        let changed = match shown {
            0 => Vec::new(),
            _ => hunk.changed_words(),
        };
        for (line, changed) in hunk.lines.iter().zip(&changed).take(shown) {
            self.line(line, changed);
            if !line.text.ends_with('\n') {
                self.add(RowKind::Remark, NO_NEWLINE);
            }
        }
        most - shown
    }

    fn add(&mut self, kind: RowKind, text: &str) {
        self.rows.push(Row {
            kind,
            number: None,
            text: text.to_owned(),
            changed: Vec::new(),
        });
    }

    /// Adds a line, wrapped.
    fn line(&mut self, line: &Line<'_>, changed: &[Range<usize>]) {
        let text = line.text.strip_suffix('\n').unwrap_or(line.text);
        // If every line ends with a carriage return, showing them all would hide the change.
        let ended = text.strip_suffix('\r').filter(|_| !self.returns);
        let text = ended.unwrap_or(text);
        let number = line.after.or(line.before).map(|at| at + 1);
        self.begin(line.kind, number);
        // Blanks at the end of an unchanged line don't matter.
        let blanks = match line.kind {
            LineKind::Context => text.len(),
            _ => text.trim_end_matches([' ', '\t']).len(),
        };
        let (first, mut marks) = (self.rows.len(), 0);
        for (at, character) in text.char_indices() {
            let is_changed = changed.iter().any(|range| range.contains(&at));
            let column = self.rows.last().map_or(0, |row| row.text.width());
            let piece = match character {
                // Blanks that are not between words must be visible, and a tab in their place.
                ' ' if at >= blanks => "·".to_owned(),
                '\t' => tab(column, is_changed || at >= blanks),
                _ => visible(character, &mut marks),
            };
            if !self.push(&piece, is_changed) {
                if self.rows.len() - first + 1 >= self.most {
                    self.cut(text[at..].chars().count());
                    return;
                }
                self.begin(line.kind, None);
                self.push(&piece, is_changed);
            }
        }
    }

    fn begin(&mut self, kind: LineKind, number: Option<usize>) {
        self.add(RowKind::Line(kind), "");
        if let Some(row) = self.rows.last_mut() {
            row.number = number;
        }
    }

    /// Appends a piece to the last row. Returns false if it does not fit.
    fn push(&mut self, piece: &str, is_changed: bool) -> bool {
        let Some(row) = self.rows.last_mut() else {
            return false;
        };
        let start = row.text.len();
        row.text.push_str(piece);
        // The whole text, because a mark or variation selector can widen the character before.
        if start > 0 && row.text.width() > self.columns {
            row.text.truncate(start);
            return false;
        }
        let end = row.text.len();
        match row.changed.last_mut().filter(|_| is_changed) {
            Some(last) if last.end == start => last.end = end,
            _ if is_changed => row.changed.push(start..end),
            _ => {}
        }
        true
    }

    /// Ends the last row with the number of characters that follow.
    fn cut(&mut self, mut more: usize) {
        self.is_cut = true;
        let Some(row) = self.rows.last_mut() else {
            return;
        };
        let mut note = format!("… (+{more} characters)");
        // The note replaces characters, which then count as well.
        while row.text.width() + note.width() > self.columns {
            if row.text.pop().is_none() {
                break;
            }
            more += 1;
            note = format!("… (+{more} characters)");
        }
        let end = row.text.len();
        row.changed.retain(|range| range.start < end);
        if let Some(last) = row.changed.last_mut() {
            last.end = last.end.min(end);
        }
        row.text.push_str(&note);
    }
}

/// Returns a tab as blanks up to the next tab stop.
fn tab(column: usize, is_visible: bool) -> String {
    let first = if is_visible { '→' } else { ' ' };
    format!("{first}{}", " ".repeat(TAB - 1 - column % TAB))
}

fn visible(character: char, marks: &mut usize) -> String {
    let mut shown = String::new();
    push_visible(character, marks, &mut shown);
    shown
}

/// Maximum bytes of a replaced block whose words are compared.
const MOST_BYTES: usize = 8 * 1024;

/// Maximum time for one block.
const TIME: Duration = Duration::from_millis(20);

/// A line that keeps less than one of this many of its bytes is another line.
const LEAST_KEPT: usize = 3;

impl Hunk<'_> {
    /// Returns the changed bytes of each line. A line that was not replaced, or has little in
    /// common with what it replaces, has none: all of it is new.
    pub fn changed_words(&self) -> Vec<Vec<Range<usize>>> {
        let mut changed = vec![Vec::new(); self.lines.len()];
        let mut from = 0;
        for block in self.lines.chunk_by(|a, b| in_one_block(a.kind, b.kind)) {
            let removed = block.iter().take_while(|it| it.kind == LineKind::Removed);
            let (removed, added) = block.split_at(removed.count());
            let middle = from + removed.len();
            from += block.len();
            if added.first().is_some_and(|it| it.kind == LineKind::Added) {
                let (old, new) = compare(removed, added);
                changed[middle - removed.len()..middle].clone_from_slice(&old);
                changed[middle..from].clone_from_slice(&new);
            }
        }
        changed
    }
}

/// Returns true if a line belongs to the block of the line above: removed lines, then added
/// ones.
fn in_one_block(above: LineKind, below: LineKind) -> bool {
    above == below || (above, below) == (LineKind::Removed, LineKind::Added)
}

type Ranges = Vec<Vec<Range<usize>>>;

/// Returns the changed bytes of removed and added lines.
fn compare(removed: &[Line<'_>], added: &[Line<'_>]) -> (Ranges, Ranges) {
    let bytes: usize = removed.iter().chain(added).map(|it| it.text.len()).sum();
    // Without ranges, the lines count as new as a whole.
    if removed.is_empty() || bytes > MOST_BYTES {
        return (
            vec![Vec::new(); removed.len()],
            vec![Vec::new(); added.len()],
        );
    }
    let (old, new) = (tokens(removed), tokens(added));
    let mut config = TextDiff::configure();
    config.timeout(TIME);
    let diff = config.diff_slices(&old, &new);
    let changed = diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal);
    let (mut gone, mut made) = (vec![false; old.len()], vec![false; new.len()]);
    for op in changed {
        gone[op.old_range()].fill(true);
        made[op.new_range()].fill(true);
    }
    let (gone, made) = (ranges(removed, &old, &gone), ranges(added, &new, &made));
    (
        without_indents(gone, removed, added),
        without_indents(made, added, removed),
    )
}

/// Removes indents that a line of the other text has as well: they match any line.
fn without_indents(mut ranges: Ranges, lines: &[Line<'_>], others: &[Line<'_>]) -> Ranges {
    for (ranges, line) in ranges.iter_mut().zip(lines) {
        let indent = indent_of(line);
        let is_known = others.iter().any(|other| indent_of(other) == indent);
        if let Some(first) = ranges
            .first_mut()
            .filter(|first| is_known && first.start == 0)
        {
            first.start = indent.len().min(first.end);
        }
        ranges.retain(|range| !range.is_empty());
    }
    ranges
}

/// The blanks at the start of a line.
fn indent_of<'t>(line: &Line<'t>) -> &'t str {
    let rest = line.text.trim_start_matches([' ', '\t']);
    &line.text[..line.text.len() - rest.len()]
}

/// Splits lines into words, runs of blanks, and single other characters.
fn tokens<'t>(lines: &[Line<'t>]) -> Vec<&'t str> {
    let mut tokens = Vec::new();
    for line in lines {
        let mut rest = line.text;
        while let Some(first) = rest.chars().next() {
            let class = class_of(first);
            let same = |it: char| class.is_some() && class_of(it) == class;
            let end = rest.find(|it| !same(it)).unwrap_or(rest.len());
            let (token, tail) = rest.split_at(end.max(first.len_utf8()));
            tokens.push(token);
            rest = tail;
        }
    }
    tokens
}

/// Returns the class of a character; a run of one class is one token. `None` for a character
/// that is a token by itself.
fn class_of(character: char) -> Option<bool> {
    match character {
        '\n' => None,
        _ if character.is_alphanumeric() || character == '_' => Some(true),
        _ if character.is_whitespace() => Some(false),
        _ => None,
    }
}

/// Returns the changed bytes of each line. `tokens` covers all lines.
fn ranges(lines: &[Line<'_>], tokens: &[&str], changed: &[bool]) -> Ranges {
    let mut tokens = tokens.iter().zip(changed);
    let of_line = lines.iter().map(|line| {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let (mut at, mut kept) = (0, 0);
        while at < line.text.len() {
            let Some((token, is_changed)) = tokens.next() else {
                break;
            };
            let end = at + token.len();
            match ranges.last_mut() {
                // Blanks occur in any line, so they don't make two lines alike.
                _ if !is_changed => kept += token.trim().len(),
                Some(last) if last.end == at => last.end = end,
                _ => ranges.push(at..end),
            }
            at = end;
        }
        let whole = line.text.trim().len();
        // Almost everything would be marked, which shows less than no marks.
        if kept * LEAST_KEPT < whole || kept == 0 {
            ranges.clear();
        }
        ranges
    });
    of_line.collect()
}
