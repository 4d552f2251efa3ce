//! When everything that a key started is done, and everybody who waits is told.

use super::Session;
use crate::frontend::{Rested, SessionEvent};

impl Session {
    /// Says once for each key that nothing goes on any more, and why not.
    pub(super) fn tell_rest(&mut self) {
        if !self.queue.is_unsettled() || !self.is_idle() || !self.sees_all() {
            return;
        }
        self.queue.settle();
        self.editor.emit(SessionEvent::Rested(Rested {
            buffer: self.buffer.id,
            limit: self.cycle.reached_limit(),
            stuck: self.cycle.is_stuck(),
            queued: self.queued_count(),
            waiting: self.cycle.waiting_tools(&self.buffer.mirror.document()),
        }));
    }

    /// Whether nothing goes on, and nothing waits but for the user.
    pub(super) fn is_idle(&self) -> bool {
        let nothing_waits = self.queue.is_empty()
            && self.buffer.in_flight.is_none()
            && self.request.interrupted().is_none();
        let reads = self.buffer.loading.is_some() || self.policy.is_reading();
        let runs = self.request.open.is_some() || !self.calls.running.is_empty();
        nothing_waits && !reads && !runs && self.cycle.is_idle()
    }

    /// The buffer is gone: nothing goes on without it.
    pub(super) fn close(&mut self) {
        if let Some(open) = self.request.open.take() {
            open.stop();
        }
        for call in self.calls.running.values() {
            call.stop();
        }
        // Nobody will answer it.
        self.buffer.in_flight = None;
        self.record_decisions();
    }
}
