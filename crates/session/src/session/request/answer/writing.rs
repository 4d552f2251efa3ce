//! Decides what is written next of an answer, at the anchor where it grows.

use chat::answer::{THINKING, ThinkingStart};
use chat::document::{Document, Role};
use chat::text::Text;
use chat::write::{self, TextEdit};
use tokio::time::Instant;

use super::{Open, Place};
use crate::protocol::Anchor;
use crate::session::ctx::Ctx;
use crate::session::request::Request;

/// Maximum bytes of text before the anchor that are compared.
const TAIL: usize = 64;

/// The next write of an answer.
pub(in crate::session) enum AnswerWrite {
    /// Nothing is left: the request ends.
    End,
    /// The marker line, unless an empty answer is continued, and where the answer begins.
    Marker {
        edit: Option<TextEdit>,
        line: usize,
        column: usize,
    },
    /// The opening line of a text that was thinking.
    Thinking(TextEdit),
    /// A piece of the text, behind `tail` at a byte column.
    Piece {
        anchor: u64,
        column: usize,
        tail: String,
        text: String,
    },
    /// The text no longer has a place for it.
    NoPlace,
}

impl Place {
    /// Returns true if the text before the anchor is on its line. If it is gone, it is unknown where the
    /// line went; the editor compares it too.
    fn is_found(&self, text: &Text) -> bool {
        let line = (self.line < text.line_count()).then(|| text.line(self.line));
        let before = line.and_then(|line| line.get(..self.column));
        !self.tail.is_empty() && before.is_some_and(|it| it.ends_with(self.tail.as_bytes()))
    }

    /// Returns true if the line on which the answer grows belongs to the model. In any other message,
    /// the model's text would be sent later as words of the user.
    fn is_in_answer(&self, document: &Document<'_>) -> bool {
        let message = document.message_at(self.line);
        message.is_some_and(|at| document.messages[at].role == Role::Assistant)
    }
}

impl Request {
    /// Returns what is due to be written of the answer.
    pub(in crate::session) fn take_write(&mut self, ctx: &Ctx) -> Option<AnswerWrite> {
        let open = self.open.as_mut()?;
        // The last piece does not wait for its frame, because nothing follows it.
        let is_due = |due: Instant| due <= Instant::now() || open.end.is_some();
        if !open.next_write(false).is_some_and(is_due) {
            return None;
        }
        if let Some(edit) = open.thinking_line(ctx) {
            return Some(AnswerWrite::Thinking(edit));
        }
        Some(match open.place.anchor {
            // A request that failed before its first word ends here, without a marker.
            _ if open.unwritten.is_empty() => AnswerWrite::End,
            None => {
                // The marker counts as a write, so the first words wait for the next frame.
                open.last_write = Some(Instant::now());
                marker(&ctx.buffer.document())
            }
            Some(anchor) => open.take_next_piece(ctx, anchor),
        })
    }

    /// Notes that the editor wrote the marker line and set the anchor.
    pub(in crate::session) fn marker_written(&mut self, text: &Text, at: Anchor) {
        if let Some(open) = &mut self.open {
            open.place.anchor = Some(at.anchor);
            open.written.update(text.line(at.line));
        }
        self.grew(text, at.line, at.column);
    }

    /// Remembers where the answer ends now, and the text before that.
    pub(in crate::session) fn grew(&mut self, text: &Text, line: usize, column: usize) {
        let bytes = text.line(line);
        // The text need not be valid UTF-8, and it may have changed since the editor wrote.
        let before = String::from_utf8_lossy(&bytes[..column.min(bytes.len())]);
        let mut start = before.len().saturating_sub(TAIL);
        // Only whole characters can be compared with what the editor has.
        while !before.is_char_boundary(start) {
            start += 1;
        }
        if let Some(open) = &mut self.open {
            open.place.line = line;
            open.place.column = column;
            open.place.tail = before[start..].to_owned();
        }
    }
}

impl Open {
    /// Returns the opening line of a text that was thinking, if it has a place in the buffer.
    fn thinking_line(&mut self, ctx: &Ctx) -> Option<TextEdit> {
        let start = self.was_thinking?;
        // Until the marker is written, all text is unwritten too.
        let is_inserted = start.insert(&mut self.unwritten);
        let first = if is_inserted {
            None
        } else {
            self.first_thought(ctx, start)
        };
        if first.is_none() {
            self.was_thinking = None;
        }
        // The mark stays until the line is there, because the edit may be stale.
        first.map(|first| TextEdit {
            lines: first..first,
            replacement: vec![THINKING.to_owned()],
        })
    }

    /// Returns the line in the buffer on which a text that was thinking begins.
    fn first_thought(&self, ctx: &Ctx, start: ThinkingStart) -> Option<usize> {
        let unwritten = self.unwritten.matches('\n').count();
        let end = self.place.line;
        let first = (end + unwritten).checked_sub(start.line_ends)?;
        let (text, document) = (ctx.buffer.text(), ctx.buffer.document());
        let message = &document.messages[document.message_at(end)?];
        // Lines that the user inserted or removed meanwhile shift the text, which then stays.
        let is_inside = message.lines.contains(&first) && message.lines.start < first;
        (is_inside && text.line(first - 1) != THINKING.as_bytes()).then_some(first)
    }

    fn take_next_piece(&mut self, ctx: &Ctx, anchor: u64) -> AnswerWrite {
        if self.place.is_touched && self.place.is_found(ctx.buffer.text()) {
            self.place.is_touched = false;
            if !self.place.is_in_answer(&ctx.buffer.document()) {
                return AnswerWrite::NoPlace;
            }
        }
        self.last_write = Some(Instant::now());
        let text = self.take_piece();
        self.written.update(text.as_bytes());
        AnswerWrite::Piece {
            anchor,
            text,
            column: self.place.column,
            tail: self.place.tail.clone(),
        }
    }
}

/// Returns the marker line of an answer. If the chat ends with an empty answer, which a request leaves
/// that failed before its first word, that one is continued instead.
fn marker(document: &Document<'_>) -> AnswerWrite {
    let last = document.messages.last().filter(|last| {
        let content = last.lines.start + 1..last.lines.end;
        // Text on the marker line counts as content too.
        last.role == Role::Assistant && last.inline.is_none() && document.is_blank(content)
    });
    if let Some(last) = last {
        let line = last.lines.start;
        return AnswerWrite::Marker {
            edit: None,
            line,
            column: document.text().line(line).len(),
        };
    }
    let edit = write::append_message(document, Role::Assistant, &[]);
    AnswerWrite::Marker {
        // The marker is the last of the new lines; blank lines may come before it.
        line: edit.lines.start + edit.replacement.len().saturating_sub(1),
        column: edit.replacement.last().map_or(0, String::len),
        edit: Some(edit),
    }
}
