//! Finds text that looks like a piece but has other characters, and names these characters.
//!
//! Pure. The search only provides a hint: nothing is replaced where it finds something.

use std::collections::HashMap;
use std::iter::once;
use std::ops::Range;
use std::sync::LazyLock;

use icu_normalizer::DecomposingNormalizerBorrowed;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::line_at;

/// Maximum size of a text that is searched.
const SEARCHED: usize = 4 << 20;
/// Maximum size of a piece that is compared.
const COMPARED: usize = 16 << 10;
/// Maximum number of places that are counted.
const PLACES: usize = 10;
/// Maximum number of differences that are named.
const NAMED: usize = 8;

/// Groups of characters that look like the first one. Compatible forms, such as full-width ones,
/// come from Unicode's decomposition.
const ALIKE: [&str; 46] = [
    "'\u{2018}\u{2019}\u{201a}\u{201b}\u{2032}\u{b4}`\u{2bc}\u{2b9}\u{2039}\u{203a}",
    "\"\u{201c}\u{201d}\u{201e}\u{201f}\u{2033}\u{ab}\u{bb}\u{300c}\u{300d}",
    "-\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2015}\u{2212}\u{2043}\u{2e3a}\u{2e3b}\u{2d7}",
    "/\u{2044}\u{2215}",
    "*\u{2217}\u{204e}",
    "~\u{2dc}\u{223c}\u{301c}",
    "|\u{2502}\u{2223}\u{1c0}",
    ":\u{2236}\u{a789}",
    "!\u{1c3}",
    "^\u{2c6}",
    "\u{b7}\u{2022}\u{2219}\u{22c5}\u{30fb}",
    "x\u{d7}\u{445}\u{3c7}",
    "A\u{410}\u{391}",
    "B\u{412}\u{392}",
    "C\u{421}\u{3f9}",
    "E\u{415}\u{395}",
    "H\u{41d}\u{397}",
    "I\u{406}\u{399}\u{4c0}",
    "J\u{408}",
    "K\u{41a}\u{39a}",
    "M\u{41c}\u{39c}",
    "N\u{39d}",
    "O\u{41e}\u{39f}",
    "P\u{420}\u{3a1}",
    "S\u{405}",
    "T\u{422}\u{3a4}",
    "X\u{425}\u{3a7}",
    "Y\u{4ae}\u{3a5}",
    "Z\u{396}",
    "a\u{430}\u{251}\u{3b1}",
    "c\u{441}\u{3f2}",
    "d\u{501}",
    "e\u{435}",
    "g\u{261}",
    "h\u{4bb}",
    "i\u{456}\u{131}\u{3b9}",
    "j\u{458}",
    "o\u{43e}\u{3bf}",
    "p\u{440}\u{3c1}",
    "q\u{51b}",
    "s\u{455}",
    "u\u{3c5}",
    "v\u{3bd}\u{475}",
    "w\u{51d}",
    "y\u{443}",
    "\u{df}\u{3b2}",
];

/// Characters that are named in words, because they are not seen or not told apart.
const NAMES: [(char, &str); 24] = [
    ('\t', "tab"),
    ('\r', "carriage return"),
    (' ', "space"),
    ('\u{a0}', "no-break space"),
    ('\u{ad}', "soft hyphen"),
    ('\u{2002}', "en space"),
    ('\u{2003}', "em space"),
    ('\u{2007}', "figure space"),
    ('\u{2009}', "thin space"),
    ('\u{200a}', "hair space"),
    ('\u{200b}', "zero width space"),
    ('\u{200c}', "zero width non-joiner"),
    ('\u{200d}', "zero width joiner"),
    ('\u{200e}', "left-to-right mark"),
    ('\u{200f}', "right-to-left mark"),
    ('\u{2011}', "non-breaking hyphen"),
    ('\u{2012}', "figure dash"),
    ('\u{2013}', "en dash"),
    ('\u{2014}', "em dash"),
    ('\u{2028}', "line separator"),
    ('\u{202f}', "narrow no-break space"),
    ('\u{2060}', "word joiner"),
    ('\u{3000}', "ideographic space"),
    ('\u{feff}', "byte order mark"),
];

