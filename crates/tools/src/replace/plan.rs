//! Decides where replacements apply, or why they do not.
//!
//! Pure. All replacements are located in the original text, and all of them apply or none does.
//! An ambiguous match is refused, and nothing is guessed.

use super::alike::alike;
use super::endings;
use super::nearest::nearest;
use super::places::{MatchLevel, Needle, Place, places};
use super::problem::{Refused, ReplaceProblem};
use super::weave::weave;

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
    let plain = |it: &str| endings::plain(it, endings::are_returns(it));
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
    let mark = endings::mark(text);
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
    let new = if controls && !endings::are_alike(text) {
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
    text[..at].matches(endings::mark(text)).count() + 1
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
