//! The mirror: the host's copy of a buffer's text, and its parse tree.

use std::cell::RefCell;
use std::sync::Arc;

use chat::document::{Document, Parsed};
use chat::text::{Lines, Text};

use crate::protocol::{Attach, Snapshot};

/// A buffer's text, with the parse tree that belongs to it.
#[derive(Default)]
pub(super) struct Mirror {
    /// Shared with readers on other threads; the next change then makes a copy.
    text: Arc<Text>,
    read: RefCell<Option<Read>>,
}

/// A parse tree, and the first line that changed since.
struct Read {
    parsed: Arc<Parsed>,
    changed: Option<usize>,
}

impl Mirror {
    pub(super) fn new(text: Text) -> Self {
        Self {
            text: Arc::new(text),
            read: RefCell::default(),
        }
    }

    pub(super) fn text(&self) -> &Text {
        &self.text
    }

    /// Returns the parsed text. Parses only what changed since the last call.
    pub(super) fn document(&self) -> Document<'_> {
        // `take` leaves nothing behind, so that `parse_again` need not copy the parse tree.
        let document = match self.read.take() {
            None => Document::parse(&self.text),
            Some(Read {
                parsed,
                changed: Some(line),
            }) => Document::parse_again(&self.text, parsed, line),
            // Nothing has changed since, so the parse tree still fits.
            Some(Read { parsed, .. }) => Document::of(&self.text, parsed),
        };
        self.read.replace(Some(Read {
            parsed: document.parsed(),
            changed: None,
        }));
        document
    }

    /// Returns the text and its parse tree for another thread; see [`Document::of`].
    pub(super) fn share(&self) -> (Arc<Text>, Arc<Parsed>) {
        (self.text.clone(), self.document().parsed())
    }

    /// Replaces lines, see [`Text::splice`].
    pub(super) fn splice<L: AsRef<[u8]>>(&mut self, lines: Lines, new: &[L]) {
        if let Some(read) = self.read.get_mut() {
            // After several changes the next parse starts at the first line that any of
            // them changed.
            let line = read.changed.map_or(lines.start, |it| it.min(lines.start));
            read.changed = Some(line);
        }
        // Copies the text only while another thread reads it, for example to build a request.
        Arc::make_mut(&mut self.text).splice(lines, new);
    }
}

/// A text that arrives in pieces.
#[derive(Default)]
pub(super) struct Loading {
    /// The buffer's properties, if it is new to this host.
    pub(super) attach: Option<Attach>,
    /// The text so far; `None` before the first piece, which is not an empty line.
    bytes: Option<Vec<u8>>,
}

impl Loading {
    /// Returns the state before the first piece of a buffer that is new to this host.
    pub(super) fn of(attach: Attach) -> Self {
        Self {
            attach: Some(attach),
            bytes: None,
        }
    }

    pub(super) fn take_piece(&mut self, snapshot: Snapshot) {
        if let Some(text) = snapshot.text {
            return self.push(&text);
        }
        for line in snapshot.lines {
            // Neovim's API represents NUL bytes as newlines.
            let bytes = line.iter().map(|&b| if b == b'\n' { 0 } else { b });
            self.push(&bytes.collect::<Vec<u8>>());
        }
    }

    fn push(&mut self, lines: &[u8]) {
        match &mut self.bytes {
            None => self.bytes = Some(lines.to_vec()),
            Some(bytes) => {
                bytes.push(b'\n');
                bytes.extend_from_slice(lines);
            }
        }
    }

    /// Drops the pieces so far.
    pub(super) fn begin_again(&mut self) {
        self.bytes = None;
    }

    pub(super) fn into_text(self) -> Text {
        Text::from_bytes(self.bytes.unwrap_or_default())
    }
}

/// Returns where a line is after `count` lines replaced `lines`. A replaced line becomes
/// one of those that replaced it.
pub(crate) fn moved(line: usize, lines: &Lines, count: usize) -> usize {
    if line < lines.start {
        line
    } else if line >= lines.end {
        line - lines.len() + count
    } else {
        lines.start + (line - lines.start).min(count.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_place_when_lines_around_it_change() {
        for (line, lines, count, now) in [
            (3, 5..6, 9, 3),
            (8, 5..6, 4, 11),
            (8, 2..6, 1, 5),
            (5, 5..5, 2, 7),
            (6, 5..9, 7, 6),
            (8, 5..9, 2, 6),
            (8, 5..9, 0, 5),
        ] {
            assert_eq!(moved(line, &lines, count), now, "{line} {lines:?} {count}");
        }
    }
}
