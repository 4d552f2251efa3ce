//! Why replacements do not apply, and how it is said.

use super::places::{MatchLevel, PLACES_COUNTED};

/// Maximum number of matches listed in the message.
const PLACES_LISTED: usize = 10;

/// Why a replacement does not apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReplaceProblem {
    /// The old text is empty.
    EmptyOldText,
    /// The old and the new text are equal.
    Identical,
    /// The old text occurs on these lines, counted from 1. Overlapping matches count: `aa`
    /// occurs twice in `aaa`.
    Ambiguous {
        lines: Vec<usize>,
        level: MatchLevel,
    },
    /// The old text does not occur; the most similar lines, if any.
    NotFound(Option<String>),
    /// Only text with other characters looks like the old text: where, and which.
    LooksAlike(String),
    /// The new text cannot be indented like the file.
    Indentation,
    /// The old text occurs, but not below this line.
    NotBelow(String),
    /// The old text occurs on these lines, and may be on none of them.
    Elsewhere(Vec<usize>),
    /// It overlaps the place of the replacement with this number.
    Overlap(usize),
}

impl ReplaceProblem {
    /// The problem of the replacement with this number.
    pub(crate) fn of(self, number: usize) -> Refused {
        Refused {
            number,
            problem: self,
        }
    }
}

/// A problem, and the number of the replacement that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub number: usize,
    pub problem: ReplaceProblem,
}

/// What the texts of a replacement are called in messages.
pub(crate) struct Names {
    /// At the start of a sentence.
    pub old: String,
    pub new: &'static str,
}

impl Refused {
    /// The message for the model. `path` is the file as named in the call, and `names` returns
    /// the names of a replacement.
    pub(crate) fn message(self, path: &str, names: impl Fn(usize) -> Names) -> String {
        let Names { old, new } = names(self.number);
        match self.problem {
            ReplaceProblem::EmptyOldText => {
                format!(
                    "{old} is empty, so where {new} belongs in {path} is unknown. Nothing was changed."
                )
            }
            ReplaceProblem::Identical => {
                format!("{old} and {new} are the same, so {path} was not changed.")
            }
            ReplaceProblem::Ambiguous { lines, level } => ambiguous(&old, path, &lines, level),
            ReplaceProblem::NotFound(nearest) => not_found(&old, path, nearest),
            ReplaceProblem::LooksAlike(alike) => format!(
                "{old} is not in {path}, but {alike}\n\nNothing was changed. Use the characters of the file; in JSON, \
                 \\u00a0 is U+00A0."
            ),
            ReplaceProblem::Indentation => format!(
                "{old} is in {path} only with other indentation, and {new} cannot be indented in the same way. \
                 Nothing was changed. Copy the indentation of the file."
            ),
            ReplaceProblem::NotBelow(line) => format!(
                "{old} is in {path}, but not below a line that starts with \"{line}\". Nothing was changed. Read the \
                 file again."
            ),
            ReplaceProblem::Elsewhere(lines) => format!(
                "{old} is in {path} only at {}. Nothing was changed. Hunks must be in the order of the file.",
                listed(&lines)
            ),
            ReplaceProblem::Overlap(other) => format!(
                "{old} overlaps {} in {path}. Nothing was changed. Make them one.",
                names(other).old
            ),
        }
    }
}

fn ambiguous(old: &str, path: &str, lines: &[usize], level: MatchLevel) -> String {
    let count = lines.len();
    let at_least = match count {
        PLACES_COUNTED => "at least ",
        _ => "",
    };
    format!(
        "{old} is in {at_least}{count} places of {path}{}: {}. Nothing was changed. Include more of the lines around \
         the one you mean.",
        ignoring(level),
        listed(lines)
    )
}

fn not_found(old: &str, path: &str, nearest: Option<String>) -> String {
    match nearest {
        None => format!(
            "{old} is not in {path}, and nothing there is like it. Nothing was changed. Read the file again."
        ),
        Some(nearest) => format!(
            "{old} is not in {path}. Nothing was changed. The nearest text there is:\n\n{nearest}"
        ),
    }
}

/// What a match ignores, to follow a place.
fn ignoring(level: MatchLevel) -> &'static str {
    match level {
        MatchLevel::Exact | MatchLevel::LineEndings => "",
        MatchLevel::TrailingSpace => " (ignoring spaces at the ends of lines)",
        MatchLevel::Indentation => " (ignoring indentation)",
    }
}

/// Lists the lines of places.
pub(crate) fn listed(lines: &[usize]) -> String {
    let shown: Vec<String> = lines
        .iter()
        .take(PLACES_LISTED)
        .map(usize::to_string)
        .collect();
    let more = if lines.len() > PLACES_LISTED {
        ", …"
    } else {
        ""
    };
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    format!("{noun} {}{more}", shown.join(", "))
}
