//! The edit engine: replaces pieces of a text, each in exactly one place.
//!
//! Pure, and never guesses. `places` finds a piece exactly or, if it occurs nowhere, with other
//! line endings, without spaces at the ends of lines, and with all lines indented by the same
//! amount. Several replacements apply or none. `alike` and `problem` find text for the message: what
//! only looks the same, and what is similar.

mod alike;
mod places;
mod problem;

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use self::alike::alike;
use self::places::MatchLevel;
pub(crate) use self::places::{Needle, Place, places};
use self::problem::nearest;
pub(crate) use self::problem::{Names, Refused, ReplaceProblem, listed};

#[cfg(test)]
mod tests;

// Decides where replacements apply, or why they do not.
//
// Pure. All replacements are located in the original text, and all of them apply or none does.
// An ambiguous match is refused, and nothing is guessed.

/// One text in the place of another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replacement<'t> {
    pub old: &'t str,
    pub new: &'t str,
}

/// A replacement and the place where it applies.
#[derive(Debug, Clone)]
pub(crate) struct PlacedReplacement<'t> {
    pub replacement: Replacement<'t>,
    pub place: Place,
}

/// A text with replacements applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EditedText {
    /// The whole new text.
    pub text: String,
    /// The lines of the original text on which the replaced pieces start, from 1, in the order of
    /// the replacements.
    pub lines: Vec<usize>,
    /// How loosely each piece matched.
    pub levels: Vec<MatchLevel>,
}

/// Applies replacements to a text.
///
/// # Errors
///
/// The first [`ReplaceProblem`], with the number of its replacement.
pub(crate) fn plan(text: &str, replacements: &[Replacement<'_>]) -> Result<EditedText, Refused> {
    let mut located = Vec::new();
    for (number, &replacement) in replacements.iter().enumerate() {
        let place = only_place(text, replacement).map_err(|it| it.of(number))?;
        located.push(PlacedReplacement { replacement, place });
    }
    apply(text, &located)
}

/// The only place of a replacement.
fn only_place(
    text: &str,
    Replacement { old, new }: Replacement<'_>,
) -> Result<Place, ReplaceProblem> {
    if old.is_empty() {
        return Err(ReplaceProblem::EmptyOldText);
    }
    // Such a replacement does nothing, so the model must have meant another one.
    if old == new {
        return Err(ReplaceProblem::Identical);
    }
    let piece = Needle {
        text: old,
        is_lines: false,
    };
    let mut found = places(text, piece);
    match (found.pop(), found.is_empty()) {
        (None, _) => Err(not_found(text, old)),
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            found.push(last);
            Err(ambiguous(text, &found))
        }
    }
}

/// The problem of a piece that is nowhere.
pub(crate) fn not_found(text: &str, old: &str) -> ReplaceProblem {
    let plain = |it: &str| plain(it, are_returns(it));
    let (text, old) = (plain(text), plain(old));
    match alike(&text, &old) {
        Some(alike) => ReplaceProblem::LooksAlike(alike),
        None => ReplaceProblem::NotFound(nearest(&text, &old)),
    }
}

/// The problem of a piece in several places.
pub(crate) fn ambiguous(text: &str, places: &[Place]) -> ReplaceProblem {
    ReplaceProblem::Ambiguous {
        lines: lines_of(text, places),
        level: places.first().map_or(MatchLevel::Exact, |it| it.level),
    }
}

/// The lines on which places start, from 1.
pub(crate) fn lines_of(text: &str, places: &[Place]) -> Vec<usize> {
    // Counts each line from the match before: many matches may be late in a large file.
    let (mut line, mut from) = (1, 0);
    let mark = mark(text);
    let line_of = |place: &Place| {
        line += text[from..place.range.start].matches(mark).count();
        from = place.range.start;
        line
    };
    places.iter().map(line_of).collect()
}

