//! Tools addressed in the user's text, as in `@calculator what is 2*2?`. An addressed tool
//! is offered to the model from then on.
//!
//! Knows no tools: the caller says whether a name is a tool. Any other name is text, and so
//! is everything in Markdown code.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::document::{Document, Role};
use crate::markdown;
use crate::references::is_context;
use crate::text::Lines;

/// A mention of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The tool's name.
    pub name: String,
    /// The line, zero-based.
    pub line: usize,
    /// Byte columns, including the `@`.
    pub columns: Range<usize>,
}

/// Returns the tools addressed in the user's messages.
pub fn names(document: &Document<'_>, is_tool: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let whole = 0..document.text().line_count();
    let mentions = mentions(document, &whole, is_tool);
    mentions.into_iter().map(|it| it.name).collect()
}

/// Returns the mentions in messages that overlap `lines`.
pub fn mentions(
    document: &Document<'_>,
    lines: &Lines,
    is_tool: impl Fn(&str) -> bool,
) -> Vec<Mention> {
    let messages = document.messages.iter().filter(|message| {
        let is_near = message.lines.start < lines.end && lines.start < message.lines.end;
        is_near && message.role == Role::You && message.may_refer
    });
    let mut found = Vec::new();
    for message in messages {
        for (first, text) in document.own_paragraphs(message) {
            let named = in_text(&text).filter(|(name, _)| is_tool(name));
            let placed = named.filter_map(|(name, at)| place(document, &text, first, name, at));
            // A message may reach beyond the lines.
            found.extend(placed.filter(|it| lines.contains(&it.line)));
        }
    }
    found
}

/// Returns the names after an `@` at the start of a word, with their offsets.
fn in_text(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let code = markdown::code(text);
    text.match_indices('@').filter_map(move |(at, _)| {
        // An `@` inside a word belongs to an email address.
        let before = text[..at].chars().next_back();
        let begins = before.is_none_or(|it| it.is_whitespace() || "([{\"'".contains(it));
        if !begins || code.iter().any(|range| range.contains(&at)) {
            return None;
        }
        let rest = &text[at + 1..];
        let end = rest.find(|it: char| !it.is_ascii_alphanumeric() && it != '_' && it != '-');
        let name = &rest[..end.unwrap_or(rest.len())];
        let mut after = rest[name.len()..].chars();
        let continues = match after.next() {
            // Part of an email address or a path.
            Some('@' | '/' | '\\') => true,
            Some('.' | ':') => after.next().is_some_and(char::is_alphanumeric),
            next => next.is_some_and(char::is_alphanumeric),
        };
        // `@diff` is the diff, also where a tool has that name.
        let is_name = !name.is_empty() && !is_context(name);
        (is_name && !continues).then_some((name, at))
    })
}

/// Converts an offset to a position in the document. A message's first line may begin after
/// its marker.
fn place(
    document: &Document<'_>,
    text: &str,
    first: usize,
    name: &str,
    at: usize,
) -> Option<Mention> {
    let above = &text[..at];
    let line = first + above.matches('\n').count();
    let column = at - above.rfind('\n').map_or(0, |it| it + 1);
    let written = document.text().line(line);
    let sign = format!("@{name}");
    let behind = written.get(column..)?;
    // Text after the marker is not at column 0, so search for the name behind the column.
    let start = column + memchr::memmem::find(behind, sign.as_bytes())?;
    Some(Mention {
        name: name.to_owned(),
        line,
        columns: start..start + sign.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    fn found(text: &str) -> Vec<(String, usize, Range<usize>)> {
        let text = Text::from(text);
        let document = Document::parse(&text);
        let is_tool = |name: &str| ["calculator", "bash", "my-tool_2"].contains(&name);
        let whole = 0..text.line_count();
        let mentions = mentions(&document, &whole, is_tool);
        mentions
            .into_iter()
            .map(|it| (it.name, it.line, it.columns))
            .collect()
    }

    fn names_in(line: &str) -> Vec<String> {
        let all = found(&format!("@You:\n{line}\n"));
        all.into_iter().map(|(name, ..)| name).collect()
    }

    #[test]
    fn an_at_sign_before_a_tool_name_addresses_the_tool() {
        for (line, names) in [
            ("@calculator what is 100*50?", &["calculator"][..]),
            (
                "Use @calculator, (@bash) and @my-tool_2.",
                &["calculator", "bash", "my-tool_2"],
            ),
            ("@unknown stays text", &[]),
            ("me@calculator is a mailbox", &[]),
            (
                "@calculator.org, @calculator/x and @calculator@x are not meant",
                &[],
            ),
            ("@calculators", &[]),
            ("in `@calculator` code", &[]),
            ("@./bash is a file", &[]),
            ("@", &[]),
        ] {
            assert_eq!(names_in(line), names, "{line}");
        }
    }

    #[test]
    fn only_the_users_own_text_addresses_tools() {
        let text = "@System:\n@bash\n\n@You: use @calculator\n\n@Assistant:\n@bash\n\n```\n@bash\n```\n\n@You:\n```\n@bash\n```\n";
        assert_eq!(found(text), [("calculator".to_owned(), 3, 10..21)]);
    }

    #[test]
    fn text_after_the_marker_does_not_hide_text_below_a_result() {
        let text = "@You: Hi.\n**Tool Result:** `a`\n\n```\nx\n```\n@bash";
        assert_eq!(found(text), [("bash".to_owned(), 6, 0..5)]);
    }

    #[test]
    fn mentions_have_byte_columns() {
        let text = "@You:\n\né @bash @bash\n";
        let bash = |columns| ("bash".to_owned(), 2, columns);
        assert_eq!(found(text), [bash(3..8), bash(9..14)]);
    }
}
