//! Edits on their way to the buffer, and what the mirror makes of the answers.

use std::collections::VecDeque;

use chat::cycle::{Effect, Event};
use chat::escape::escape_line;
use chat::origin::ChangeSource;
use chat::write::TextEdit;

use super::Session;
use crate::protocol::{Anchor, AnswerChunk, Applied, BufferEdit, Change, Expect, Outcome};

/// An edit that the editor has not answered yet.
pub(super) struct InFlight {
    number: u64,
    what: What,
}

enum What {
    /// Changes that the cycle decided on, and what follows them.
    Cycle {
        changes: Vec<Change>,
        rest: VecDeque<Effect>,
        again: Event,
        /// Who wants the changes: the host, or the user by `:Flemma fix`.
        source: ChangeSource,
    },
    /// The marker of an answer, or its end, outside the cycle.
    Marker {
        changes: Vec<Change>,
        /// Where the answer grows.
        anchor: Option<Anchor>,
    },
    /// A piece of an answer.
    Append { lines: Vec<String> },
}

impl Session {
    /// Sends the changes of a step; `rest` follows when they are applied.
    pub(super) fn apply(&mut self, edits: Vec<TextEdit>, rest: VecDeque<Effect>, again: Event) {
        self.apply_for(ChangeSource::Host, edits, rest, again);
    }

    /// Does so for the user: what it changes counts as typed.
    pub(super) fn apply_for(
        &mut self,
        source: ChangeSource,
        edits: Vec<TextEdit>,
        rest: VecDeque<Effect>,
        again: Event,
    ) {
        let changes = self.send_changes(edits, None);
        self.calls.pace.wrote();
        self.buffer.in_flight = Some(InFlight {
            number: self.buffer.last_number(),
            what: What::Cycle {
                changes,
                rest,
                again,
                source,
            },
        });
    }

    /// Sends the marker line under which an answer is written, or its end. The place where
    /// it grows is set with it: the user may type above it at any time.
    pub(super) fn apply_marker(&mut self, edit: Option<TextEdit>, anchor: Option<Anchor>) {
        let changes = self.send_changes(edit.into_iter().collect(), anchor);
        self.buffer.in_flight = Some(InFlight {
            number: self.buffer.last_number(),
            what: What::Marker { changes, anchor },
        });
    }

    fn send_changes(&mut self, edits: Vec<TextEdit>, anchor: Option<Anchor>) -> Vec<Change> {
        let changes: Vec<Change> = edits.into_iter().map(|edit| self.smallest(edit)).collect();
        let approves = |line: &String| line.contains("flemma:tool") && line.contains("approved");
        let edit = BufferEdit {
            buffer: self.buffer.id,
            edit: self.buffer.next_number(),
            seq: self.buffer.seq,
            changes: changes.clone(),
            anchor,
            join: false,
            keep: changes.iter().any(|it| it.lines.iter().any(approves)),
            unlock: self.calls.running.is_empty() && !self.cycle.has_queue(),
        };
        self.editor.frontend().apply(edit);
        changes
    }

    /// A change that leaves alone the lines that stay: a cursor or a mark in them keeps
    /// its place.
    fn smallest(&self, edit: TextEdit) -> Change {
        let (mut lines, mut replacement) = (edit.lines, edit.replacement);
        let text = self.buffer.mirror.text();
        let stays = |line: usize, new: &String| *text.line(line) == *new.as_bytes();
        let pairs = lines.clone().zip(&replacement);
        let above = pairs.take_while(|(line, new)| stays(*line, new)).count();
        replacement.drain(..above);
        lines.start += above;
        let pairs = lines.clone().rev().zip(replacement.iter().rev());
        let below = pairs.take_while(|(line, new)| stays(*line, new)).count();
        replacement.truncate(replacement.len() - below);
        Change {
            first: lines.start,
            last: lines.end - below,
            lines: replacement,
        }
    }

    /// Sends a piece of an answer to its anchor.
    pub(super) fn append(&mut self, anchor: u64, expect: Option<(usize, &str)>, text: &str) {
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let edit = self.buffer.next_number();
        let expect = expect.map(|(column, tail)| Expect {
            column,
            tail: tail.to_owned(),
        });
        self.editor.frontend().append(AnswerChunk {
            buffer: self.buffer.id,
            edit,
            anchor,
            expect,
            lines: lines.clone(),
            join: true,
        });
        self.buffer.in_flight = Some(InFlight {
            number: edit,
            what: What::Append { lines },
        });
    }

