//! Why replacements do not apply, and how it is said.

use chat::truncate::floor_char_boundary;

use super::alike::unusual;
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

/// The names of a replacement's texts in messages.
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

/// The differences that a match ignores, to follow a place.
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

// Finds the lines of a file that are most similar to a text that is not in it.
//
// Pure. The search is bounded, because it only provides a hint.

/// Number of lines of the file that are compared.
const LINES_SEARCHED: usize = 20_000;
/// Number of bytes of a line that are compared and shown.
const LINE_BYTES: usize = 200;
/// Number of lines of the wanted text that are compared.
const LINES_COMPARED: usize = 5;
/// Number of lines that are shown.
const LINES_SHOWN: usize = 12;
/// Minimum similarity for a hint, from 0 to 1.
const LIKE_ENOUGH: f64 = 0.5;
/// Maximum number of characters that are named because they look like others.
const UNUSUAL_NAMED: usize = 8;

/// The lines of `text` that are most similar to `wanted`, with their numbers from 1.
pub(super) fn nearest(text: &str, wanted: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(LINES_SEARCHED).collect();
    // Blank lines match everywhere, so they don't help to find the place.
    let skipped = wanted
        .lines()
        .take_while(|line| line.trim().is_empty())
        .count();
    let wanted: Vec<&str> = wanted.lines().skip(skipped).collect();
    let compared = &wanted[..wanted.len().min(LINES_COMPARED)];
    let (start, likeness) = (0..lines.len())
        .map(|start| (start, likeness(&lines[start..], compared)))
        // Of equal places, the first one counts.
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    if likeness < LIKE_ENOUGH {
        return None;
    }
    let end = lines.len().min(start + wanted.len().min(LINES_SHOWN));
    let shown = (start..end).map(|at| format!("{}: {}", at + 1, cut(lines[at])));
    let mut shown: Vec<String> = shown.collect();
    // A model that reads them cannot tell them from the characters that it wrote.
    let unusual = (start..end).flat_map(|at| {
        let of_line = unusual(cut(lines[at])).into_iter();
        of_line.map(move |it| format!("line {}, {it}", at + 1))
    });
    let unusual: Vec<String> = unusual.take(UNUSUAL_NAMED).collect();
    if !unusual.is_empty() {
        shown.push(format!(
            "\nCharacters in it that look like others:\n{}",
            unusual.join("\n")
        ));
    }
    Some(shown.join("\n"))
}

/// The mean similarity of the first lines, from 0 to 1.
fn likeness(lines: &[&str], wanted: &[&str]) -> f64 {
    if wanted.is_empty() {
        return 0.0;
    }
    let pairs = lines.iter().zip(wanted);
    let sum: f64 = pairs
        .map(|(line, wanted)| line_likeness(cut(line), cut(wanted)))
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "at most LINES_COMPARED")]
    let count = wanted.len() as f64;
    sum / count
}

fn line_likeness(line: &str, wanted: &str) -> f64 {
    let (line, wanted) = (line.trim(), wanted.trim());
    // Lines of very different lengths can't be similar; this skips most comparisons.
    if line.len() > 3 * wanted.len() || wanted.len() > 3 * line.len() {
        return 0.0;
    }
    strsim::sorensen_dice(line, wanted)
}

fn cut(line: &str) -> &str {
    &line[..floor_char_boundary(line, LINE_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_lines_are_shown_with_their_numbers() {
        let text = "use a;\n\nlet total = sum(items);\nprint(total);\n";

        let found = nearest(text, "let total = sum(item);");

        assert_eq!(found.as_deref(), Some("3: let total = sum(items);"));
    }

    #[test]
    fn characters_that_look_like_others_are_named() {
        let found = nearest(
            "The box costs 12\u{a0}€ here.\n",
            "The box costs 13 € here.",
        );
        assert_eq!(
            found.unwrap_or_default(),
            "1: The box costs 12\u{a0}€ here.\n\nCharacters in it that look like others:\n\
         line 1, column 17: U+00A0 (no-break space)"
        );
    }

    #[test]
    fn text_unlike_all_others_gets_no_hint() {
        assert_eq!(nearest("alpha\nbeta\n", "zzzzqqqq"), None);
        assert_eq!(nearest("", "x"), None);
        assert_eq!(nearest("a\n", "\n\n"), None);
    }
}
