//! Edits of the host: sent to the editor, and taken into the mirror once it applied them.

use std::collections::VecDeque;

use chat::cycle::{CycleEvent, Effect};
use chat::escape::escape_line;
use chat::origin::ChangeSource;
use chat::write::TextEdit;

use crate::protocol::{Anchor, AnswerChunk, Applied, BufferEdit, EditOutcome, Expect, LineChange};
use crate::session::Session;

/// An edit that the editor has not answered yet.
pub(super) struct InFlight {
    number: u64,
    kind: EditKind,
}

/// The content of an edit in flight.
enum EditKind {
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

impl Session {
    /// Sends the changes of a step; `rest` follows when they are applied.
    pub(crate) fn apply(
        &mut self,
        edits: Vec<TextEdit>,
        rest: VecDeque<Effect>,
        again: CycleEvent,
    ) {
        self.apply_for(ChangeSource::Host, edits, rest, again);
    }

    /// Sends changes that the user requested: they count as typed.
    pub(crate) fn apply_for(
        &mut self,
        source: ChangeSource,
        edits: Vec<TextEdit>,
        rest: VecDeque<Effect>,
        again: CycleEvent,
    ) {
        let changes = self.send_changes(edits, None);
        self.calls.results_written();
        self.wait_for_editor(EditKind::Cycle {
            changes,
            rest,
            again,
            source,
        });
    }

    /// Sends the marker line above an answer, or the answer's end. The anchor at which the
    /// answer grows is set with it, because the user may type above it at any time.
    pub(crate) fn apply_marker(&mut self, edit: Option<TextEdit>, anchor: Option<Anchor>) {
        let changes = self.send_changes(edit.into_iter().collect(), anchor);
        self.wait_for_editor(EditKind::Marker { changes, anchor });
    }

    /// Stores the edit that was sent last as the one in flight.
    fn wait_for_editor(&mut self, kind: EditKind) {
        let number = self.buffer.last_number;
        self.buffer.in_flight = Some(InFlight { number, kind });
    }

    fn send_changes(&mut self, edits: Vec<TextEdit>, anchor: Option<Anchor>) -> Vec<LineChange> {
        let changes: Vec<LineChange> = edits.into_iter().map(|edit| self.smallest(edit)).collect();
        // A call that is approved starts next, so the approval must survive a crash.
        let approves = |line: &String| line.contains("flemma:tool") && line.contains("approved");
        let edit = BufferEdit {
            buffer: self.buffer.id(),
            edit: self.buffer.next_number(),
            seq: self.buffer.seq,
            changes: changes.clone(),
            anchor,
            join: false,
            keep: changes.iter().any(|it| it.lines.iter().any(approves)),
            unlock: self.calls.is_empty() && !self.cycle.has_queue(),
        };
        self.editor.frontend().apply(edit);
        changes
    }