/// Names what differs between `wanted` and the text that looks like it: a sentence without its
/// subject, then a line for each difference. `None` if nothing looks like it.
pub(super) fn alike(text: &str, wanted: &str) -> Option<String> {
    if text.len() > SEARCHED || wanted.len() > COMPARED {
        return None;
    }
    let piece = Folded::of(wanted);
    if piece.text.trim().is_empty() {
        return None;
    }
    let folded = Folded::of(text);
    let places: Vec<Range<usize>> = folded
        .text
        .match_indices(&piece.text)
        .filter(|(at, _)| !folded.text[at + piece.text.len()..].starts_with(combines))
        .map(|(at, it)| folded.original(text, at..at + it.len()))
        .take(PLACES)
        .collect();
    let first = places.first()?;
    let range = widened(text, first.clone(), wanted);
    let differences = differences(text, range, wanted);
    if differences.is_empty() {
        return None;
    }
    let mut lines: Vec<usize> = places.iter().map(|it| line_at(text, it.start)).collect();
    lines.dedup();
    let verb = if lines.len() == 1 { "looks" } else { "look" };
    let more = if differences.len() > NAMED {
        format!("\n…and {} more", differences.len() - NAMED)
    } else {
        String::new()
    };
    Some(format!(
        "{} {verb} the same and {} other characters:\n\n{}{more}",
        super::listed(&lines),
        if lines.len() == 1 { "has" } else { "have" },
        differences[..differences.len().min(NAMED)].join("\n")
    ))
}

/// Names the characters in a line that look like others, with their columns from 1.
pub(super) fn unusual(line: &str) -> Vec<String> {
    let chars = line.chars().enumerate();
    let unusual = chars.filter(|(_, it)| {
        !it.is_ascii() && (is_unseen(*it) || it.is_whitespace() || first_of(*it).is_some())
    });
    unusual
        .map(|(at, it)| format!("column {}: {}", at + 1, named(&[it])))
        .collect()
}

/// The differences between a part of the text and a piece.
fn differences(text: &str, range: Range<usize>, wanted: &str) -> Vec<String> {
    let start = text[..range.start]
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let first = line_at(text, range.start);
    let before = text[start..range.start].chars().count();
    let there: Vec<char> = text[range].chars().collect();
    let wanted: Vec<char> = wanted.chars().collect();
    let ops = capture_diff_slices(Algorithm::Myers, &there, &wanted);
    let changes = ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    let said = changes.map(|op| {
        let at = op.old_range().start;
        let newlines = there[..at].iter().filter(|it| **it == '\n').count();
        let column = match there[..at].iter().rposition(|it| *it == '\n') {
            Some(newline) => at - newline,
            None => before + at + 1,
        };
        format!(
            "line {}, column {column}: the file has {}, yours has {}",
            first + newlines,
            named(&there[op.old_range()]),
            named(&wanted[op.new_range()])
        )
    });
    said.collect()
}

/// Names characters by their code points. Several equal ones in a row are counted.
fn named(chars: &[char]) -> String {
    if chars.is_empty() {
        return "nothing".to_owned();
    }
    let runs = chars.chunk_by(|a, b| a == b).map(|run| {
        let character = run[0];
        let count = match run.len() {
            1 => String::new(),
            count => format!("{count} × "),
        };
        let code = u32::from(character);
        let name = NAMES.iter().find(|(it, _)| *it == character);
        let name = match name {
            Some((_, name)) => format!(" ({name})"),
            None if character.is_control() || is_unseen(character) || combines(character) => {
                String::new()
            }
            None if character.is_whitespace() => " (a space)".to_owned(),
            None => format!(" ({character})"),
        };
        format!("{count}U+{code:04X}{name}")
    });
    runs.collect::<Vec<_>>().join(" ")
}

/// A text in which characters that look the same are the same.
struct Folded {
    text: String,
    /// The place in the original of each byte of the text.
    at: Vec<usize>,
}

impl Folded {
    fn of(original: &str) -> Self {
        let mut it = Self {
            text: String::with_capacity(original.len()),
            at: Vec::with_capacity(original.len()),
        };
        let normalizer = DecomposingNormalizerBorrowed::new_nfkd();
        let mut blank = None;
        for (at, character) in original.char_indices() {
            match character {
                '\n' => {
                    blank = None;
                    it.push('\n', at);
                }
                _ if character.is_whitespace() => blank = blank.or(Some(at)),
                _ if is_unseen(character) => {}
                _ => {
                    // Blanks at both ends of a line are not seen, or seen as any other indentation.
                    if let Some(at) = blank.take().filter(|_| !it.text.ends_with('\n')) {
                        it.push(' ', at);
                    }
                    it.push_alike(character, at, &normalizer);
                }
            }
        }
        if it.text.starts_with(' ') {
            it.text.remove(0);
            it.at.remove(0);
        }
        it
    }

