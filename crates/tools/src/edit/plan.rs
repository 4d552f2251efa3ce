//! Decides where an edit applies, or why it does not.
//!
//! Pure. An exact match has precedence over one that differs only in line endings. An ambiguous
//! match is refused, and nothing is guessed.

use unicode_width::UnicodeWidthChar;

use super::endings;
use super::nearest::nearest;
use crate::error::ToolError;

/// Maximum number of matches listed in the message.
const PLACES_LISTED: usize = 10;
/// Maximum number of matches counted; repetitive text could have millions.
const PLACES_COUNTED: usize = 1000;

/// A text with the edit applied.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EditedText {
    /// The whole new text.
    pub text: String,
    /// The line on which the replaced piece starts, from 1.
    pub line: usize,
}

/// Why an edit does not apply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// The old text is empty.
    EmptyOldText,
    /// The old and the new text are equal.
    Identical,
    /// The old text occurs on these lines, counted from 1. Overlapping matches count: `aa`
    /// occurs twice in `aaa`.
    Ambiguous(Vec<usize>),
    /// The old text does not occur; the most similar lines, if any.
    NotFound(Option<String>),
}

/// Replaces `old` by `new` in `text`.
///
/// # Errors
///
/// Any [`Problem`].
pub(super) fn plan(text: &str, old: &str, new: &str) -> Result<EditedText, Problem> {
    if old.is_empty() {
        return Err(Problem::EmptyOldText);
    }
    if old == new {
        return Err(Problem::Identical);
    }
    match places(text, old).as_slice() {
        [] => plan_any_line_ending(text, old, new),
        &[at] => apply(text, at, at + old.len(), old, new),
        several => Err(ambiguous(text, several)),
    }
}

/// Replaces the bytes from `start` to `end` by `new`, with the line endings of that place.
fn apply(
    text: &str,
    start: usize,
    end: usize,
    old: &str,
    new: &str,
) -> Result<EditedText, Problem> {
    let piece = &text[start..end];
    // An old text with carriage returns shows that the model controls line endings itself.
    let new = if piece == old && old.contains('\r') && !endings::are_alike(text) {
        new.to_owned()
    } else {
        endings::like(text, start..end, new)
    };
    if *piece == new {
        return Err(Problem::Identical);
    }
    Ok(EditedText {
        line: line_at(text, start),
        text: [&text[..start], &new, &text[end..]].concat(),
    })
}

/// Plans the edit as if all line endings were `\n`.
fn plan_any_line_ending(text: &str, old: &str, new: &str) -> Result<EditedText, Problem> {
    let plain_old = endings::plain(old, endings::are_returns(old));
    let plain = endings::plain(text, endings::are_returns(text));
    match places(&plain, &plain_old).as_slice() {
        [] => Err(Problem::NotFound(nearest(&plain, &plain_old))),
        &[at] => {
            let start = in_original(text, at);
            let end = in_original(text, at + plain_old.len());
            apply(text, start, end, old, new)
        }
        several => Err(ambiguous(&plain, several)),
    }
}

/// Converts an offset in the text without `\r` before `\n` to one in the original.
fn in_original(text: &str, plain_at: usize) -> usize {
    let mut dropped = 0;
    for (at, _) in text.match_indices("\r\n") {
        if at - dropped >= plain_at {
            break;
        }
        dropped += 1;
    }
    plain_at + dropped
}

/// The first matches of `old`, including overlapping ones. A match that ends within a character
/// does not count: `e` does not occur in `e\u{301}`.
fn places(text: &str, old: &str) -> Vec<usize> {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() < PLACES_COUNTED
        && let Some(at) = text[from..].find(old)
    {
        let after = text[from + at + old.len()..].chars().next();
        if !after.is_some_and(combines) {
            found.push(from + at);
        }
        from += at + step;
    }
    found
}

/// Whether the character is drawn on top of the one before it.
fn combines(character: char) -> bool {
    character.width() == Some(0)
}

fn ambiguous(text: &str, places: &[usize]) -> Problem {
    // Counts each line from the match before: many matches may be late in a large file.
    let (mut line, mut from) = (1, 0);
    let line_of = |&at: &usize| {
        line += text[from..at].matches('\n').count();
        from = at;
        line
    };
    Problem::Ambiguous(places.iter().map(line_of).collect())
}

fn line_at(text: &str, at: usize) -> usize {
    let newline = if endings::are_returns(text) {
        '\r'
    } else {
        '\n'
    };
    text[..at].matches(newline).count() + 1
}

impl Problem {
    /// The message for the model; `path` is the file as named in the call.
    pub(super) fn into_error(self, path: &str) -> ToolError {
        match self {
            Self::EmptyOldText => ToolError::InvalidInput(format!(
                "oldText is empty, so there is nothing to replace in {path}. Use write to create \
                 a file."
            )),
            Self::Identical => ToolError::Failed(format!(
                "oldText and newText are the same, so {path} was not changed."
            )),
            Self::Ambiguous(lines) => ToolError::Failed(format!(
                "oldText is in {}{} places of {path}: {}. Nothing was changed. Include more \
                 of the lines around the one you mean.",
                if lines.len() == PLACES_COUNTED {
                    "at least "
                } else {
                    ""
                },
                lines.len(),
                listed(&lines)
            )),
            Self::NotFound(None) => ToolError::Failed(format!(
                "oldText is not in {path}, and nothing there is like it. Nothing was changed. \
                 Read the file again."
            )),
            Self::NotFound(Some(nearest)) => ToolError::Failed(format!(
                "oldText is not in {path}. Nothing was changed. The nearest text there is:\n\n\
                 {nearest}"
            )),
        }
    }
}

