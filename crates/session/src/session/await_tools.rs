//! A key that is pressed before all tools are there waits for them.
//!
//! A request that went out without them would have the model do without, and a call
//! of one would be answered with an error.

use chat::cycle::Event;

use super::Session;

/// The words of the tools specification, "Async tool definitions".
pub(super) const WAITING: &str = "Waiting for tool definitions to load...";

impl Session {
    /// Whether the user's own act has to wait for tools; it is said once.
    pub(super) fn waits_for_tools(&mut self, event: &Event) -> bool {
        if !self.shared.loading || !is_of_user(event) {
            self.queue.forget_waiting();
            return false;
        }
        if self.queue.tells_waiting() {
            // Where there is a screen, it shows this for as long as it holds.
            if self.editor.is_headless() {
                self.inform(WAITING);
            }
            self.view.redraw();
        }
        true
    }

    /// Whether a key waits for tools already: a second one would send twice.
    pub(super) fn is_waiting_for_tools(&self) -> bool {
        self.queue.has_told_waiting() && self.queue.iter().any(is_of_user)
    }

    /// Ctrl-C takes back a key that waits for tools. Whether there was one.
    pub(super) fn take_back_waiting(&mut self) -> bool {
        if !self.is_waiting_for_tools() {
            return false;
        }
        let mut words = Vec::new();
        self.queue.retain(|event| match event {
            Event::Steer(text) | Event::FollowUp(text) => {
                words.push(std::mem::take(text));
                false
            }
            event => !is_of_user(event),
        });
        if !words.is_empty() {
            self.queue.push(Event::TakeBack(words));
        }
        self.queue.forget_waiting();
        self.view.redraw();
        self.policy.expire();
        self.inform("Nothing was sent: you took it back before the tools were there.");
        true
    }
}

fn is_of_user(event: &Event) -> bool {
    matches!(
        event,
        Event::Advance
            | Event::Send
            | Event::Resolve { .. }
            | Event::ApproveAll
            | Event::Reject { .. }
            | Event::Steer(_)
            | Event::FollowUp(_)
    )
}
