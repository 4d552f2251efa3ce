//! When everything that a key started is done, and everybody who waits is told.

use serde_json::json;

use super::Session;
use super::dispatch::Rule;

impl Session {
    /// Says once for each key that nothing goes on any more, and why not.
    pub(super) fn tell_rest(&mut self) {
        if !self.unsettled || !self.is_idle() || !self.sees_all() {
            return;
        }
        self.unsettled = false;
        let limit = self.cycle.reached_limit();
        let queued = self.queued_count();
        let waiting = self.cycle.waiting_tools(&self.text.document());
        let data = json!({
            "bufnr": self.buffer,
            "limit": limit,
            "stuck": self.cycle.is_stuck(),
            "queued": queued,
            "waiting": waiting,
        });
        self.editor.event("FlemmaRested", data);
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
