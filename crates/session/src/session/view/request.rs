//! The state of the open request: its spinner.

use tokio::time::Instant;

use crate::protocol::{Display, RequestDisplay};
use crate::session::Session;
use crate::session::queue::WAITING;

impl Session {
    /// Sends the state of the request, if it changed. Returns it.
    pub(super) fn show_request(&mut self) -> RequestDisplay {
        let stalls = self.request.stalls_at();
        // Nothing arrives during a stall, so nothing else would ask for the redraw.
        if let Some(at) = stalls.filter(|at| *at > Instant::now()) {
            self.view.redraw_at(at);
        }
        let request = self.request_state();
        // The editor counts the time itself, so a change of the time alone sends nothing.
        let is_same =
            |shown: &RequestDisplay| shown.state == request.state && shown.label == request.label;
        if !self.view.shown.request.as_ref().is_some_and(is_same) {
            self.editor.show(Display::Request(request.clone()));
            self.view.shown.request = Some(request.clone());
        }
        request
    }

    /// Returns what the open request is doing, or what a key waits for.
    fn request_state(&self) -> RequestDisplay {
        let (state, label, elapsed_ms) = match self.request.progress() {
            Some((state, label, elapsed_ms)) => (state, Some(label), elapsed_ms),
            // Without a request, the spinner belongs to the key that waits for tools.
            None if self.is_waiting_for_tools() => ("waiting", Some(WAITING.to_owned()), None),
            None => ("idle", None, None),
        };
        RequestDisplay {
            buffer: self.buffer.id(),
            state,
            label,
            elapsed_ms,
        }
    }
}
