//! Writes an answer into the chat, at the anchor where it grows.

use chat::document::Role;
use chat::text::Lines;
use chat::write;
use tokio::time::Instant;

use super::super::Session;
use super::super::mirror::moved;
use crate::protocol::Anchor;

/// Most bytes of text before the anchor that are compared.
const TAIL: usize = 64;

impl Session {
    /// Writes what is due of the answer, or ends it. Whether anything was done.
    pub(in crate::session) fn write_answer(&mut self) -> bool {
        let Some(open) = &self.request.open else {
            return false;
        };
        if open
            .next_write(false)
            .is_none_or(|due| due > Instant::now() && open.end.is_none())
        {
            return false;
        }
        if open.unwritten.is_empty() {
            self.end_answer();
            return true;
        }
        match open.anchor {
            None => self.write_marker(),
            Some(anchor) => self.write_piece(anchor),
        }
        true
    }

    fn write_piece(&mut self, anchor: u64) {
        if !self.is_below_marker() {
            return self.lose_request(
                "The @Assistant: line above the answer is gone, so the answer ends here.",
                "its place in the chat was lost",
            );
        }
        let Some(open) = &mut self.request.open else {
            return;
        };
        open.last_write = Some(Instant::now());
        let text = open.take_piece();
        let (column, tail) = (open.column, open.tail.clone());
        self.append(anchor, Some((column, &tail)), &text);
    }

    /// Whether the line on which the answer grows is still the model's.
    fn is_below_marker(&mut self) -> bool {
        let Some(open) = self.request.open.as_mut().filter(|open| open.is_touched) else {
            return true;
        };
        let text = self.buffer.mirror.text();
        let before = (open.line < text.line_count())
            .then(|| text.line(open.line).get(..open.column))
            .flatten();
        // Where the line went is known only if its text is there; the editor looks, too.
        if open.tail.is_empty() || !before.is_some_and(|it| it.ends_with(open.tail.as_bytes())) {
            return true;
        }
        open.is_touched = false;
        let line = open.line;
        let document = self.buffer.mirror.document();
        let message = document.message_at(line);
        message.is_some_and(|at| document.messages[at].role == Role::Assistant)
    }

    /// Lines were replaced: the answer's last one may have moved.
    pub(in crate::session) fn move_answer(&mut self, lines: &Lines, count: usize) {
        if let Some(open) = &mut self.request.open {
            open.line = moved(open.line, lines, count);
        }
    }

    /// An empty answer at the end, as one that broke off before its first word
    /// leaves it, is taken up; otherwise a new marker line is written.
    fn write_marker(&mut self) {
        let document = self.buffer.mirror.document();
        let last = document.messages.last().filter(|last| {
            let content = last.lines.start + 1..last.lines.end;
            last.role == Role::Assistant && last.inline.is_none() && document.is_blank(content)
        });
        let (edit, line, column) = if let Some(last) = last {
            let line = last.lines.start;
            (None, line, document.text().line(line).len())
        } else {
            let edit = write::append_message(&document, Role::Assistant, &[]);
            let marker = edit.replacement.last().map_or(0, String::len);
            let line = edit.lines.start + edit.replacement.len().saturating_sub(1);
            (Some(edit), line, marker)
        };
        let anchor = Anchor {
            anchor: self.buffer.next_number(),
            line,
            column,
        };
        if let Some(open) = &mut self.request.open {
            open.last_write = Some(Instant::now());
        }
        self.apply_marker(edit, Some(anchor));
    }

    /// The marker line stands: the answer grows behind it.
    pub(in crate::session) fn marker_written(&mut self, at: Anchor) {
        if let Some(open) = &mut self.request.open {
            open.anchor = Some(at.anchor);
        }
        self.answer_grew(at.line, at.column);
    }

    /// Remembers what stands before the anchor.
    pub(in crate::session) fn answer_grew(&mut self, line: usize, column: usize) {
        let bytes = self.buffer.mirror.text().line(line);
        let before = String::from_utf8_lossy(&bytes[..column.min(bytes.len())]);
        let mut start = before.len().saturating_sub(TAIL);
        while !before.is_char_boundary(start) {
            start += 1;
        }
        if let Some(open) = &mut self.request.open {
            open.line = line;
            open.column = column;
            open.tail = before[start..].to_owned();
        }
    }

    pub(in crate::session) fn anchor(&self) -> Option<u64> {
        self.request.open.as_ref()?.anchor
    }
}
