//! The state of the open request: its spinner and the status line.

use tokio::time::Instant;

use crate::protocol::{Display, RequestDisplay, Statusline};
use crate::session::Session;
use crate::session::queue::WAITING;

impl Session {
    /// Sends the state of the request and the status line, if they changed.
    pub(super) fn show_request(&mut self) {
        let stalls = self.request.stalls_at();
        // Nothing arrives during a stall, so nothing else would ask for the redraw.
        if let Some(at) = stalls.filter(|at| *at > Instant::now()) {
            self.view.redraw_at(at);
        }
        let request = self.request_state();
        self.show_statusline(&request);
        // The editor counts the time itself, so a change of the time alone sends nothing.
        let is_same =
            |shown: &RequestDisplay| shown.state == request.state && shown.label == request.label;
        if !self.view.shown.request.as_ref().is_some_and(is_same) {
            self.editor.show(Display::Request(request.clone()));
            self.view.shown.request = Some(request);
        }
    }

    /// Returns what the open request is doing, or what a key waits for.
    fn request_state(&self) -> RequestDisplay {
        let (state, label, elapsed_ms) = match self.request.progress() {
            Some((state, label, elapsed_ms)) => (state, Some(label), elapsed_ms),
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

    /// Adds that the chat is in plan mode.
    fn with_plan(&self, text: String) -> String {
        match (self.policy.rules().settings.is_planning(), text.is_empty()) {
            (false, _) => text,
            (true, true) => "plan".to_owned(),
            (true, false) => format!("plan, {text}"),
        }
    }

    fn show_statusline(&mut self, request: &RequestDisplay) {
        let text = match request.state {
            "idle" if self.disk.is_elsewhere() => "open in another program".to_owned(),
            "idle" => self.usage_text(),
            _ if !self.request.is_open() => WAITING.to_owned(),
            state => format!("{state}: {}", request.label.as_deref().unwrap_or_default()),
        };
        let statusline = Statusline {
            buffer: self.buffer.id(),
            text: self.with_plan(self.with_queued(text)),
        };
        if self.view.shown.statusline.as_ref() != Some(&statusline) {
            self.editor.show(Display::Statusline(statusline.clone()));
            self.view.shown.statusline = Some(statusline);
        }
    }
}
