//! Old tool output, shortened to its beginning and its end. The chat keeps it whole; only requests
//! have the short form.

use std::collections::HashSet;

use crate::document::{Block, Document, ResultKind, Role, ToolResultBlock};
use crate::truncate::{ceil_char_boundary, floor_char_boundary};

/// Lines that are kept at each end.
const KEPT_LINES: usize = 10;
/// Bytes that are kept at each end, for output with long lines.
const KEPT_BYTES: usize = 1000;
/// Bytes below which output is never shortened: it would save little.
const LEAST: usize = 4000;
/// Answers after which a result is old: the model has read it and gone on.
const ANSWERS: usize = 2;

/// Returns a text without its middle; `None` if it is short already.
pub fn shortened(text: &str) -> Option<String> {
    if text.len() < LEAST {
        return None;
    }
    let head = text.match_indices('\n').nth(KEPT_LINES - 1);
    let head = head.map_or(text.len(), |(at, _)| at + 1);
    let head = floor_char_boundary(text, head.min(KEPT_BYTES));
    let tail = text.trim_end_matches('\n').rmatch_indices('\n');
    let tail = { tail }.nth(KEPT_LINES - 1).map_or(0, |(at, _)| at + 1);
    let tail = ceil_char_boundary(text, tail.max(text.len() - KEPT_BYTES));
    let (start, middle, end) = (&text[..head], &text[head..tail], &text[tail..]);
    let what = match middle.matches('\n').count() {
        0 | 1 => format!("{} bytes", middle.len()),
        lines => format!("{lines} lines"),
    };
    let line_end = if start.ends_with('\n') { "" } else { "\n" };
    Some(format!(
        "{start}{line_end}[… {what} of this old result are left out; call the tool again to see them]\n{end}"
    ))
}

/// Returns the results that the model has answered twice since, in order. Of several with the same
/// id, only the first, because requests give the others another id.
pub fn old_results<'d>(document: &'d Document<'_>) -> impl Iterator<Item = &'d ToolResultBlock> {
    let messages = document.messages.iter().enumerate().rev();
    let mut answers = messages.filter(|(_, it)| it.role == Role::Assistant);
    let end = answers.nth(ANSWERS - 1).map_or(0, |(at, _)| at);
    let blocks = document.messages[..end].iter();
    let blocks = blocks.flat_map(|it| document.blocks_of(it));
    let mut ids = HashSet::new();
    blocks.filter_map(move |block| match block {
        Block::ToolResult(result) => {
            let is_first = ids.insert(&result.tool_use_id);
            let is_final = matches!(result.kind, ResultKind::Final { .. });
            (is_first && is_final).then_some(result)
        }
        Block::Prose(_)
        | Block::ToolUse(_)
        | Block::ServerTool(_)
        | Block::Thinking(_)
        | Block::TextBreak(_)
        | Block::Aborted(_) => None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::text::Text;

    fn numbered(count: usize) -> String {
        (1..=count)
            .map(|it| format!("line {it:04} of it\n"))
            .collect()
    }

    #[test]
    fn the_beginning_and_the_end_stay() {
        let short = shortened(&numbered(400)).unwrap();
        let lines: Vec<&str> = short.lines().collect();
        assert_eq!(lines.len(), 21);
        assert_eq!((lines[0], lines[9]), ("line 0001 of it", "line 0010 of it"));
        let left_out =
            "[… 380 lines of this old result are left out; call the tool again to see them]";
        assert_eq!(lines[10], left_out);
        assert_eq!(
            (lines[11], lines[20]),
            ("line 0391 of it", "line 0400 of it")
        );
        // The short form is final.
        assert_eq!(shortened(&short), None);
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        for text in [
            "é".repeat(5000),
            format!("{}\n{}", "é".repeat(4000), "日".repeat(4000)),
        ] {
            let short = shortened(&text).unwrap();
            assert!(short.len() < 2200, "{}", short.len());
            assert!(
                short.contains(" bytes of this old result are left out"),
                "{short}"
            );
        }
    }

    #[test]
    fn short_output_stays_whole() {
        assert_eq!(shortened(&numbered(200)), None);
        assert_eq!(shortened(""), None);
    }

    #[test]
    fn a_result_is_old_once_the_model_has_answered_twice() {
        let turn = |id: &str| {
            format!(
                "@Assistant:\n**Tool Use:** `read` (`{id}`)\n\n```json\n{{}}\n```\n\n\
                 @You:\n**Tool Result:** `{id}`\n\n```\nout\n```\n\n"
            )
        };
        let chat = format!("@You:\nGo.\n\n{}{}{}", turn("a"), turn("b"), turn("c"));
        for (end, expected) in [("", "a"), ("@Assistant:\nDone.\n\n@You:\n", "ab")] {
            let text = Text::from(&*format!("{chat}{end}"));
            let document = Document::parse(&text);
            let old = old_results(&document).map(|it| it.tool_use_id.as_str());
            assert_eq!(old.collect::<String>(), expected);
        }
        let text = Text::from("@You:\nGo.\n");
        assert_eq!(old_results(&Document::parse(&text)).count(), 0);
        let text = Text::from(&*turn("a").repeat(5));
        assert_eq!(old_results(&Document::parse(&text)).count(), 1);
    }
}
