//! Finds the places of a piece of text, at the strictest level at which it occurs.
//!
//! Pure. A looser level is tried only if the piece occurs nowhere at a stricter one.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use super::Line;
use super::alike::{Normal, trimmed};

/// Maximum number of matches counted; repetitive text could have millions.
pub(super) const PLACES_COUNTED: usize = 1000;

/// How a piece may differ from the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchLevel {
    /// Not at all.
    Exact,
    /// In line endings, also in whether the last line has one.
    LineEndings,
    /// In spaces at the ends of lines as well.
    TrailingSpace,
    /// In the indentation of all lines by the same amount as well.
    Indentation,
}

/// Where a piece occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The bytes of the text.
    pub range: Range<usize>,
    pub level: MatchLevel,
    /// How the text is indented relative to the piece.
    pub shift: Shift,
}

impl Place {
    /// The place behind the last line.
    pub(crate) fn end_of(text: &str) -> Self {
        Self {
            range: text.len()..text.len(),
            level: MatchLevel::Exact,
            shift: Shift::None,
        }
    }
}

/// The piece to be found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needle<'t> {
    pub text: &'t str,
    /// True if it starts and ends where lines do.
    pub is_lines: bool,
}

/// The first places of a piece, including overlapping ones, all at the same level. A match that
/// ends within a character does not count: `e` does not occur in `e\u{301}`.
pub(crate) fn places(text: &str, piece: Needle<'_>) -> Vec<Place> {
    let found = exact(text, piece);
    if !found.is_empty() {
        return found;
    }
    for level in [MatchLevel::LineEndings, MatchLevel::TrailingSpace] {
        let found = normalized(text, piece, level);
        if !found.is_empty() {
            return found;
        }
    }
    places_by_indentation(text, piece.text)
}

fn exact(text: &str, piece: Needle<'_>) -> Vec<Place> {
    let ranges = occurrences(text, piece.text).map(|at| at..at + piece.text.len());
    let fits = |range: &Range<usize>| !piece.is_lines || is_lines(text, range);
    let found = ranges.filter(fits).map(|range| Place {
        range,
        level: MatchLevel::Exact,
        shift: Shift::None,
    });
    found.take(PLACES_COUNTED).collect()
}

fn normalized(text: &str, piece: Needle<'_>, level: MatchLevel) -> Vec<Place> {
    let trims = level == MatchLevel::TrailingSpace;
    let old = super::plain(piece.text, super::are_returns(piece.text));
    let (old, is_cut) = if trims {
        let lines: Vec<&str> = old.split('\n').map(trimmed).collect();
        // Such a piece must reach the end of a line, where spaces don't count.
        let is_cut = old.ends_with([' ', '\t']);
        (lines.join("\n"), is_cut)
    } else {
        (old, false)
    };
    // A piece of spaces would match at every end of a line.
    if old.is_empty() {
        return Vec::new();
    }
    let normal = Normal::of(text, trims);
    let fits = |range: &Range<usize>| {
        let ends_line = is_line_end(&normal.text, range.end);
        (!piece.is_lines || is_lines(&normal.text, range)) && (!is_cut || ends_line)
    };
    let ranges = occurrences(&normal.text, &old).map(|at| at..at + old.len());
    let found = ranges.filter(fits).take(PLACES_COUNTED).map(|range| {
        let end = normal.original(range.end);
        Place {
            range: normal.original(range.start)..end + spaces_after(text, end, trims),
            level,
            shift: Shift::None,
        }
    });
    found.collect()
}

/// The number of bytes between here and the end of the line, if they are spaces and `trims`.
fn spaces_after(text: &str, at: usize, trims: bool) -> usize {
    let rest = &text[at..];
    let spaces = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    if trims && is_line_end(text, at + spaces) {
        spaces
    } else {
        0
    }
}

/// The offsets of `old`, overlapping ones as well.
fn occurrences<'t>(text: &'t str, old: &'t str) -> impl Iterator<Item = usize> + 't {
    // One character further, because places may overlap.
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + text.get(from..)?.find(old)?;
            from = at + step;
            let after = text[at + old.len()..].chars().next();
            if !after.is_some_and(combines) {
                return Some(at);
            }
        }
    })
}

/// Returns true if the character is drawn on top of the one before it.
fn combines(character: char) -> bool {
    character.width() == Some(0)
}

/// Returns true if the range starts at the start of a line and ends at the end of one.
fn is_lines(text: &str, range: &Range<usize>) -> bool {
    let before = &text[..range.start];
    let starts = match before.chars().next_back() {
        None | Some('\n') => true,
        // A byte order mark is no text of the first line.
        Some('\u{feff}') => range.start == '\u{feff}'.len_utf8(),
        Some('\r') => super::are_returns(text),
        Some(_) => false,
    };
    starts && is_line_end(text, range.end)
}