    /// Returns the edit without the lines that it leaves as they are, so that a cursor or a
    /// mark in them keeps its place.
    fn smallest(&self, edit: TextEdit) -> LineChange {
        let (mut lines, mut replacement) = (edit.lines, edit.replacement);
        let text = self.buffer.text();
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

    /// Sends a piece of an answer to its anchor.
    pub(crate) fn append(&mut self, anchor: u64, expect: Option<(usize, &str)>, text: &str) {
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let edit = self.buffer.next_number();
        let expect = expect.map(|(column, tail)| Expect {
            column,
            tail: tail.to_owned(),
        });
        self.editor.frontend().append(AnswerChunk {
            buffer: self.buffer.id(),
            edit,
            anchor,
            expect,
            lines: lines.clone(),
            join: true,
        });
        self.wait_for_editor(EditKind::Append { lines });
    }

    /// Takes the editor's answer to an edit.
    pub(crate) fn applied(&mut self, applied: Applied) {
        // A change by the user may already have raised the number.
        if applied.seq > self.buffer.seq {
            self.buffer.seq = applied.seq;
            // What the host writes is not in the file either.
            self.note_change();
        }
        let in_flight = &mut self.buffer.in_flight;
        // An answer to an older edit: the buffer was reloaded or closed meanwhile.
        let Some(edit) = in_flight.take_if(|edit| edit.number == applied.edit) else {
            return;
        };
        self.view.redraw();
        match (edit.kind, applied.outcome) {
            (
                EditKind::Cycle {
                    changes,
                    rest,
                    source,
                    ..
                },
                EditOutcome::Applied,
            ) => self.cycle_applied(&changes, source, rest),
            // The text has changed meanwhile, so the cycle decides again on the new one.
            (EditKind::Cycle { again, .. }, EditOutcome::Stale) => self.queue.push_first(again),
            (EditKind::Marker { changes, anchor }, EditOutcome::Applied) => {
                self.change_by_host(&changes);
                anchor.into_iter().for_each(|it| self.marker_written(it));
            }
            // The marker is still missing; the next frame writes it again.
            (EditKind::Marker { .. }, EditOutcome::Stale) => {}
            (EditKind::Append { lines }, EditOutcome::Applied) => self.appended(&lines, &applied),
            (EditKind::Append { lines }, EditOutcome::Moved) => self.append_below(&lines),
            (EditKind::Append { .. }, EditOutcome::Lost) => self.lose_request(
                "The place where the answer was being written is gone, so the answer ends here.",
                "its place in the chat was lost",
            ),
            (kind, _) => self.refused(&kind, applied.message),
        }
    }

    /// Takes the changes of a step into the mirror, and carries out what follows them.
    fn cycle_applied(
        &mut self,
        changes: &[LineChange],
        source: ChangeSource,
        rest: VecDeque<Effect>,
    ) {
        if source == ChangeSource::Host {
            self.change_by_host(changes);
        } else {
            // From the last change to the first, so that their line numbers stay valid.
            for change in changes.iter().rev() {
                self.change_text(change.first..change.last, &change.lines, source);
            }
        }
        self.view.redraw_now();
        // Before the next request writes into the text.
        self.save_news();
        // The cycle continues on this text before any event that is queued already.
        self.queue.push_first(CycleEvent::Continue);
        self.perform(rest, CycleEvent::Continue);
    }

    /// Takes a piece of the answer into the mirror, at the place where the editor wrote it.
    fn appended(&mut self, lines: &[String], applied: &Applied) {
        let (Some(row), Some(column)) = (applied.at_row, applied.at_column) else {
            return;
        };
        let old = self.buffer.text().line(row).to_vec();
        let column = column.min(old.len());
        let mut new: Vec<Vec<u8>> = lines.iter().map(|line| line.clone().into_bytes()).collect();
        if let Some(first) = new.first_mut() {
            // The editor reports only where it appended, so the lines are put together as it did.
            first.splice(0..0, old[..column].iter().copied());
        }
        let end = new.last().map_or(0, Vec::len);
        // Text that the user typed behind the anchor stays behind the answer.
        if let Some(last) = new.last_mut() {
            last.extend_from_slice(&old[column..]);
        }
        let last_row = row + new.len() - 1;
        self.change_text(row..row + 1, &new, ChangeSource::Host);
        self.answer_grew(last_row, end);
    }

    /// Continues the answer on a new line, because the user changed its last one. The new
    /// line must not begin like structure.
    fn append_below(&mut self, lines: &[String]) {
        let mut lines = lines.to_vec();
        if let Some(first) = lines.first_mut() {
            // On a line of its own, the text could become structure.
            *first = format!("\n{}", escape_line(first));
        }
        let text = lines.join("\n");
        if let Some(anchor) = self.request.anchor() {
            self.append(anchor, None, &text);
        }
    }

    fn refused(&mut self, kind: &EditKind, message: Option<String>) {
        let why = message.unwrap_or_else(|| "no reason was given".to_owned());
        self.editor.report_problem(&chat::Problem::new(
            format!("Neovim refused a change of this buffer ({why}), so nothing was written."),
            "Press Ctrl-] to try again.",
        ));
        self.request.forget_interruption();
        // The next key makes the cycle decide on this edit again; an answer is not
        // repeated.
        if !matches!(kind, EditKind::Cycle { .. }) {
            self.lose_request(
                "The buffer could not be written, so the answer ends here.",
                "the buffer could not be written",
            );
        }
    }

    /// Writes at the end of the last answer why it was cut off.
    pub(crate) fn mark_interrupted(&mut self, reason: &str) {
        let document = self.buffer.document();
        match chat::write::abort_last(&document, reason) {
            // Once the mark is in the text there is no edit to make, and the interruption is
            // forgotten.
            Some(edit) => self.apply_marker(Some(edit), None),
            None => self.request.forget_interruption(),
        }
    }
}
