//! Reports that everything a key started is done.

use crate::frontend::{Rested, SessionEvent};
use crate::session::Session;

impl Session {
    /// Reports once per key that the session is idle, and why.
    pub(crate) fn report_idle(&mut self) {
        // `sees_all` comes last, because it starts to read files.
        if !self.queue.unsettled || !self.is_idle() || !self.sees_all() {
            return;
        }
        self.queue.unsettled = false;
        self.run_ended();
        self.run_rests();
        self.editor.emit(SessionEvent::Rested(Rested {
            buffer: self.buffer.id(),
            limit: self.cycle.reached_limit(),
            stuck: self.cycle.is_stuck(),
            queued: self.queued_count(),
            waiting: self.cycle.waiting_tools(&self.buffer.document()),
        }));
    }

    /// Returns true if nothing happens until the user acts.
    pub(crate) fn is_idle(&self) -> bool {
        let is_decided = self.queue.events.is_empty()
            && !self.buffer.is_busy()
            && self.request.interrupted().is_none();
        let is_reading = self.buffer.is_loading() || self.policy.is_pending();
        let is_running = self.request.is_open() || !self.calls.is_empty() || self.calls.are_tried();
        is_decided && !is_reading && !is_running && self.cycle.is_idle()
    }
}
