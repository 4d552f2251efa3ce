//! Finds the places of a piece of text, at the strictest level at which it occurs.
//!
//! Pure. A looser level is tried only if the piece occurs nowhere at a stricter one.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use super::endings;
use super::indentation::{self, Shift};
use super::normal::{Normal, trimmed};

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
    /// Whether it starts and ends where lines do.
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
    indentation::places(text, piece.text)
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
    let old = endings::plain(piece.text, endings::are_returns(piece.text));
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

/// Whether the character is drawn on top of the one before it.
fn combines(character: char) -> bool {
    character.width() == Some(0)
}

/// Whether the range starts at the start of a line and ends at the end of one.
fn is_lines(text: &str, range: &Range<usize>) -> bool {
    let before = &text[..range.start];
    let starts = match before.chars().next_back() {
        None | Some('\n') => true,
        // A byte order mark is no text of the first line.
        Some('\u{feff}') => range.start == '\u{feff}'.len_utf8(),
        Some('\r') => endings::are_returns(text),
        Some(_) => false,
    };
    starts && is_line_end(text, range.end)
}

/// Whether a line ends here, before its line ending or behind it.
fn is_line_end(text: &str, at: usize) -> bool {
    let (before, rest) = text.split_at(at);
    rest.is_empty()
        || rest.starts_with('\n')
        || rest.starts_with("\r\n")
        || before.ends_with('\n')
        || ((rest.starts_with('\r') || before.ends_with('\r')) && endings::are_returns(text))
}
