//! A chat's text outside of an editor: applies the host's edits to the text that they were
//! computed for, all or nothing, as `lua/flemma/apply.lua` does in Neovim.
//!
//! The host decides what to write. Knows nothing about files.

use std::collections::HashMap;

use chat::text::{Lines, Text};

use crate::protocol::{AnswerChunk, Applied, BufferEdit, BufferId, EditOutcome};

/// The text, its sequence number, and the anchors where answers grow.
#[derive(Debug)]
pub struct TextBuffer {
    id: BufferId,
    text: Text,
    seq: u64,
    /// Line and byte column of each anchor whose text still exists.
    anchors: HashMap<u64, (usize, usize)>,
}

impl TextBuffer {
    /// Returns a buffer with this number and `text`.
    pub fn new(id: BufferId, text: Text) -> Self {
        Self {
            id,
            text,
            seq: 0,
            anchors: HashMap::new(),
        }
    }

    /// Returns the text.
    pub fn text(&self) -> &Text {
        &self.text
    }

    /// Returns the sequence number: how often the text changed.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Replaces lines; anchors keep their place in the text.
    pub fn splice<L: AsRef<[u8]>>(&mut self, lines: Lines, new: &[L]) {
        // As Neovim's extmarks do that are invalidated with their line.
        self.anchors.retain(|_, (row, _)| !lines.contains(row));
        for (row, _) in self.anchors.values_mut() {
            if *row >= lines.end {
                *row = *row + new.len() - lines.len();
            }
        }
        self.text.splice(lines, new);
        self.seq += 1;
    }

    /// Applies the changes of one step, or none of them.
    pub fn apply(&mut self, edit: &BufferEdit) -> Applied {
        if edit.seq != self.seq {
            return self.answer(edit.edit, EditOutcome::Stale);
        }
        let mut from = 0;
        for change in &edit.changes {
            // Checked before anything is changed: an edit applies completely or not at all.
            if change.first < from || change.last < change.first {
                return self.failed(edit.edit, "its changes are out of order");
            }
            from = change.last;
        }
        if from > self.text.line_count() {
            return self.failed(edit.edit, "it is about lines past the end");
        }
        // From the last change to the first, so that their line numbers stay valid.
        for change in edit.changes.iter().rev() {
            self.splice(change.first..change.last, &change.lines);
        }
        if let Some(at) = &edit.anchor {
            self.anchors.insert(at.anchor, (at.line, at.column));
        }
        self.answer(edit.edit, EditOutcome::Applied)
    }

    /// Inserts text at an anchor and moves the anchor behind it.
    pub fn append(&mut self, append: &AnswerChunk) -> Applied {
        let Some((row, column)) = self.anchors.get(&append.anchor).copied() else {
            return self.answer(append.edit, EditOutcome::Lost);
        };
        let line = self.text.line(row).to_vec();
        let column = column.min(line.len());
        // Another edit may have changed the text before the anchor.
        let expected = append.expect.as_ref().is_none_or(|expect| {
            expect.column == column && line[..column].ends_with(expect.tail.as_bytes())
        });
        let at = |mut applied: Applied| {
            (applied.at_row, applied.at_column) = (Some(row), Some(column));
            applied
        };
        if !expected {
            return at(self.answer(append.edit, EditOutcome::Moved));
        }
        let mut lines: Vec<Vec<u8>> = append.lines.iter().map(|it| it.as_bytes().into()).collect();
        let mut end = (row + lines.len().max(1) - 1, column);
        if let Some(first) = lines.first_mut() {
            first.splice(0..0, line[..column].iter().copied());
        }
        if let Some(last) = lines.last_mut() {
            end.1 = last.len();
            last.extend_from_slice(&line[column..]);
        }
        if !lines.is_empty() {
            self.splice(row..row + 1, &lines);
        }
        self.anchors.insert(append.anchor, end);
        at(self.answer(append.edit, EditOutcome::Applied))
    }

    /// Forgets an anchor.
    pub fn release_anchor(&mut self, anchor: u64) {
        self.anchors.remove(&anchor);
    }

    fn answer(&self, edit: u64, outcome: EditOutcome) -> Applied {
        Applied {
            buffer: self.id,
            edit,
            outcome,
            seq: self.seq,
            message: None,
            at_row: None,
            at_column: None,
        }
    }

    fn failed(&self, edit: u64, why: &str) -> Applied {
        Applied {
            message: Some(why.to_owned()),
            ..self.answer(edit, EditOutcome::Failed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Anchor, Expect, LineChange};

    fn buffer(text: &str) -> TextBuffer {
        TextBuffer::new(1, Text::from(text))
    }

    fn change(first: usize, last: usize, lines: &[&str]) -> LineChange {
        let lines = lines.iter().map(|it| (*it).to_owned()).collect();
        LineChange { first, last, lines }
    }

    fn apply(seq: u64, changes: Vec<LineChange>) -> BufferEdit {
        BufferEdit {
            buffer: 1,
            edit: 1,
            seq,
            changes,
            anchor: None,
            join: false,
            keep: false,
            unlock: false,
        }
    }

    fn shown(buffer: &TextBuffer) -> String {
        String::from_utf8_lossy(buffer.text().bytes()).into_owned()
    }

    #[test]
    fn changes_are_applied_all_or_none() {
        let mut it = buffer("a\nb\nc");
        let both = apply(0, vec![change(0, 1, &["x", "y"]), change(2, 3, &["z"])]);
        assert_eq!(it.apply(&both).outcome, EditOutcome::Applied);
        assert_eq!(shown(&it), "x\ny\nb\nz");
        let past = apply(it.seq(), vec![change(0, 1, &[]), change(9, 9, &["q"])]);
        assert_eq!(it.apply(&past).outcome, EditOutcome::Failed);
        assert_eq!(it.apply(&both).outcome, EditOutcome::Stale);
        assert_eq!(shown(&it), "x\ny\nb\nz");
    }

    #[test]
    fn an_answer_grows_at_its_anchor_whatever_is_written_above_it() {
        let mut it = buffer("@Assistant:\nend");
        let mut marker = apply(it.seq(), Vec::new());
        marker.anchor = Some(Anchor {
            anchor: 7,
            line: 0,
            column: 11,
        });
        assert_eq!(it.apply(&marker).outcome, EditOutcome::Applied);
        let append = |column, tail: &str, lines: &[&str]| AnswerChunk {
            buffer: 1,
            edit: 2,
            anchor: 7,
            expect: Some(Expect {
                column,
                tail: tail.to_owned(),
            }),
            lines: lines.iter().map(|it| (*it).to_owned()).collect(),
            join: true,
        };
        let first = it.append(&append(11, "ant:", &["", "one"]));
        assert_eq!(
            (first.outcome, first.at_row, first.at_column),
            (EditOutcome::Applied, Some(0), Some(11))
        );
        it.splice(0..0, &["above"]);
        let moved = it.append(&append(3, "two", &["!"]));
        assert_eq!((moved.outcome, moved.at_row), (EditOutcome::Moved, Some(2)));
        assert_eq!(
            it.append(&append(3, "one", &[" two", ""])).outcome,
            EditOutcome::Applied
        );
        assert_eq!(shown(&it), "above\n@Assistant:\none two\n\nend");
        it.splice(2..4, &["gone"]);
        assert_eq!(it.append(&append(0, "", &["x"])).outcome, EditOutcome::Lost);
    }
}
