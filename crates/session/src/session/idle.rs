//! When everything that a key started is done, and everybody who waits is told.

use super::Session;
use super::dispatch::Rule;
use crate::frontend::{Rested, SessionEvent};

impl Session {
    /// Says once for each key that nothing goes on any more, and why not.
    pub(super) fn tell_rest(&mut self) {
        if !self.unsettled || !self.is_idle() || !self.sees_all() {
            return;
        }
        self.unsettled = false;
        self.editor.emit(SessionEvent::Rested(Rested {
            buffer: self.buffer,
            limit: self.cycle.reached_limit(),
            stuck: self.cycle.is_stuck(),
            queued: self.queued_count(),
            waiting: self.cycle.waiting_tools(&self.text.document()),
        }));
    }

    /// Whether nothing goes on, and nothing waits but for the user.
    pub(super) fn is_idle(&self) -> bool {
        let nothing_waits =
            self.waiting.is_empty() && self.edit.is_none() && self.interrupted.is_none();
        let reads = self.loading.is_some() || self.rule == Rule::Reading;
        let runs = self.request.is_some() || !self.running.is_empty();
        nothing_waits && !reads && !runs && self.cycle.is_idle()
    }

    /// The buffer is gone: nothing goes on without it.
    pub(super) fn close(&mut self) {
        if let Some(open) = self.request.take() {
            open.stop();
        }
        for call in self.running.values() {
            call.stop();
        }
        // Nobody will answer it.
        self.edit = None;
        self.record_decisions();
    }
}
