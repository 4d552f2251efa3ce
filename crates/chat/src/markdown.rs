//! Finds the code and the headings in a message's Markdown.
//!
//! With `html`, the only file that refers to pulldown-cmark. Structure is recognized by the scanner, not
//! here.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

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

/// A part of a text that readers look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landmark {
    /// A heading, with its title.
    Heading(String),
    /// A fenced code block, with its language.
    Code(String),
}

/// Returns the headings and the fenced code blocks, with their byte ranges.
pub fn landmarks(text: &str) -> Vec<(Range<usize>, Landmark)> {
    let events = Parser::new(text).into_offset_iter();
    let landmark = |(event, range): (Event<'_>, Range<usize>)| {
        let landmark = match event {
            Event::Start(Tag::Heading { .. }) => {
                let title = text[range.clone()].lines().next().unwrap_or_default();
                // The range includes the marks of the heading.
                Landmark::Heading(title.trim_matches([' ', '#']).to_owned())
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let language = info.split_whitespace().next().unwrap_or_default();
                Landmark::Code(language.to_owned())
            }
            _ => return None,
        };
        Some((range, landmark))
    };
    events.filter_map(landmark).collect()
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