    /// The editor answered.
    pub(super) fn applied(&mut self, applied: Applied) {
        self.buffer.seq = applied.seq.max(self.buffer.seq);
        let Some(InFlight { what, .. }) = self
            .buffer
            .in_flight
            .take_if(|edit| edit.number == applied.edit)
        else {
            return;
        };
        self.view.redraw();
        match (what, applied.outcome) {
            (
                What::Cycle {
                    changes,
                    rest,
                    source,
                    ..
                },
                Outcome::Applied,
            ) => {
                self.splice(&changes, source);
                self.view.redraw_now();
                self.queue.push_first(Event::Continue);
                self.perform(rest, Event::Continue);
            }
            (What::Cycle { again, .. }, Outcome::Stale) => self.queue.push_first(again),
            (What::Marker { changes, anchor }, Outcome::Applied) => {
                self.splice(&changes, ChangeSource::Host);
                if let Some(anchor) = anchor {
                    self.marker_written(anchor);
                }
            }
            // What was to be written is still there and is tried again.
            (What::Marker { .. }, Outcome::Stale) => {}
            (What::Append { lines }, Outcome::Applied) => self.appended(&lines, &applied),
            (What::Append { lines }, Outcome::Moved) => self.append_below(&lines),
            (What::Append { .. }, Outcome::Lost) => {
                self.lose_request(
                    "The place where the answer was being written is gone, so the answer ends here.",
                    "its place in the chat was lost",
                );
            }
            (what, _) => self.refused(what, applied.message),
        }
    }

    fn splice(&mut self, changes: &[Change], source: ChangeSource) {
        if source == ChangeSource::Host {
            return self.change_by_host(changes);
        }
        for change in changes.iter().rev() {
            self.change_text(change.first..change.last, &change.lines, source);
        }
    }

    fn appended(&mut self, lines: &[String], applied: &Applied) {
        let (Some(row), Some(column)) = (applied.at_row, applied.at_column) else {
            return;
        };
        let old = self.buffer.mirror.text().line(row).to_vec();
        let column = column.min(old.len());
        let mut new: Vec<Vec<u8>> = lines.iter().map(|line| line.clone().into_bytes()).collect();
        if let Some(first) = new.first_mut() {
            first.splice(0..0, old[..column].iter().copied());
        }
        let end = new.last().map_or(0, Vec::len);
        if let Some(last) = new.last_mut() {
            last.extend_from_slice(&old[column..]);
        }
        let last_row = row + new.len() - 1;
        self.change_text(row..row + 1, &new, ChangeSource::Host);
        self.answer_grew(last_row, end);
    }

    /// Somebody changed the line that the answer was on. It goes on in a new line,
    /// which must not begin like structure.
    fn append_below(&mut self, lines: &[String]) {
        let mut lines = lines.to_vec();
        if let Some(first) = lines.first_mut() {
            *first = format!("\n{}", escape_line(first));
        }
        let text = lines.join("\n");
        if let Some(anchor) = self.anchor() {
            self.append(anchor, None, &text);
        }
    }

    fn refused(&mut self, what: What, message: Option<String>) {
        let why = message.unwrap_or_else(|| "no reason was given".to_owned());
        self.editor.report_problem(&chat::Problem::new(
            format!("Neovim refused a change of this buffer ({why}), so nothing was written."),
            "Press Ctrl-] to try again.",
        ));
        self.request.forget_interruption();
        if !matches!(what, What::Cycle { .. }) {
            self.lose_request(
                "The buffer could not be written, so the answer ends here.",
                "the buffer could not be written",
            );
        }
    }

    /// Says at the end of the last answer why it was cut off.
    pub(super) fn mark_interrupted(&mut self, reason: &str) {
        let document = self.buffer.mirror.document();
        match chat::write::abort_last(&document, reason) {
            Some(edit) => self.apply_marker(Some(edit), None),
            None => self.request.forget_interruption(),
        }
    }
}
