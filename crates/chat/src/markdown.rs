//! Finds the code in a message's Markdown.
//!
//! The only file that refers to pulldown-cmark. Structure is recognized by the scanner, not
//! here.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

/// Returns the byte ranges of code: fenced and indented blocks, and code spans. Sorted,
/// without overlaps.
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
