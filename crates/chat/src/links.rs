//! The target of the text at a position: a call to its result, a result to its call, and a
//! reference to its file.
//!
//! Reads only the message at the position. Opens no file.

use std::ops::Range;

use crate::document::{Document, PairedCall, Role};
use crate::references::{Piece, pieces};
use crate::text::Lines;

/// The target of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// Other lines of the document.
    Lines(Lines),
    /// A file, by its path as in [`Piece::File`].
    File(String),
}

/// Returns what the text at a line and byte column refers to.
pub fn link_at(document: &Document<'_>, line: usize, column: usize) -> Option<Link> {
    if let Some(call) = call_at(document, line) {
        let (from, to) = (call.tool_use.lines.clone(), call.result?.lines.clone());
        return Some(Link::Lines(if from.contains(&line) { to } else { from }));
    }
    let (path, _) = file_at(document, line, column)?;
    Some(Link::File(path))
}

/// Returns the call whose block or result covers a line.
pub fn call_at<'d>(document: &'d Document<'_>, line: usize) -> Option<PairedCall<'d>> {
    let turn = document.turn_at(line)?;
    let covers = |call: &&PairedCall<'_>| {
        let result = call.result.map(|it| it.lines.clone());
        call.tool_use.lines.contains(&line) || result.is_some_and(|it| it.contains(&line))
    };
    turn.calls.iter().find(covers).copied()
}

/// Returns the path of the file reference that covers a byte column, and its columns.
pub fn file_at(
    document: &Document<'_>,
    line: usize,
    column: usize,
) -> Option<(String, Range<usize>)> {
    let message = document.messages.get(document.message_at(line)?)?;
    // A model's text never refers to a file.
    if message.role == Role::Assistant || !message.may_refer {
        return None;
    }
    let text = document.lossy(line..line + 1);
    let paragraphs = document.own_paragraphs(message);
    let all = paragraphs.flat_map(|(first, text)| pieces(&text, first));
    all.filter_map(|piece| match piece {
        Piece::File {
            path,
            line: at,
            written,
            ..
        } if at == line => Some((path, written)),
        _ => None,
    })
    .find_map(|(path, written)| {
        // The same file may be named twice on the line.
        let places = text.match_indices(&written).map(|(at, _)| at);
        let mut places = places.map(|at| at..at + written.len());
        Some((path, places.find(|it| it.contains(&column))?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    const CHAT: &str = "\
@You: See @./a%20b.rs, @./a.md;type=text/plain and `@./code`.

@Assistant:
**Tool Use:** `bash` (`t_1`)

```json
{\"command\":\"ls\"}
```

**Tool Use:** `bash` (`t_2`)

```json
{}
```

@You:
**Tool Result:** `t_1`

```
one
```
";

    #[track_caller]
    fn leads(line: usize, column: usize, to: Option<&Link>) {
        let text = Text::from(CHAT);
        assert_eq!(link_at(&Document::parse(&text), line, column).as_ref(), to);
    }

    #[test]
    fn a_call_leads_to_its_result_and_back() {
        let (call, result) = (Link::Lines(3..8), Link::Lines(16..21));
        leads(3, 0, Some(&result));
        leads(6, 4, Some(&result));
        leads(16, 2, Some(&call));
        leads(19, 0, Some(&call));
    }

    #[test]
    fn a_call_without_a_result_leads_nowhere() {
        leads(9, 0, None);
        leads(2, 0, None);
        leads(99, 0, None);
    }

    #[test]
    fn a_reference_leads_to_its_file_where_it_is_written() {
        let file = |path: &str| Link::File(path.to_owned());
        leads(0, 10, Some(&file("./a b.rs")));
        leads(0, 20, Some(&file("./a b.rs")));
        leads(0, 21, None);
        leads(0, 23, Some(&file("./a.md")));
        leads(0, 44, Some(&file("./a.md")));
        leads(0, 3, None);
        leads(0, 53, None);
    }
}