    fn push_alike(
        &mut self,
        character: char,
        at: usize,
        normalizer: &DecomposingNormalizerBorrowed<'_>,
    ) {
        if character.is_ascii() || first_of(character).is_some() {
            self.push_one(character, at);
            return;
        }
        for piece in normalizer.normalize_iter(once(character)) {
            self.push_one(piece, at);
        }
    }

    fn push_one(&mut self, character: char, at: usize) {
        let character = first_of(character).unwrap_or(character);
        // A dash may be written as several hyphens.
        if character != '-' || !self.text.ends_with('-') {
            self.push(character, at);
        }
    }

    fn push(&mut self, character: char, at: usize) {
        self.text.push(character);
        self.at.resize(self.text.len(), at);
    }

    /// The part of the original that a part of this text, which is not empty, comes from.
    fn original(&self, original: &str, range: Range<usize>) -> Range<usize> {
        let last = self.at[range.end - 1];
        let length = original[last..].chars().next().map_or(0, char::len_utf8);
        self.at[range.start]..last + length
    }
}

/// Adds the blanks and unseen characters around a place, where the piece has some as well.
fn widened(text: &str, range: Range<usize>, wanted: &str) -> Range<usize> {
    let is_blank = |it: char| it != '\n' && (it.is_whitespace() || is_unseen(it));
    let starts = wanted.starts_with(is_blank);
    let ends = wanted.ends_with(is_blank);
    let before = &text[..range.start];
    let after = &text[range.end..];
    let start = if starts {
        before.trim_end_matches(is_blank).len()
    } else {
        range.start
    };
    let end = if ends {
        text.len() - after.trim_start_matches(is_blank).len()
    } else {
        range.end
    };
    start..end
}

/// The character that this one looks like, if it is another.
fn first_of(character: char) -> Option<char> {
    // Those that other characters look like are never changed, except for the grave accent.
    if character.is_ascii() && character != '`' {
        return None;
    }
    static FIRST: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
        let mut all = HashMap::new();
        for group in ALIKE {
            let mut group = group.chars();
            if let Some(first) = group.next() {
                all.extend(group.map(|it| (it, first)));
            }
        }
        all
    });
    FIRST.get(&character).copied()
}

/// Returns true if the character is drawn as nothing.
fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
    ) || (character.is_control() && !character.is_whitespace())
}

/// Returns true if the character is drawn on top of the one before it.
fn combines(character: char) -> bool {
    unicode_width::UnicodeWidthChar::width(character) == Some(0) && !is_unseen(character)
}

// A text with plain line endings, and optionally without trailing spaces, that knows where its
// parts are in the original.

/// A normalized text: each line ends in `\n`, also the last one.
pub(super) struct Normal {
    pub text: String,
    /// The start of each line: here, and in the original.
    starts: Vec<(usize, usize)>,
    original: usize,
}

impl Normal {
    /// Normalizes a text. `trims` removes spaces and tabs at the ends of lines.
    pub(super) fn of(original: &str, trims: bool) -> Self {
        let returns = super::are_returns(original);
        let mut it = Self {
            text: String::with_capacity(original.len() + 1),
            starts: Vec::new(),
            original: original.len(),
        };
        let mut at = 0;
        for line in super::lines(original, returns) {
            it.starts.push((it.text.len(), at));
            // Nothing follows the last line ending.
            if line.ending.is_none() && line.text.is_empty() {
                break;
            }
            it.text
                .push_str(if trims { trimmed(line.text) } else { line.text });
            it.text.push('\n');
            at += line.text.len() + line.ending.map_or(0, str::len);
        }
        it
    }

    /// The place in the original of an offset in this text. Spaces that were removed are behind
    /// it.
    pub(super) fn original(&self, at: usize) -> usize {
        let line = self.starts.partition_point(|(start, _)| *start <= at);
        let (start, original) = self.starts[line.saturating_sub(1)];
        // The last line has an ending here that the original may lack.
        (original + at - start).min(self.original)
    }
}

