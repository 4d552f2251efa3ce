//! Makes untrusted text fit one line of a terminal, with nothing hidden in it.
//!
//! Knows characters and display columns, not what the text means.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Maximum run of blanks shown as is; longer ones become `␣×N`.
const BLANKS_SHOWN: usize = 8;
/// The same in a line that is shown in full, where many lines are indented.
const INDENT_SHOWN: usize = 60;
/// Maximum combining marks shown on a base character; others are spelled out.
const MARKS_SHOWN: usize = 4;

/// Fits `text` on one line of at most `width` columns; see [`crate::preview::preview`].
pub(crate) fn fit(text: &str, width: usize) -> String {
    let whole = pieces(text, width);
    if !whole.cut {
        return whole.shown;
    }
    if width == 0 {
        return String::new();
    }
    let total = text.lines().count();
    let counted = format!("… ({total} lines)");
    // The count may take at most half of the width.
    if counted.width() * 2 <= width + 1 {
        let short = pieces(text, width - counted.width());
        if short.breaks < text.trim_end_matches('\n').matches('\n').count() {
            return short.shown + &counted;
        }
    }
    // One column for the `…`.
    pieces(text, width - 1).shown + "…"
}

/// Returns a line in full, with nothing hidden in it. Indentation and tabs stay as they are.
pub(crate) fn line(text: &str) -> String {
    let (mut shown, mut marks, mut rest) = (String::new(), 0, text);
    while let Some(first) = rest.chars().next() {
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        if blanks > INDENT_SHOWN {
            // Writing to a string cannot fail.
            let _ = write!(shown, "␣×{blanks}");
            rest = &rest[blanks..];
            continue;
        }
        match first {
            '\t' => shown.push(first),
            _ => push_visible(first, &mut marks, &mut shown),
        }
        rest = &rest[first.len_utf8()..];
    }
    shown
}

/// Returns the display columns of a text.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

struct Shown {
    shown: String,
    /// Number of line breaks of the input in `shown`.
    breaks: usize,
    /// True if the end of the input is missing.
    cut: bool,
}

/// Returns as many whole pieces of `text` as fit into `width` columns.
fn pieces(text: &str, width: usize) -> Shown {
    let mut chars = text.chars().peekable();
    let mut shown = String::new();
    let mut breaks = 0;
    let mut marks = 0;
    let mut is_plain = true;
    while let Some(piece) = next_piece(&mut chars, &mut marks) {
        let before = shown.len();
        shown.push_str(&piece.shown);
        is_plain = is_plain && piece.shown.is_ascii();
        // Measure the whole text, because a mark or variation selector can widen the
        // preceding character. Plain text contains neither.
        let columns = if is_plain { shown.len() } else { shown.width() };
        if columns > width {
            shown.truncate(before);
            return Shown {
                shown,
                breaks,
                cut: true,
            };
        }
        breaks += piece.breaks;
    }
    Shown {
        shown,
        breaks,
        cut: false,
    }
}

struct Piece {
    shown: String,
    breaks: usize,
}

/// Takes one character or one run of blanks or line breaks.
fn next_piece(chars: &mut Peekable<Chars<'_>>, marks: &mut usize) -> Option<Piece> {
    let first = chars.next()?;
    // A CRLF is one line break.
    if first == '\r' && chars.peek() == Some(&'\n') {
        return next_piece(chars, marks);
    }
    if first == '\n' || is_blank(first) {
        *marks = 0;
        return Some(run(first, chars));
    }
    let mut shown = String::new();
    push_visible(first, marks, &mut shown);
    Some(Piece { shown, breaks: 0 })
}

/// Appends a character; spelled out if it could hide, or be taken for a blank. `marks` counts
/// the combining marks before it.
pub(crate) fn push_visible(character: char, marks: &mut usize, shown: &mut String) {
    let is_mark = character.width() == Some(0);
    *marks = if is_mark { *marks + 1 } else { 0 };
    let is_other_blank = character != ' ' && is_blank(character);
    if is_hidden(character) || is_other_blank || *marks > MARKS_SHOWN {
        spell(character, shown);
    } else {
        shown.push(character);
    }
}

fn run(first: char, chars: &mut Peekable<Chars<'_>>) -> Piece {
    let is_break = first == '\n';
    let mut length = 1;
    let mut shown = String::new();
    blank(first, &mut shown);
    while let Some(next) = chars.next_if(|&c| if is_break { c == '\n' } else { is_blank(c) }) {
        length += 1;
        if length <= BLANKS_SHOWN {
            blank(next, &mut shown);
        }
    }
    if length > BLANKS_SHOWN {
        shown = format!("{}×{length}", if is_break { '⤶' } else { '␣' });
    }
    Piece {
        shown,
        breaks: if is_break { length } else { 0 },
    }
}

fn is_blank(character: char) -> bool {
    character == '\t'
        || (character.is_whitespace() && !character.is_control())
            // Line separators are spelled out instead of shown as blanks.
            && !matches!(character, '\u{2028}' | '\u{2029}')
}

fn blank(character: char, shown: &mut String) {
    match character {
        '\n' => shown.push('⤶'),
        '\t' => shown.push('␉'),
        ' ' => shown.push(' '),
        other => spell(other, shown),
    }
}

fn spell(character: char, shown: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(shown, "<{:02x}>", u32::from(character));
}

/// Returns true if a character is invisible or affects how its neighbors are shown.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn invisible_and_bidirectional_characters_are_spelled_out() {
        let text = "a\u{1b}[31m\u{202e}b\u{200b}\u{e0041}\u{0}\r\u{9b}";

        assert_eq!(fit(text, 80), "a<1b>[31m<202e>b<200b><e0041><00><0d><9b>");
    }

    #[test]
    fn a_wide_character_is_never_halved() {
        assert_eq!(fit("漢字漢字", 7), "漢字漢…");
        assert_eq!(fit("漢字漢字", 6), "漢字…");
        assert_eq!(fit("漢字漢字", 8), "漢字漢字");
    }

    #[test]
    fn a_combining_mark_stays_with_its_letter() {
        assert_eq!(fit("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
    }

    #[test]
    fn a_pile_of_marks_is_spelled_out() {
        let shown = fit(&format!("e{}", "\u{301}".repeat(6)), 80);

        assert_eq!(shown, "e\u{301}\u{301}\u{301}\u{301}<301><301>");
    }

    #[test]
    fn other_blanks_count_as_blanks() {
        assert_eq!(fit(&format!("a{}b", "\u{a0}".repeat(30)), 80), "a␣×30b");
        assert_eq!(fit("a\tb\u{a0}c", 80), "a␉b<a0>c");
    }

    #[test]
    fn the_number_of_lines_takes_at_most_half_the_width() {
        let text = "one\ntwo\n".repeat(8);

        assert_eq!(fit(&text, 23), "one⤶two⤶one… (16 lines)");
        assert_eq!(fit(&text, 22), "one⤶two⤶one⤶two⤶one⤶t…");
    }

    #[test]
    fn windows_line_ends_are_line_ends() {
        assert_eq!(fit("a\r\nb", 80), "a⤶b");
    }

    proptest! {
        #[test]
        fn the_result_is_one_line_within_the_width(
            text in "(\\PC|[a-z ]{1,12}|\n|\t|\u{301}|\u{202e}|漢|👩\u{200d}🚀|❤\u{fe0f}){0,40}",
            width in 0usize..60,
        ) {
            let shown = fit(&text, width);

            prop_assert!(shown.width() <= width, "{shown:?} is over {width}");
            prop_assert!(!shown.chars().any(|c| c.is_control()));
        }
    }
}
