//! Escapes foreign prose so that no line is parsed as structure.
//!
//! Foreign prose (a model's text or thinking, an imported conversation) is written line by
//! line. A line that starts like structure gets one leading backslash, even in a fence, and
//! parsing removes exactly one.

use std::borrow::Cow;

/// Prefixes of structure at column 0. The parser recognizes nothing else, so escaping these
/// is enough.
const STARTS: [&str; 8] = [
    "@System:",
    "@You:",
    "@Assistant:",
    "**Tool Use:**",
    "**Tool Result:**",
    "<thinking",
    "</thinking>",
    "<!-- flemma:",
];

/// Classification of the start of a line that is still being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStart {
    /// Structure, whatever follows.
    Structure,
    /// Possibly structure; wait for more.
    Open,
    /// Never structure.
    Prose,
}

/// Classifies a line by its first bytes.
pub fn line_start(so_far: &[u8]) -> LineStart {
    // Escaped lines look the same with one more backslash, and must stay distinct.
    let rest = &so_far[so_far.iter().take_while(|b| **b == b'\\').count()..];
    if STARTS
        .iter()
        .any(|start| rest.starts_with(start.as_bytes()))
    {
        LineStart::Structure
    } else if STARTS
        .iter()
        .any(|start| start.as_bytes().starts_with(rest))
    {
        LineStart::Open
    } else {
        LineStart::Prose
    }
}

/// Escapes a whole line of foreign prose.
pub fn escape_line(line: &str) -> Cow<'_, str> {
    match line_start(line.as_bytes()) {
        LineStart::Structure => Cow::Owned(format!("\\{line}")),
        LineStart::Open | LineStart::Prose => Cow::Borrowed(line),
    }
}

/// Reverses [`escape_line`].
pub fn unescape_line(line: &[u8]) -> &[u8] {
    match line {
        [b'\\', rest @ ..] if line_start(rest) == LineStart::Structure => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escaping_a_marker_adds_one_backslash_and_parsing_removes_it() {
        for (line, written) in [
            ("@You:", r"\@You:"),
            (r"\@You:", r"\\@You:"),
            ("**Tool Use:** `bash` (`x`)", r"\**Tool Use:** `bash` (`x`)"),
            (r"\n is a newline", r"\n is a newline"),
            ("@Your:", "@Your:"),
            (" @You:", " @You:"),
        ] {
            assert_eq!(escape_line(line), written);
            assert_eq!(unescape_line(written.as_bytes()), line.as_bytes());
        }
    }

    #[test]
    fn a_line_that_may_become_a_marker_is_open() {
        for so_far in ["", "@", "@Yo", "@You", "**", r"\\", "<", "<!-- flem"] {
            assert_eq!(line_start(so_far.as_bytes()), LineStart::Open, "{so_far:?}");
        }
        assert_eq!(line_start(b"@x"), LineStart::Prose);
    }

    proptest! {
        #[test]
        fn any_line_survives_escaping(line in r"\\{0,3}(@You:|@|<thinking>|[a-z*<]{0,3}).{0,5}") {
            let written = escape_line(&line);
            prop_assert_eq!(unescape_line(written.as_bytes()), line.as_bytes());
        }
    }
}