/// Applies replacements at their places.
///
/// # Errors
///
/// Two of them overlap, one changes nothing, or its lines cannot be indented like the text.
pub(crate) fn apply(text: &str, located: &[PlacedReplacement<'_>]) -> Result<EditedText, Refused> {
    let mut order: Vec<usize> = (0..located.len()).collect();
    order.sort_by_key(|&number| located[number].place.range.start);
    let mut result = String::with_capacity(text.len());
    let mut end = 0;
    for (at, &number) in order.iter().enumerate() {
        let PlacedReplacement { replacement, place } = &located[number];
        // Both were located in the original text, so neither could apply after the other.
        if place.range.start < end {
            let other = order[at - 1];
            return Err(ReplaceProblem::Overlap(other).of(number));
        }
        let piece = replaced(text, *replacement, place).map_err(|it| it.of(number))?;
        result.push_str(&text[end..place.range.start]);
        result.push_str(&piece);
        end = place.range.end;
    }
    result.push_str(&text[end..]);
    let places = located.iter().map(|it| &it.place);
    Ok(EditedText {
        text: result,
        lines: places
            .clone()
            .map(|it| line_at(text, it.range.start))
            .collect(),
        levels: places.map(|it| it.level).collect(),
    })
}

/// The new text for a place.
fn replaced(text: &str, it: Replacement<'_>, place: &Place) -> Result<String, ReplaceProblem> {
    let piece = &text[place.range.clone()];
    // An old text with carriage returns shows that the model controls line endings itself.
    let controls = place.level == MatchLevel::Exact && it.old.contains('\r');
    let new = if controls && !are_alike(text) {
        it.new.to_owned()
    } else {
        weave(text, place, it.old, it.new).ok_or(ReplaceProblem::Indentation)?
    };
    if piece == new {
        return Err(ReplaceProblem::Identical);
    }
    Ok(new)
}

/// The number of the line at an offset, from 1.
pub(crate) fn line_at(text: &str, at: usize) -> usize {
    text[..at].matches(mark(text)).count() + 1
}

impl EditedText {
    /// Says which pieces matched only loosely, a sentence each. `name` returns the name of a
    /// replacement's old text.
    pub(crate) fn remarks(&self, name: impl Fn(usize) -> String) -> Vec<String> {
        let remark = |(number, level): (usize, &MatchLevel)| {
            let (name, line) = (name(number), self.lines[number]);
            match level {
                MatchLevel::Exact | MatchLevel::LineEndings => None,
                MatchLevel::TrailingSpace => Some(format!(
                    "{name} matched line {line} only without the spaces at the ends of lines."
                )),
                MatchLevel::Indentation => Some(format!(
                    "{name} matched line {line} only with other indentation, and the new text was indented like the \
                     file."
                )),
            }
        };
        self.levels.iter().enumerate().filter_map(remark).collect()
    }
}

// The text that takes the place of a piece.
//
// Pure. Lines that the replacement leaves alone keep their bytes, also where the piece matched
// only loosely. New lines get the line endings and the indentation of the lines around them.

/// The text for `place`, where `old` becomes `new`. `None` if a new line cannot be indented like
/// the text there.
fn weave(text: &str, place: &Place, old: &str, new: &str) -> Option<String> {
    let returns = are_returns(text);
    // In a piece that matched exactly, a carriage return is what it is in the text.
    let is_exact = place.level == MatchLevel::Exact;
    let has_returns = |it: &str| {
        if is_exact { returns } else { are_returns(it) }
    };
    let plain = |it: &str| plain(it, has_returns(it));
    let (old, new) = (plain(old), plain(new));
    let (old, new) = without_last_ending(text, place, &old, &new);
    let piece = lines(&text[place.range.clone()], returns);
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let mut lines = Vec::with_capacity(new.len());
    for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
        match op {
            DiffOp::Equal { old_index, len, .. } => {
                let kept = piece.get(old_index..old_index + len)?;
                lines.extend(kept.iter().map(|line| (line.text.to_owned(), line.ending)));
            }
            DiffOp::Delete { .. } => {}
            DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                let (gone, added) = (op.old_range(), op.new_range());
                for (at, line) in new[added].iter().enumerate() {
                    lines.push((place.shift.apply(line)?, ending(&piece, &gone, at)));
                }
            }
        }
    }
    // A text with a single line has no line ending to follow.
    let outside = around(text, &place.range, returns).unwrap_or("\n");
    Some(joined(lines, outside))
}