/// Returns true if a line ends here, before its line ending or behind it.
fn is_line_end(text: &str, at: usize) -> bool {
    let (before, rest) = text.split_at(at);
    rest.is_empty()
        || rest.starts_with('\n')
        || rest.starts_with("\r\n")
        || before.ends_with('\n')
        || ((rest.starts_with('\r') || before.ends_with('\r')) && super::are_returns(text))
}

// Finds lines that differ only in their indentation, all by the same amount.
//
// Pure. Tabs and spaces are never converted: a piece with one of them does not match lines
// with the other.

/// Least number of lines with text: a single line could be anywhere.
const LEAST_LINES: usize = 2;

/// How a text is indented relative to a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shift {
    /// Alike.
    None,
    /// Each line has this in addition.
    Added(String),
    /// Each line lacks this.
    Removed(String),
}

impl Shift {
    /// Indents a line like the text. `None` if it is indented less than the amount to remove, or
    /// with tabs where the shift has spaces or the reverse.
    pub(super) fn apply(&self, line: &str) -> Option<String> {
        // Blank lines need no indentation.
        if line.trim().is_empty() {
            return Some(line.to_owned());
        }
        match self {
            Self::None => Some(line.to_owned()),
            Self::Added(by) => {
                let kind = by.chars().next()?;
                let is_alike = indent(line).chars().all(|it| it == kind);
                is_alike.then(|| format!("{by}{line}"))
            }
            Self::Removed(by) => line.strip_prefix(by.as_str()).map(str::to_owned),
        }
    }
}

/// The places where each line of `piece` occurs with the same difference in indentation. Ignores
/// line endings and spaces at the ends of lines.
pub(super) fn places_by_indentation(text: &str, piece: &str) -> Vec<Place> {
    let piece = super::plain(piece, super::are_returns(piece));
    let (piece, takes_ending) = match piece.strip_suffix('\n') {
        Some(lines) => (lines, true),
        None => (&*piece, false),
    };
    let wanted: Vec<&str> = piece.split('\n').map(trimmed).collect();
    let with_text = wanted.iter().filter(|line| !line.is_empty()).count();
    let first = wanted.iter().position(|line| !line.is_empty());
    let Some(first) = first.filter(|_| with_text >= LEAST_LINES) else {
        return Vec::new();
    };
    let rows = rows(text);
    let starts = (0..rows.len()).filter(|at| at + wanted.len() <= rows.len());
    // A cheap test: few lines begin a match.
    let likely =
        starts.filter(|at| rows[at + first].text.trim_start() == wanted[first].trim_start());
    let found = likely.filter_map(|at| {
        let rows = &rows[at..at + wanted.len()];
        let shift = shift(rows, &wanted)?;
        let last = rows.last()?;
        let end = if takes_ending {
            last.end
        } else {
            last.end - last.ending
        };
        Some(Place {
            range: rows[0].start..end,
            level: MatchLevel::Indentation,
            shift,
        })
    });
    found.take(PLACES_COUNTED).collect()
}

/// A line of the text.
struct Row<'t> {
    /// Without spaces at the end.
    text: &'t str,
    start: usize,
    /// Behind the line ending.
    end: usize,
    /// Bytes of the line ending.
    ending: usize,
}

fn rows<'t>(text: &'t str) -> Vec<Row<'t>> {
    let mut at = 0;
    let row = |Line { text, ending }: Line<'t>| {
        // A byte order mark is no text of the first line.
        let mark = if at == 0 && text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        let start = at + mark;
        let ending = ending.map_or(0, str::len);
        at += text.len() + ending;
        Row {
            text: trimmed(&text[mark..]),
            start,
            end: at,
            ending,
        }
    };
    let lines = super::lines(text, super::are_returns(text));
    lines.into_iter().map(row).collect()
}

/// The difference in indentation between all lines, or `None` if they differ in anything else.
fn shift(rows: &[Row<'_>], wanted: &[&str]) -> Option<Shift> {
    let mut found = None;
    for (row, wanted) in rows.iter().zip(wanted) {
        if row.text.trim_start() != wanted.trim_start() {
            return None;
        }
        // A blank line has no indentation to compare.
        if wanted.is_empty() {
            continue;
        }
        let shift = difference(indent(row.text), indent(wanted))?;
        if *found.get_or_insert_with(|| shift.clone()) != shift {
            return None;
        }
    }
    found
}

/// The difference between two indentations of one kind of character.
fn difference(text: &str, piece: &str) -> Option<Shift> {
    let kind = text.chars().chain(piece.chars()).next()?;
    let is_alike = |it: &str| it.chars().all(|it| it == kind);
    // Lines that are indented alike match at a stricter level.
    if !is_alike(text) || !is_alike(piece) || text == piece {
        return None;
    }
    Some(match text.strip_suffix(piece) {
        Some(more) => Shift::Added(more.to_owned()),
        None => Shift::Removed(piece.strip_suffix(text)?.to_owned()),
    })
}

/// The spaces and tabs at the start of a line.
fn indent(line: &str) -> &str {
    let text = line.trim_start_matches([' ', '\t']);
    &line[..line.len() - text.len()]
}
