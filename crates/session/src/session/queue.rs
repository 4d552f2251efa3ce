//! What happened and is not decided on yet, in order.

use std::collections::VecDeque;

use chat::cycle::Event;

/// Events that wait for their step.
#[derive(Debug, Default)]
pub(super) struct Queue {
    events: VecDeque<Event>,
    /// Whether the user knows that a key waits for tools.
    told_waiting: bool,
    /// Whether a key was pressed since it was last reported that everything rests.
    unsettled: bool,
}

impl Queue {
    /// Adds an event behind all others.
    pub(super) fn push(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Adds an event before all others.
    pub(super) fn push_first(&mut self, event: Event) {
        self.events.push_front(event);
    }

    /// Takes the first event.
    pub(super) fn pop(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(super) fn first(&self) -> Option<&Event> {
        self.events.front()
    }

    pub(super) fn first_mut(&mut self) -> Option<&mut Event> {
        self.events.front_mut()
    }

    pub(super) fn last(&self) -> Option<&Event> {
        self.events.back()
    }

    /// Moves the last event before all others.
    pub(super) fn last_first(&mut self) {
        self.events.rotate_right(1);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Event> {
        self.events.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Event> {
        self.events.iter_mut()
    }

    /// Drops the events for which `keep` returns false.
    pub(super) fn retain(&mut self, keep: impl FnMut(&mut Event) -> bool) {
        self.events.retain_mut(keep);
    }

    /// Returns true the first time that a key waits for tools.
    pub(super) fn tells_waiting(&mut self) -> bool {
        !std::mem::replace(&mut self.told_waiting, true)
    }

    pub(super) fn has_told_waiting(&self) -> bool {
        self.told_waiting
    }

    pub(super) fn forget_waiting(&mut self) {
        self.told_waiting = false;
    }

    /// A key was pressed: it will be reported when everything rests again.
    pub(super) fn unsettle(&mut self) {
        self.unsettled = true;
    }

    pub(super) fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    /// It was reported that everything rests.
    pub(super) fn settle(&mut self) {
        self.unsettled = false;
    }
}
