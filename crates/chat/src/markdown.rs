//! Markdown inside one message, as far as it matters: which of its text is code.
//!
//! The one file that names pulldown-cmark. It never decides about structure; the
//! scanner does.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

/// The byte ranges of `text` that are code: blocks, fenced or indented, and spans
/// in a line. In order, and apart from each other.
pub fn code(text: &str) -> Vec<Range<usize>> {
    let events = Parser::new(text).into_offset_iter();
    let is_code =
        |event: &Event<'_>| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_)));
    events
        .filter(|(event, _)| is_code(event))
        .map(|(_, range)| range)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_spans_are_code() {
        for (text, expected) in [
            ("plain", &[][..]),
            ("a `b` c", &["`b`"]),
            ("``a ` b`` `c`", &["``a ` b``", "`c`"]),
            ("x\n```\ny\n```\nz", &["```\ny\n```"]),
            ("x\n\n    y\n", &["y\n"]),
            ("```\nnever closed", &["```\nnever closed"]),
            ("- item\n  ```\n  y\n  ```\n", &["```\n  y\n  ```"]),
            ("no ` span", &[]),
        ] {
            let found: Vec<&str> = code(text).into_iter().map(|it| &text[it]).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
