//! The text that takes the place of a piece.
//!
//! Pure. Lines that the replacement leaves alone keep their bytes, also where the piece matched
//! only loosely. New lines get the line endings and the indentation of the lines around them.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::endings::{self, Line};
use super::places::{MatchLevel, Place};

/// The text for `place`, where `old` becomes `new`. `None` if a new line cannot be indented like
/// the text there.
pub(super) fn weave(text: &str, place: &Place, old: &str, new: &str) -> Option<String> {
    let returns = endings::are_returns(text);
    // In a piece that matched exactly, a carriage return is what it is in the text.
    let is_exact = place.level == MatchLevel::Exact;
    let has_returns = |it: &str| {
        if is_exact {
            returns
        } else {
            endings::are_returns(it)
        }
    };
    let plain = |it: &str| endings::plain(it, has_returns(it));
    let (old, new) = (plain(old), plain(new));
    let (old, new) = without_last_ending(text, place, &old, &new);
    let piece = endings::lines(&text[place.range.clone()], returns);
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
