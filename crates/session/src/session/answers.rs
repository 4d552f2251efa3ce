//! A request and its answer: sent, written into the buffer, ended, and recovered.

use chat::cycle::{AnswerEnd, CycleEvent};
use provider::StreamEvent;

use super::Session;
use super::checkpoints::prepare_commands;
use super::request::{AfterDraft, AnswerWrite, Drafted};
use crate::protocol::Anchor;

impl Session {
    /// Sends the chat to its provider.
    pub(super) fn send(&mut self) {
        if self.request.is_summary_due(&self.ctx) {
            return self.summarize(String::new(), true);
        }
        let document = self.ctx.buffer.document();
        self.view.follow_answer(&self.ctx, &document);
        // Before anything is sent, so that an answer that is cut off by a crash is noticed.
        self.disk.note_request(&document);
        prepare_commands(&self.ctx, self.calls.begin_recovery());
        let number = self.ctx.buffer.next_number();
        self.request.send(&self.ctx, number, self.calls.seen());
    }

    /// Has the model write a summary, before the chat is sent or for the user.
    pub(super) fn summarize(&mut self, wishes: String, sends: bool) {
        let number = self.ctx.buffer.next_number();
        self.request.summarize(&self.ctx, number, wishes, sends);
        self.view.redraw();
    }

    /// Takes the end of a request for a summary.
    pub(super) fn drafted(&mut self, number: u64, drafted: Drafted) {
        let (cost, next) = self.request.drafted(&self.ctx, number, drafted);
        self.ctx.cycle.spend(cost);
        let Some(next) = next else {
            return;
        };
        match next {
            AfterDraft::Place(summary) => self.queue.push(CycleEvent::Summarize {
                summary,
                sends: true,
            }),
            AfterDraft::Send => self.queue.push(CycleEvent::Unsummarized),
            AfterDraft::Rest => self
                .queue
                .push(CycleEvent::AnswerEnded(AnswerEnd::Cancelled)),
        }
    }

    /// Takes events of the stream that answers the request with this number.
    pub(super) fn stream(&mut self, number: u64, events: Vec<StreamEvent>) {
        let streamed = self.request.stream(&self.ctx, number, events);
        for call in streamed.calls {
            self.queue.push(CycleEvent::Recorded(call));
        }
        if streamed.is_visible {
            self.view.redraw();
        }
    }

    /// Writes what is due of the answer, or ends it. Returns true if it did either.
    pub(super) fn write_answer(&mut self) -> bool {
        let Some(write) = self.request.take_write(&self.ctx) else {
            return false;
        };
        match write {
            AnswerWrite::End => self.end_answer(),
            AnswerWrite::Marker { edit, line, column } => {
                let anchor = self.ctx.buffer.next_number();
                let anchor = Anchor {
                    anchor,
                    line,
                    column,
                };
                self.apply_marker(edit, Some(anchor));
            }
            AnswerWrite::Thinking(edit) => self.apply_marker(Some(edit), None),
            AnswerWrite::Piece {
                anchor,
                column,
                tail,
                text,
            } => {
                let editor = &self.ctx.editor;
                let expect = Some((column, tail));
                self.ctx.buffer.append(editor, anchor, expect, &text);
            }
            AnswerWrite::NoPlace => self.lose_answer(
                "The @Assistant: line above the answer is gone, so the answer ends here.",
                "its place in the chat was lost",
            ),
        }
        true
    }

    /// Ends the request once its answer is in the buffer.
    fn end_answer(&mut self) {
        let Some(answered) = self.request.finish(&self.ctx) else {
            return;
        };
        // From this, recovery knows that the text has the whole answer.
        if let Some(tail) = answered.tail {
            self.disk.note_answer_end(&tail);
        }
        if let Some(cost) = answered.cost {
            // Counted before the next step, which compares the sum with `max_cost` of autopilot.
            self.ctx.cycle.spend(cost);
        }
        self.request.offer_summary(&self.ctx);
        self.view.redraw();
        // An edit with the next prompt or the answer's calls follows at once, and is drawn.
        self.view.wait_a_frame();
        // Last, because the cycle may send the next request as soon as it takes this event.
        self.queue.push(CycleEvent::AnswerEnded(answered.end));
    }

    pub(super) fn cancel_request(&mut self) {
        self.request
            .end("cancelled by the user", AnswerEnd::Cancelled);
        self.ctx.inform("Cancelled.");
    }

    /// Ends an answer that has no place in the text any more; `why` is the message. The
    /// part that is in the text is marked with `reason`.
    pub(super) fn lose_answer(&mut self, why: &str, reason: &'static str) {
        let is_lost = self.request.lose(&self.ctx, why);
        if is_lost && self.disk.has_begun(&self.ctx.buffer.document()) {
            self.request.interrupt(reason);
        }
    }

    /// Ends an answer that lost its place, before the mark that says so is written: a key
    /// that the user presses on seeing the mark must not find an open request.
    pub(super) fn end_lost_answer(&mut self) {
        self.end_answer();
        // The end is decided before keys that are queued already.
        self.queue.last_first();
    }

    /// Stores what a crash must not lose: unsent messages and unfinished work.
    pub(super) fn store(&mut self) {
        if self.disk.has_chat() {
            self.queue.store(&self.ctx);
        }
        let is_found = self.disk.store_unfinished(&self.ctx);
        if is_found {
            self.recover();
        }
    }

    /// Restores what the record of unfinished work contains and the text lacks.
    pub(super) fn recover(&mut self) {
        let Some(lost) = self.disk.lost(&self.ctx.buffer.document()) else {
            return;
        };
        if lost.is_cut && !self.request.is_open() && self.request.interrupted().is_none() {
            self.request
                .interrupt("the chat was closed while the answer was arriving");
        }
        if !lost.results.is_empty() {
            self.queue.push(CycleEvent::Recovered(lost.results));
        }
    }
}
