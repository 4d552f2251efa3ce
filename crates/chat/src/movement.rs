//! Movements between messages and calls, and the parts of a message that keys select.

use crate::document::{Block, Document, Message, Role};
use crate::text::Lines;

/// The kind of place that a movement goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A message. Messages that are only results of calls belong to the answer and are skipped.
    Message,
    /// A call.
    Call,
}

/// A message as keys select it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The role marker through the blank lines below the text.
    pub lines: Lines,
    /// The lines of the text, without blank lines around it; empty if there is no text.
    pub text: Lines,
    /// The byte column at which the text begins if it does so on the marker's line.
    pub column: Option<usize>,
}

/// Returns the line of the next or an earlier place: as many places away as `count` says, back
/// if it is negative, or as far as there are places.
pub fn step(document: &Document<'_>, stop: Stop, line: usize, count: i64) -> Option<usize> {
    let stops: Vec<usize> = match stop {
        Stop::Message => {
            let messages = document.messages.iter();
            let stops = messages.filter(|it| !is_results(document, it));
            stops.map(|it| it.lines.start).collect()
        }
        Stop::Call => document.calls().map(|it| it.lines.start).collect(),
    };
    let steps = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let steps = steps.checked_sub(1)?;
    let at = if count > 0 {
        let next = stops.partition_point(|it| *it <= line);
        (next < stops.len()).then(|| next.saturating_add(steps).min(stops.len() - 1))
    } else {
        let before = stops.partition_point(|it| *it < line).checked_sub(1);
        before.map(|it| it.saturating_sub(steps))
    };
    at.map(|at| stops[at])
}

/// Returns the message at a line.
pub fn selection(document: &Document<'_>, line: usize) -> Option<Selection> {
    let message = &document.messages[document.message_at(line)?];
    let lines = message.lines.clone();
    let is_text = |line: &usize| !document.is_blank(*line..*line + 1);
    let first = message.inline.map_or(lines.start + 1, |_| lines.start);
    let mut text = (first..lines.end).skip_while(|line| !is_text(line));
    let start = text.next().unwrap_or(lines.end);
    let end = (start..lines.end).rev().find(is_text).map(|it| it + 1);
    Some(Selection {
        text: start..end.unwrap_or(start),
        column: message.inline,
        lines,
    })
}

/// Returns true for a message that has results of calls and no other text.
fn is_results(document: &Document<'_>, message: &Message) -> bool {
    let blocks = document.blocks_of(message);
    let mut has_result = false;
    let has_no_more = blocks.iter().all(|block| match block {
        Block::ToolResult(_) => {
            has_result = true;
            true
        }
        Block::Prose(lines) => document.is_blank(lines.clone()),
        Block::ToolUse(_)
        | Block::ServerTool(_)
        | Block::Thinking(_)
        | Block::TextBreak(_)
        | Block::Aborted(_) => false,
    });
    message.role == Role::You && message.inline.is_none() && has_result && has_no_more
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    const CHAT: &str = "\
@System:
Be brief.

@You: Look at it.

Please.

@Assistant:
**Tool Use:** `bash` (`t_1`)

```json
{\"command\":\"ls\"}
```

```
@You:
**Tool Use:** `no` (`t_9`)
```

**Tool Use:** `bash` (`t_2`)

```json
{}
```

@You:

Thanks.
";

    /// Returns the line that a movement reaches. Lines count from one here, as in an editor.
    fn moved(chat: &str, stop: Stop, line: usize, count: i64) -> Option<usize> {
        let text = Text::from(chat);
        step(&Document::parse(&text), stop, line - 1, count).map(|it| it + 1)
    }

    /// Returns all lines that movements stop at, from one.
    fn stops(chat: &str, stop: Stop) -> Vec<usize> {
        let mut found = Vec::new();
        let mut line = 0;
        let text = Text::from(chat);
        let document = Document::parse(&text);
        if stop == Stop::Message && document.messages.first().map(|it| it.lines.start) == Some(0) {
            found.push(1);
        }
        while let Some(next) = step(&document, stop, line, 1) {
            line = next;
            found.push(line + 1);
        }
        found
    }

    #[test]
    fn a_movement_goes_to_messages_with_a_count_and_as_far_as_there_are_any() {
        let to = |line, count| moved(CHAT, Stop::Message, line, count);
        assert_eq!(
            [to(1, 1), to(1, 2), to(1, 9), to(26, 1)],
            [Some(4), Some(8), Some(26), None]
        );
        assert_eq!(
            [to(27, -1), to(8, -1), to(26, -9), to(1, -1)],
            [Some(26), Some(4), Some(1), None]
        );
        assert_eq!(to(1, 0), None);
    }

    #[test]
    fn a_movement_goes_to_calls_but_not_to_one_inside_a_code_fence() {
        let to = |line, count| moved(CHAT, Stop::Call, line, count);
        assert_eq!(
            [to(1, 1), to(9, 1), to(1, 2), to(26, -1), to(26, -2)],
            [Some(9), Some(20), Some(20), Some(20), Some(9)]
        );
    }

    #[test]
    fn messages_that_are_only_results_are_skipped() {
        let result = "**Tool Result:** `t_1`\n\n````\n@Me\n\n```\n````\n\n";
        let chat = format!(
            "@You:\nGo.\n\n@Assistant:\nYes.\n\n@You:\n{result}@Assistant:\n\n@You:\n{result}And this.\n\n\
             @Assistant:\nWell.\n\n@You:\n"
        );
        assert_eq!(stops(&chat, Stop::Message), [1, 4, 16, 18, 29, 32]);
    }

    #[test]
    fn a_fence_that_is_never_closed_hides_nothing_below_the_next_marker() {
        let chat = "@System:\n```lua\n\n@You: Look.\n\n```json\n@You:\nx\n";
        assert_eq!(stops(chat, Stop::Message), [1, 4, 7]);
    }

    // The plugin once had rules of its own, which took these for messages and calls.

    #[test]
    fn text_that_begins_like_a_marker_is_no_message_to_move_to() {
        let chat = "@You:\na\n@You:s are text\n@Assistant:@You:\nb\n@Assistant:\nc\n";
        assert_eq!(stops(chat, Stop::Message), [1, 6]);
    }

    #[test]
    fn an_incomplete_header_and_one_of_the_user_are_no_calls_to_move_to() {
        let call = "**Tool Use:** `bash` (`t`)\n\n```json\n{}\n```\n";
        let chat = format!("@You:\n{call}\n@Assistant:\n**Tool Use:** bash\n\n{call}");
        assert_eq!(stops(&chat, Stop::Call), [11]);
    }

    #[track_caller]
    fn check_selection(chat: &str, line: usize, lines: Lines, text: Lines, column: Option<usize>) {
        let buffer = Text::from(chat);
        let found = selection(&Document::parse(&buffer), line);
        let expected = Selection {
            lines,
            text,
            column,
        };
        assert_eq!(found, Some(expected), "{chat:?}");
    }

    #[test]
    fn a_message_is_selected_with_its_marker_and_its_text_without() {
        check_selection(CHAT, 1, 0..3, 1..2, None);
        check_selection(CHAT, 5, 3..7, 3..6, Some(6));
        check_selection(CHAT, 27, 25..29, 27..28, None);
        check_selection("@You:\n\n@Assistant:\n", 0, 0..2, 2..2, None);
        check_selection("@You:\t x", 0, 0..1, 0..1, Some(7));
    }

    #[test]
    fn a_frontmatter_is_no_message() {
        let text = Text::from("```lua\nx = 1\n```\n\n@You:\n");
        assert_eq!(selection(&Document::parse(&text), 1), None);
    }
}