/// Drops the last line ending of both if the text has none in its last line, where the piece
/// matched.
fn without_last_ending<'t>(
    text: &str,
    place: &Place,
    old: &'t str,
    new: &'t str,
) -> (&'t str, &'t str) {
    let piece = &text[place.range.clone()];
    match old.strip_suffix('\n') {
        Some(old) if !piece.ends_with(['\n', '\r']) => (old, new.strip_suffix('\n').unwrap_or(new)),
        _ => (old, new),
    }
}

/// The ending of the new line number `at` where the lines `gone` of the piece were: that of the
/// line in its place, or of the last one before.
fn ending<'t>(piece: &[Line<'t>], gone: &Range<usize>, at: usize) -> Option<&'t str> {
    // Lines before the first one have no line to follow.
    let last = gone.end.checked_sub(1)?;
    piece.get(last.min(gone.start + at))?.ending
}

/// Joins lines. Those without an ending get `outside`, except for the last one.
fn joined(lines: Vec<(String, Option<&str>)>, outside: &str) -> String {
    let count = lines.len();
    let mut result = String::new();
    for (at, (line, ending)) in lines.into_iter().enumerate() {
        result.push_str(&line);
        if at + 1 < count {
            result.push_str(ending.unwrap_or(outside));
        }
    }
    result
}

/// The ending of the line in which `range` ends. For the last line, that of the line before.
fn around<'t>(text: &'t str, range: &Range<usize>, returns: bool) -> Option<&'t str> {
    let mark = if returns { '\r' } else { '\n' };
    let end = match text[range.end..].find(mark) {
        Some(after) => range.end + after,
        None => text.rfind(mark)?,
    };
    let is_pair = mark == '\n' && text[..end].ends_with('\r');
    Some(&text[end - usize::from(is_pair)..=end])
}

// The lines of a text and their endings.

/// Returns true if lines of the text end in carriage returns alone.
fn are_returns(text: &str) -> bool {
    text.contains('\r') && !text.contains('\n')
}

/// The last character of each line ending.
fn mark(text: &str) -> char {
    if are_returns(text) { '\r' } else { '\n' }
}

/// Returns true if all lines have the same ending.
fn are_alike(text: &str) -> bool {
    let feeds = text.matches('\n').count();
    let pairs = text.matches("\r\n").count();
    pairs == 0 || pairs == feeds
}

/// Replaces every line ending by `\n`. A carriage return alone counts only if `returns` is set.
fn plain(text: &str, returns: bool) -> String {
    if returns {
        return text.replace('\r', "\n");
    }
    text.replace("\r\n", "\n")
}

/// A line and its ending; the last line of a piece has none.
struct Line<'t> {
    pub text: &'t str,
    pub ending: Option<&'t str>,
}

/// Splits a piece into lines. A piece that ends in a line ending has an empty last line.
fn lines(piece: &str, returns: bool) -> Vec<Line<'_>> {
    let mark = if returns { '\r' } else { '\n' };
    let mut lines: Vec<Line<'_>> = piece
        .split_inclusive(mark)
        .map(|it| line(it, mark))
        .collect();
    if lines.last().is_none_or(|last| last.ending.is_some()) {
        let (text, ending) = ("", None);
        lines.push(Line { text, ending });
    }
    lines
}

fn line(whole: &str, mark: char) -> Line<'_> {
    let Some(text) = whole.strip_suffix(mark) else {
        return Line {
            text: whole,
            ending: None,
        };
    };
    let text = text.strip_suffix('\r').unwrap_or(text);
    Line {
        text,
        ending: Some(&whole[text.len()..]),
    }
}
