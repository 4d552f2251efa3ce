//! Tools that can explain why their call was rejected. They are asked before the key is
//! handled, because that writes the rejection.

use std::collections::BTreeSet;

use chat::approval::CallKey;
use chat::cycle::{CycleEvent, key};
use chat::document::{Document, PairedCall, Status};

use super::covers;
use crate::session::{Gate, Input, Session, WorkInput};

/// Rejected calls whose tools were asked.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    asked: BTreeSet<CallKey>,
    /// Number of them that have not answered yet.
    pending: usize,
}

impl Session {
    /// Asks the tools of all calls that an event rejects, and waits until they have answered.
    pub(crate) fn ask_about_refusals(&mut self, event: &CycleEvent) -> Gate {
        let refuses = matches!(
            event,
            CycleEvent::Advance | CycleEvent::Resolve { .. } | CycleEvent::Reject { .. }
        );
        // While an answer arrives, keys cannot reject calls.
        if self.request.is_open() || !refuses {
            return Gate::Ready;
        }
        for call in self.refused_by(event) {
            self.ask_about_refusal(call);
        }
        if self.calls.refusals.pending == 0 {
            Gate::Ready
        } else {
            Gate::Waiting
        }
    }

    /// Returns the calls that an event rejects and whose tools were not asked yet.
    fn refused_by(&self, event: &CycleEvent) -> Vec<CallKey> {
        let document = self.buffer.document();
        let is_refused = |call: &PairedCall<'_>| match event {
            CycleEvent::Reject { line, .. } => !call.is_answered() && covers(call, *line),
            CycleEvent::Resolve { line } => is_rejected(call) && covers(call, *line),
            _ => is_rejected(call),
        };
        let refused = calls(&document, is_refused).into_iter();
        refused.filter(|call| self.is_to_be_asked(call)).collect()
    }

    fn is_to_be_asked(&self, call: &CallKey) -> bool {
        let tool = self.shared.registry.get(&call.name);
        tool.is_some_and(|tool| tool.hears_refusals()) && !self.calls.refusals.asked.contains(call)
    }

    fn ask_about_refusal(&mut self, call: CallKey) {
        let tool = self.shared.registry.get(&call.name);
        let (Some(tool), Some(inbox)) = (tool, self.inbox.upgrade()) else {
            return;
        };
        // Asked once, whatever the answer, so that a key cannot wait forever.
        self.calls.refusals.asked.insert(call.clone());
        self.calls.refusals.pending += 1;
        let buffer = self.buffer.id();
        tokio::spawn(async move {
            let input = serde_json::from_str(&call.input).unwrap_or_default();
            let words = tool.refused(&input, buffer).await;
            drop(inbox.send(Input::Work(WorkInput::Refused(call, words))));
        });
    }

    /// Takes a tool's explanation; `None` if it has none.
    pub(crate) fn heard_refusal(&mut self, call: CallKey, words: Option<String>) {
        let pending = &mut self.calls.refusals.pending;
        *pending = pending.saturating_sub(1);
        if let Some(words) = words {
            self.cycle.word_refusal(call, words);
        }
    }
}

fn is_rejected(call: &PairedCall<'_>) -> bool {
    call.status() == Some(Status::Rejected)
}

/// Returns the unanswered calls for which `is` returns true.
fn calls(document: &Document<'_>, is: impl Fn(&PairedCall<'_>) -> bool) -> Vec<CallKey> {
    let calls = document.unanswered_turns().flat_map(|turn| turn.calls);
    let calls = calls.filter(|call| is(call));
    calls.map(|call| key(document, call.tool_use)).collect()
}