/// Removes spaces and tabs at the end of a line.
pub(super) fn trimmed(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: &str, expected: &str) {
        assert_eq!(alike(text, wanted).unwrap(), expected);
    }

    #[test]
    fn characters_that_look_the_same_are_named() {
        check(
            "# Prices\n\nThe box costs 12\u{a0}€ in Lyon.\n",
            "costs 12 €",
            "line 3 looks the same and has other characters:\n\nline 3, column 17: the file has U+00A0 (no-break \
         space), yours has U+0020 (space)",
        );
        for (there, wanted, differs) in [
            ("\u{201c}a\u{201d}", "\"a\"", "U+201C (“), yours has U+0022"),
            ("it\u{2019}s", "it's", "U+2019 (’), yours has U+0027 (')"),
            (
                "9\u{2013}17",
                "9-17",
                "U+2013 (en dash), yours has U+002D (-)",
            ),
            (
                "a \u{2014} b",
                "a -- b",
                "U+2014 (em dash), yours has 2 × U+002D",
            ),
            (
                "co\u{ad}des",
                "codes",
                "U+00AD (soft hyphen), yours has nothing",
            ),
            (
                "a\u{200b}b",
                "ab",
                "U+200B (zero width space), yours has nothing",
            ),
            (
                "ab",
                "a\u{200d}b",
                "nothing, yours has U+200D (zero width joiner)",
            ),
            (
                "Cafe\u{301}",
                "Café",
                "U+0065 (e) U+0301, yours has U+00E9 (é)",
            ),
            (
                "Café",
                "Cafe\u{301}",
                "U+00E9 (é), yours has U+0065 (e) U+0301",
            ),
            ("p\u{430}ss", "pass", "U+0430 (а), yours has U+0061 (a)"),
            ("pass", "p\u{430}ss", "U+0061 (a), yours has U+0430 (а)"),
            (
                "\tx = 1",
                "    x = 1",
                "U+0009 (tab), yours has 4 × U+0020 (space)",
            ),
            ("a\tb", "a b", "U+0009 (tab), yours has U+0020 (space)"),
            ("\u{feff}x = 1", "x  = 1", "U+0020 (space)"),
            (
                "wait\u{2026}",
                "wait...",
                "U+2026 (…), yours has 3 × U+002E (.)",
            ),
            (
                "\u{fb01}ne",
                "fine",
                "U+FB01 (ﬁ), yours has U+0066 (f) U+0069 (i)",
            ),
            ("５ m", "5 m", "U+FF15 (５), yours has U+0035 (5)"),
            ("a\rb", "a b", "U+000D (carriage return), yours has U+0020"),
            (
                "a\u{2028}b",
                "a b",
                "U+2028 (line separator), yours has U+0020",
            ),
            ("x \u{2212} y", "x - y", "U+2212 (−), yours has U+002D"),
        ] {
            let found = alike(&format!("one\n{there}\ntwo\n"), wanted);
            let found = found.unwrap_or_else(|| panic!("{there:?} {wanted:?}"));
            assert!(found.contains(differs), "{there:?} {wanted:?}: {found}");
        }
    }

    #[test]
    fn the_place_of_each_difference_is_counted_in_characters_of_its_own_line() {
        check(
            "é: a\u{a0}b\n  c\u{2019}d\né: a\u{a0}b\n  c\u{2019}d\n",
            "a b\n  c'd",
            "lines 1, 3 look the same and have other characters:\n\n\
         line 1, column 5: the file has U+00A0 (no-break space), yours has U+0020 (space)\n\
         line 2, column 4: the file has U+2019 (’), yours has U+0027 (')",
        );
    }

    #[test]
    fn text_that_looks_different_is_not_alike() {
        for (text, wanted) in [
            ("Cafe\u{301}", "Cafe"),
            ("cost 12", "cost 13"),
            ("a", "A"),
            ("", "a"),
            ("a", " "),
            ("a", "\u{200b}"),
        ] {
            assert_eq!(alike(text, wanted), None, "{text:?} {wanted:?}");
        }
    }

    #[test]
    fn unusual_characters_of_a_line_are_named() {
        assert_eq!(
            unusual("12\u{a0}€ – ok"),
            [
                "column 3: U+00A0 (no-break space)",
                "column 6: U+2013 (en dash)"
            ]
        );
        assert!(unusual("plain été").is_empty());
    }
}
