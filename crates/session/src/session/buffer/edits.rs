//! Edits of the host: sent to the editor, and kept until it has answered.

use std::collections::VecDeque;

use chat::cycle::{CycleEvent, Effect};
use chat::origin::ChangeSource;
use chat::scan::escape_line;
use chat::write::TextEdit;

use super::Buffer;
use crate::editor::Editor;
use crate::protocol::{Anchor, AnswerChunk, Applied, BufferEdit, Expect, LineChange};

/// An edit that the editor has not answered yet.
pub(super) struct InFlight {
    number: u64,
    kind: EditKind,
}

/// The content of an edit in flight.
pub(in crate::session) enum EditKind {
    /// Changes that the cycle decided on.
    Cycle {
        changes: Vec<LineChange>,
        /// Carried out once the changes are applied.
        rest: VecDeque<Effect>,
        /// Decided again if the changes are stale.
        again: CycleEvent,
        /// The host, or the user by `:Flemma fix`.
        source: ChangeSource,
    },
    /// The marker of an answer, or its end, outside the cycle.
    Marker {
        changes: Vec<LineChange>,
        /// The place where the answer grows.
        anchor: Option<Anchor>,
    },
    /// A piece of an answer.
    Append { lines: Vec<String> },
}

/// A piece of an answer as the editor wrote it.
pub(in crate::session) struct Appended {
    /// The line to whose text it was added.
    pub(in crate::session) row: usize,
    /// The lines in place of that one.
    pub(in crate::session) lines: Vec<Vec<u8>>,
    /// The byte column in the last line at which the piece ends.
    pub(in crate::session) end: usize,
}

impl Buffer {
    /// Sends changes, which the editor answers. `anchor` is set with them, because the user may type
    /// above it at any time; `unlock` releases the lock of the text.
    pub(in crate::session) fn send(
        &mut self,
        editor: &Editor,
        edits: Vec<TextEdit>,
        anchor: Option<Anchor>,
        unlock: bool,
    ) -> Vec<LineChange> {
        let changes: Vec<LineChange> = edits.into_iter().map(|edit| self.smallest(edit)).collect();
        // A call that is approved starts next, so the approval must survive a crash.
        let approves = |line: &String| line.contains("flemma:tool") && line.contains("approved");
        editor.frontend().apply(BufferEdit {
            buffer: self.id,
            edit: self.next_number(),
            seq: self.seq,
            changes: changes.clone(),
            anchor,
            join: false,
            keep: changes.iter().any(|it| it.lines.iter().any(approves)),
            unlock,
        });
        changes
    }

    /// Returns the edit without the lines that it leaves as they are, so that a cursor or a
    /// mark in them keeps its place.
    fn smallest(&self, edit: TextEdit) -> LineChange {
        let (mut lines, mut replacement) = (edit.lines, edit.replacement);
        let text = self.text();
        let is_same = |line: usize, new: &String| *text.line(line) == *new.as_bytes();
        // First the lines above that stay the same, then those below, which keep marks and
        // folds.
        let pairs = lines.clone().zip(&replacement);
        let above = pairs.take_while(|(line, new)| is_same(*line, new)).count();
        replacement.drain(..above);
        lines.start += above;
        let pairs = lines.clone().rev().zip(replacement.iter().rev());
        let below = pairs.take_while(|(line, new)| is_same(*line, new)).count();
        replacement.truncate(replacement.len() - below);
        LineChange {
            first: lines.start,
            last: lines.end - below,
            lines: replacement,
        }
    }

    /// Sends a piece of an answer to its anchor, which the editor answers.
    pub(in crate::session) fn append(
        &mut self,
        editor: &Editor,
        anchor: u64,
        expect: Option<(usize, String)>,
        text: &str,
    ) {
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let edit = self.next_number();
        editor.frontend().append(AnswerChunk {
            buffer: self.id,
            edit,
            anchor,
            expect: expect.map(|(column, tail)| Expect { column, tail }),
            lines: lines.clone(),
            join: true,
        });
        self.wait_for(EditKind::Append { lines });
    }

    /// Continues an answer on a new line, because the user changed its last one. The new
    /// line must not begin like structure.
    pub(in crate::session) fn append_below(
        &mut self,
        editor: &Editor,
        anchor: u64,
        lines: &[String],
    ) {
        let mut lines = lines.to_vec();
        if let Some(first) = lines.first_mut() {
            // On a line of its own, the text could become structure.
            *first = format!("\n{}", escape_line(first));
        }
        self.append(editor, anchor, None, &lines.join("\n"));
    }

    /// Stores the edit that was sent last as the one in flight.
    pub(in crate::session) fn wait_for(&mut self, kind: EditKind) {
        let number = self.last_number;
        self.in_flight = Some(InFlight { number, kind });
    }

    /// Takes the edit in flight, if it has this number. An answer to an older edit means that the buffer
    /// was reloaded or closed meanwhile.
    pub(in crate::session) fn take_answered(&mut self, number: u64) -> Option<EditKind> {
        let edit = self.in_flight.take_if(|edit| edit.number == number)?;
        Some(edit.kind)
    }

    /// Follows the editor's count of changes. Returns true if the text is a later one.
    pub(in crate::session) fn follow_seq(&mut self, seq: u64) -> bool {
        // A change by the user may already have raised the number.
        let is_later = seq > self.seq;
        self.seq = self.seq.max(seq);
        is_later
    }

    /// Returns what a piece of an answer changed, at the place where the editor wrote it.
    pub(in crate::session) fn appended(
        &self,
        lines: &[String],
        applied: &Applied,
    ) -> Option<Appended> {
        let (row, column) = applied.at_row.zip(applied.at_column)?;
        let old = self.text().line(row);
        let (before, behind) = old.split_at(column.min(old.len()));
        let mut new: Vec<Vec<u8>> = lines.iter().map(|line| line.clone().into_bytes()).collect();
        if let Some(first) = new.first_mut() {
            // The editor reports only where it appended, so the lines are put together as it did.
            first.splice(0..0, before.iter().copied());
        }
        let end = new.last().map_or(0, Vec::len);
        // Text that the user typed behind the anchor stays behind the answer.
        if let Some(last) = new.last_mut() {
            last.extend_from_slice(behind);
        }
        Some(Appended {
            row,
            lines: new,
            end,
        })
    }
}
