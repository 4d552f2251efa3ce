//! Writes an answer into the chat, at the anchor where it grows.

use chat::answer::THINKING;
use chat::document::{Document, Role};
use chat::text::Text;
use chat::write::{self, TextEdit};
use tokio::time::Instant;

use super::Place;
use crate::protocol::Anchor;
use crate::session::Session;

/// Maximum bytes of text before the anchor that are compared.
const TAIL: usize = 64;

impl Place {
    /// Returns false if the line on which the answer grows no longer belongs to the model.
    fn is_below_marker(&mut self, text: &Text, document: &Document<'_>) -> bool {
        let line = (self.line < text.line_count()).then(|| text.line(self.line));
        let before = line.and_then(|line| line.get(..self.column));
        // If that text is gone, it is unknown where the line went; the editor compares it
        // too.
        if self.tail.is_empty() || !before.is_some_and(|it| it.ends_with(self.tail.as_bytes())) {
            return true;
        }
        self.is_touched = false;
        // In any other message, the model's text would be sent later as words of the user.
        let message = document.message_at(self.line);
        message.is_some_and(|at| document.messages[at].role == Role::Assistant)
    }
}

impl Session {
    /// Writes what is due of the answer, or ends it. Returns true if it did either.
    pub(crate) fn write_answer(&mut self) -> bool {
        let Some(open) = &self.request.open else {
            return false;
        };
        // The last piece does not wait for its frame, because nothing follows it.
        let is_due = |due: Instant| due <= Instant::now() || open.end.is_some();
        if !open.next_write(false).is_some_and(is_due) {
            return false;
        }
        if open.was_thinking.is_some() && self.open_thinking() {
            return true;
        }
        let Some(open) = &self.request.open else {
            return false;
        };
        match open.place.anchor {
            // A request that failed before its first word ends here, without a marker.
            _ if open.unwritten.is_empty() => self.end_answer(),
            None => self.write_marker(),
            Some(anchor) => self.write_piece(anchor),
        }
        true
    }

    /// Inserts the opening line of a text that was thinking. Returns true if it sent an edit.
    fn open_thinking(&mut self) -> bool {
        let Some(open) = &mut self.request.open else {
            return false;
        };
        // Until the marker is written, all text is unwritten too.
        let Some(start) = open
            .was_thinking
            .filter(|start| !start.insert(&mut open.unwritten))
        else {
            open.was_thinking = None;
            return false;
        };
        let unwritten = open.unwritten.matches('\n').count();
        let end = open.place.line;
        let first = (end + unwritten).checked_sub(start.line_ends);
        let text = self.buffer.text();
        let document = self.buffer.document();
        // Lines that the user inserted or removed meanwhile shift the text, which then stays.
        let message = document.message_at(end).map(|at| &document.messages[at]);
        let is_inside = |first: &usize| {
            message.is_some_and(|it| it.lines.contains(first) && it.lines.start < *first)
        };
        let is_open = |first: &usize| text.line(first - 1) == THINKING.as_bytes();
        let first = first.filter(is_inside).filter(|first| !is_open(first));
        let Some(first) = first else {
            open.was_thinking = None;
            return false;
        };
        let edit = TextEdit {
            lines: first..first,
            replacement: vec![THINKING.to_owned()],
        };
        // The mark stays until the line is there, because the edit may be stale.
        self.apply_marker(Some(edit), None);
        true
    }

    fn write_piece(&mut self, anchor: u64) {
        let Some(open) = &mut self.request.open else {
            return;
        };
        let buffer = &self.buffer;
        if open.place.is_touched
            && !open
                .place
                .is_below_marker(buffer.text(), &buffer.document())
        {
            return self.lose_request(
                "The @Assistant: line above the answer is gone, so the answer ends here.",
                "its place in the chat was lost",
            );
        }
        open.last_write = Some(Instant::now());
        let text = open.take_piece();
        let (column, tail) = (open.place.column, open.place.tail.clone());
        self.append(anchor, Some((column, &tail)), &text);
    }

    /// Writes the marker line of an answer. If the chat ends with an empty answer, which a
    /// request leaves that failed before its first word, that one is continued instead.
    fn write_marker(&mut self) {
        let document = self.buffer.document();
        let last = document.messages.last().filter(|last| {
            let content = last.lines.start + 1..last.lines.end;
            // Text on the marker line counts as content too.
            last.role == Role::Assistant && last.inline.is_none() && document.is_blank(content)
        });
        // An empty answer is left by a request that failed, and this one takes its place.
        let (edit, line, column) = if let Some(last) = last {
            let line = last.lines.start;
            (None, line, document.text().line(line).len())
        } else {
            let edit = write::append_message(&document, Role::Assistant, &[]);
            let marker = edit.replacement.last().map_or(0, String::len);
            // The marker is the last of the new lines; blank lines may come before it.
            let line = edit.lines.start + edit.replacement.len().saturating_sub(1);
            (Some(edit), line, marker)
        };
        let anchor = Anchor {
            anchor: self.buffer.next_number(),
            line,
            column,
        };
        if let Some(open) = &mut self.request.open {
            // The marker counts as a write, so the first words wait for the next frame.
            open.last_write = Some(Instant::now());
        }
        self.apply_marker(edit, Some(anchor));
    }

    /// Notes that the editor wrote the marker line and set the anchor.
    pub(crate) fn marker_written(&mut self, at: Anchor) {
        if let Some(open) = &mut self.request.open {
            open.place.anchor = Some(at.anchor);
        }
        self.answer_grew(at.line, at.column);
    }

    /// Remembers where the answer ends now, and the text before that.
    pub(crate) fn answer_grew(&mut self, line: usize, column: usize) {
        let bytes = self.buffer.text().line(line);
        // The text need not be valid UTF-8, and it may have changed since the editor wrote.
        let before = String::from_utf8_lossy(&bytes[..column.min(bytes.len())]);
        let mut start = before.len().saturating_sub(TAIL);
        // Only whole characters can be compared with what the editor has.
        while !before.is_char_boundary(start) {
            start += 1;
        }
        if let Some(open) = &mut self.request.open {
            open.place.line = line;
            open.place.column = column;
            open.place.tail = before[start..].to_owned();
        }
    }
}
