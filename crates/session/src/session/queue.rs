//! Events that wait for their step, in order, and unsent messages on disk.

mod await_tools;
mod idle;
mod store;

use std::collections::VecDeque;

use chat::cycle::CycleEvent;

pub(super) use self::await_tools::{WAITING, is_of_user};
use self::store::QueueStore;

/// Events that wait for their step.
#[derive(Debug, Default)]
pub(super) struct Queue {
    events: VecDeque<CycleEvent>,
    /// The file with messages that the chat does not contain yet.
    store: QueueStore,
    /// Whether the message that a key waits for tools was shown.
    is_wait_shown: bool,
    /// Whether a key was pressed since the session last reported that it is idle.
    unsettled: bool,
}

impl Queue {
    /// Adds an event behind all others.
    pub(super) fn push(&mut self, event: CycleEvent) {
        self.events.push_back(event);
    }

    /// Adds an event before all others.
    pub(super) fn push_first(&mut self, event: CycleEvent) {
        self.events.push_front(event);
    }

    /// Takes the first event.
    pub(super) fn pop(&mut self) -> Option<CycleEvent> {
        self.events.pop_front()
    }

    pub(super) fn first(&self) -> Option<&CycleEvent> {
        self.events.front()
    }

    pub(super) fn last(&self) -> Option<&CycleEvent> {
        self.events.back()
    }

    /// Takes the first event, if `is` returns true for it.
    pub(super) fn pop_if(&mut self, is: impl FnOnce(&CycleEvent) -> bool) -> Option<CycleEvent> {
        let is_wanted = self.events.front().is_some_and(is);
        is_wanted.then(|| self.events.pop_front()).flatten()
    }

    /// Moves the last event before all others.
    pub(super) fn last_first(&mut self) {
        self.events.rotate_right(1);
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut CycleEvent> {
        self.events.iter_mut()
    }

    /// Drops the events for which `keep` returns false.
    pub(super) fn retain(&mut self, keep: impl FnMut(&mut CycleEvent) -> bool) {
        self.events.retain_mut(keep);
    }

    /// Notes that a key was pressed: the session reports when it is idle again.
    pub(super) fn unsettle(&mut self) {
        self.unsettled = true;
    }
}
