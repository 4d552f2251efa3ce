//! Finds lines that differ only in their indentation, all by the same amount.
//!
//! Pure. Tabs and spaces are never converted: a piece with one of them does not match lines
//! with the other.

use super::endings::{self, Line};
use super::normal::trimmed;
use super::places::{MatchLevel, PLACES_COUNTED, Place};

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
pub(super) fn places(text: &str, piece: &str) -> Vec<Place> {
    let piece = endings::plain(piece, endings::are_returns(piece));
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
    let lines = endings::lines(text, endings::are_returns(text));
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
