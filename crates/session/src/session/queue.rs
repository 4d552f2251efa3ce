//! Events that wait for their step, in order, and unsent messages on disk.

mod store;

use std::collections::VecDeque;

use chat::approval::CallKey;
use chat::cycle::CycleEvent;
use chat::text::Lines;
use chat::tool::ToolOutcome;

use self::store::QueueStore;
use super::Gate;
use super::buffer::moved;
use super::ctx::Ctx;

/// Message while tool definitions are loaded.
pub(super) const WAITING: &str = "Waiting for tool definitions to load...";

/// Events that wait for their step.
#[derive(Debug, Default)]
pub(super) struct Queue {
    events: VecDeque<CycleEvent>,
    /// The file with messages that the chat does not contain yet.
    store: QueueStore,
    /// True if the message that a key waits for tools was shown.
    is_wait_shown: bool,
    /// True if a key was pressed since the session last reported that it is idle.
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

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Adds that the text changed. One event covers all changes until it is handled.
    pub(super) fn push_change(&mut self) {
        if self.events.back() != Some(&CycleEvent::Changed) {
            self.push(CycleEvent::Changed);
        }
    }

    /// Takes the first event, if that is the loading of the text.
    pub(super) fn pop_loaded(&mut self) -> Option<CycleEvent> {
        let is_loaded = matches!(self.first(), Some(CycleEvent::Loaded { .. }));
        is_loaded.then(|| self.pop()).flatten()
    }

    /// Adds the results at the head of the queue to `ended`, so that all are written as one change.
    pub(super) fn take_results(&mut self, ended: &mut Vec<(CallKey, ToolOutcome)>) {
        while let Some(CycleEvent::ToolsFinished(_)) = self.first() {
            if let Some(CycleEvent::ToolsFinished(more)) = self.pop() {
                ended.extend(more);
            }
        }
    }

    /// Moves the last event before all others.
    pub(super) fn last_first(&mut self) {
        self.events.rotate_right(1);
    }

    /// Drops the events for which `keep` returns false.
    pub(super) fn retain(&mut self, keep: impl FnMut(&mut CycleEvent) -> bool) {
        self.events.retain_mut(keep);
    }

    /// Follows a change of the text: `count` lines replaced `lines`. A key that waits was pressed on a
    /// line of the old text, and means the same line.
    pub(super) fn follow_change(&mut self, lines: &Lines, count: usize) {
        for event in &mut self.events {
            if let CycleEvent::Resolve { line } | CycleEvent::CancelTool { line } = event {
                *line = moved(*line, lines, count);
            }
        }
    }

    /// Notes that a key was pressed: the session reports when it is idle again.
    pub(super) fn unsettle(&mut self) {
        self.unsettled = true;
    }

    /// Returns true if a key was pressed since the session last reported that it is idle.
    pub(super) fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    /// Notes that the session reports that it is idle.
    pub(super) fn settle(&mut self) {
        self.unsettled = false;
    }

    /// Makes a key wait until all tools have loaded. Otherwise the model would not know them, and calls
    /// of them would end in an error.
    pub(super) fn await_tools(&mut self, ctx: &Ctx, event: &CycleEvent) -> Gate {
        if !ctx.shared.loading || !is_of_user(event) {
            self.is_wait_shown = false;
            return Gate::Ready;
        }
        let is_new = !std::mem::replace(&mut self.is_wait_shown, true);
        // With a screen, the status line shows this as long as the key waits.
        if is_new && ctx.editor.is_headless() {
            ctx.inform(WAITING);
        }
        Gate::Waiting
    }

    /// Returns true while a key waits for tools: a second one would send twice.
    pub(super) fn is_waiting_for_tools(&self) -> bool {
        self.is_wait_shown && self.events.iter().any(is_of_user)
    }

    /// Takes back the key that waits for tools. Returns true if there was one.
    pub(super) fn take_back(&mut self) -> bool {
        if !self.is_waiting_for_tools() {
            return false;
        }
        let mut words = Vec::new();
        self.retain(|event| match event {
            CycleEvent::Steer(text) | CycleEvent::FollowUp(text) | CycleEvent::Ask { text, .. } => {
                // Text is never dropped; it goes back into the prompt.
                words.push(std::mem::take(text));
                false
            }
            event => !is_of_user(event),
        });
        if !words.is_empty() {
            self.push(CycleEvent::TakeBack(words));
        }
        self.is_wait_shown = false;
        true
    }
}

/// Returns true if a key or a command of the user asks for work.
pub(super) fn is_of_user(event: &CycleEvent) -> bool {
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
