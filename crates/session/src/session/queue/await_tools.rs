//! Makes a key wait until all tools have loaded. Otherwise the model would not know them,
//! and calls of them would end in an error.

use chat::cycle::CycleEvent;

use crate::session::Session;

/// Message while tool definitions are loaded.
pub(crate) const WAITING: &str = "Waiting for tool definitions to load...";

impl Session {
    /// Returns true if a key has to wait for tools; reports that once.
    pub(crate) fn waits_for_tools(&mut self, event: &CycleEvent) -> bool {
        if !self.shared.loading || !is_of_user(event) {
            self.queue.is_wait_shown = false;
            return false;
        }
        if !std::mem::replace(&mut self.queue.is_wait_shown, true) {
            // With a screen, the status line shows this as long as the key waits.
            if self.editor.is_headless() {
                self.inform(WAITING);
            }
            self.view.redraw();
        }
        true
    }

    /// Returns true while a key waits for tools: a second one would send twice.
    pub(crate) fn is_waiting_for_tools(&self) -> bool {
        self.queue.is_wait_shown && self.queue.events.iter().any(is_of_user)
    }

    /// Takes back the key that waits for tools. Returns true if there was one.
    pub(crate) fn take_back_waiting(&mut self) -> bool {
        if !self.is_waiting_for_tools() {
            return false;
        }
        let mut words = Vec::new();
        self.queue.retain(|event| match event {
            CycleEvent::Steer(text) | CycleEvent::FollowUp(text) | CycleEvent::Ask { text, .. } => {
                // Text is never dropped; it goes back into the prompt.
                words.push(std::mem::take(text));
                false
            }
            event => !is_of_user(event),
        });
        if !words.is_empty() {
            self.queue.push(CycleEvent::TakeBack(words));
        }
        self.queue.is_wait_shown = false;
        self.view.redraw();
        // The rules made for the cancelled key must not serve the next one.
        self.policy.expire();
        self.inform("Nothing was sent: you cancelled it before the tools were loaded.");
        true
    }
}

/// Returns true if a key or a command of the user asks for work.
pub(crate) fn is_of_user(event: &CycleEvent) -> bool {
    matches!(
        event,
        CycleEvent::Advance
            | CycleEvent::Send
            | CycleEvent::Resolve { .. }
            | CycleEvent::Review { .. }
            | CycleEvent::ApproveAll
            | CycleEvent::Reject { .. }
            | CycleEvent::Steer(_)
            | CycleEvent::FollowUp(_)
            | CycleEvent::Ask { send: true, .. }
    )
}