fn listed(lines: &[usize]) -> String {
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
    format!("lines {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, old: &str, new: &str, expected: &str) {
        assert_eq!(
            plan(text, old, new).map(|change| change.text),
            Ok(expected.to_owned())
        );
    }

    #[test]
    fn a_unique_piece_is_replaced_and_its_line_told() {
        let change = plan("one\ntwo\nthree\n", "two", "2");

        assert_eq!(
            change,
            Ok(EditedText {
                text: "one\n2\nthree\n".to_owned(),
                line: 2
            })
        );
    }

    #[test]
    fn the_new_text_is_literal() {
        check("a b c", "b", r"%1 \1 & $0", r"a %1 \1 & $0 c");
    }

    #[test]
    fn several_places_are_refused_with_their_lines() {
        assert_eq!(
            plan("x\ny\nx\n", "x", "z"),
            Err(Problem::Ambiguous(vec![1, 3]))
        );
    }

    #[test]
    fn overlapping_places_are_several() {
        assert_eq!(plan("aaa", "aa", "b"), Err(Problem::Ambiguous(vec![1, 1])));
        assert_eq!(plan("ééé", "éé", "b"), Err(Problem::Ambiguous(vec![1, 1])));
    }

    #[test]
    fn a_crlf_file_takes_lf_text_and_keeps_its_line_endings() {
        check("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n");
        check("a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n");
    }

    #[test]
    fn an_lf_file_takes_crlf_text_and_keeps_its_line_endings() {
        check("a\nb\nc\n", "a\r\nb", "x\r\ny", "x\ny\nc\n");
    }

    #[test]
    fn mixed_line_endings_outside_the_piece_stay_mixed() {
        check("a\r\nb\nc\r\nd\n", "b\nc\n", "x\n", "a\r\nx\nd\n");
    }

    #[test]
    fn each_line_keeps_its_own_ending() {
        let text = "a\r\nb\nc\r\nd\n";
        check(text, "a\nb\nc\n", "a\nB\nc\n", "a\r\nB\nc\r\nd\n");
        check(text, "a\nb\nc\n", "a\nx\nb\nc\n", "a\r\nx\r\nb\nc\r\nd\n");
        // One that is new gets that of the line it is in.
        check(text, "c", "c\nx", "a\r\nb\nc\r\nx\r\nd\n");
        check("a\r\nb\nc", "c", "c\nx", "a\r\nb\nc\nx");
    }

    #[test]
    fn lines_that_end_in_carriage_returns_are_lines() {
        check("a\rb\rc\r", "a\nb\n", "x\ny\n", "x\ry\rc\r");
        check("a\rb\r", "b", "x\ny", "a\rx\ry\r");
        assert_eq!(plan("a\rb\r", "b", "x").map(|it| it.line), Ok(2));
    }

    #[test]
    fn a_part_of_a_character_is_no_place() {
        let text = "cafe\u{301} cafe";
        check(text, "cafe", "tea", "cafe\u{301} tea");
        check(text, "cafe\u{301}", "tea", "tea cafe");
        let missing = plan("cafe\u{301}", "cafe", "tea");
        assert!(matches!(missing, Err(Problem::NotFound(_))));
        // A family is one picture made of several.
        let family = "\u{1f468}\u{200d}\u{1f467}";
        assert!(plan(family, "\u{1f468}", "x").is_err());
    }

    #[test]
    fn places_late_in_a_large_text_are_counted_once() {
        let text = format!(
            "{}{}",
            "line\n".repeat(200_000),
            "x\n".repeat(PLACES_COUNTED)
        );
        let Err(Problem::Ambiguous(lines)) = plan(&text, "x", "y") else {
            panic!("{}", text.len());
        };
        assert_eq!((lines[0], lines[999]), (200_001, 201_000));
    }

    #[test]
    fn a_byte_order_mark_stays() {
        check("\u{feff}a\nb\n", "a\n", "x\n", "\u{feff}x\nb\n");
    }

    #[test]
    fn what_changes_nothing_is_refused() {
        assert_eq!(plan("a", "", "b"), Err(Problem::EmptyOldText));
        assert_eq!(plan("a", "a", "a"), Err(Problem::Identical));
        assert_eq!(
            plan("a\r\nb\r\n", "a\r\nb", "a\nb"),
            Err(Problem::Identical)
        );
    }

    #[test]
    fn a_missing_piece_shows_what_comes_nearest() {
        let error = plan(
            "fn main() {\n    run(1);\n}\n",
            "fn main() {\n  run(2);\n",
            "x",
        )
        .map_err(|problem| problem.into_error("a.rs").to_string());

        assert_eq!(
            error,
            Err(
                "oldText is not in a.rs. Nothing was changed. The nearest text there is:\n\n\
                 1: fn main() {\n2:     run(1);"
                    .to_owned()
            )
        );
    }

    proptest! {
        #[test]
        fn everything_outside_the_piece_keeps_its_bytes(
            before in "(a|\r\n|\n){0,12}", after in "(b|\r\n|\n){0,12}",
        ) {
            let text = format!("{before}old\r\nold2{after}");

            let change = plan(&text, "old\nold2", "new").map(|change| change.text);

            prop_assert_eq!(change, Ok(format!("{before}new{after}")));
        }
    }
}
