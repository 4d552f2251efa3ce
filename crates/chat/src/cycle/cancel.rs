//! Cancels requests and calls: at the user's request, or because the host ended. Each
//! cancelled call still gets a result.

use super::{Cycle, Decided, Effect, Goal, Options, RunEnd, classify, find_at};
use crate::approval::CallKey;
use crate::document::{Document, Status};
use crate::tool::{ToolOutcome, ToolUseId};

/// Result of a call that was running when its host ended.
pub const INTERRUPTED: &str = "The host stopped, or the chat was closed, while this call was running. It may have \
     had effects; its result is unknown.";

impl Cycle {
    pub(super) fn interrupted(&mut self, document: &Document<'_>, ids: &[ToolUseId]) {
        for turn in document.turns() {
            for call in turn
                .calls
                .iter()
                // Only a call with a placeholder still needs a result.
                .filter(|call| call.status().is_some() && ids.contains(&call.tool_use.id))
            {
                self.finished.push((
                    classify::key(document, call.tool_use),
                    RunEnd::Result(ToolOutcome::Failed(INTERRUPTED.to_owned())),
                ));
            }
        }
    }

    /// Handles recovered results. Keeps those whose placeholders are in the document.
    pub(super) fn recover(
        &mut self,
        ended: Vec<(CallKey, ToolOutcome)>,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        let ended = ended.into_iter();
        self.finished
            .extend(ended.map(|(call, outcome)| (call, RunEnd::Result(outcome))));
        let turns: Vec<_> = document.unanswered_turns().collect();
        self.finished.retain(|(ended, _)| {
            let calls = turns.iter().flat_map(|turn| &turn.calls);
            calls
                .filter(|call| call.status().is_some())
                .any(|call| classify::is(document, call.tool_use, ended))
        });
        self.settle(document, options)
    }

    pub(super) fn cancel(&mut self, document: &Document<'_>, options: &Options) -> Vec<Effect> {
        // Stays set until the user sends again, so that a tool that ends late sends
        // nothing.
        self.disarmed = true;
        if let Some(batch) = &mut self.batch {
            batch.may_send = false;
        }
        // Queued messages must not start new work after a cancel.
        let queued = self.messages.put_back(Vec::new());
        // While a request is open, Ctrl-C stops only the request.
        if self.request {
            return vec![Effect::CancelRequest];
        }
        let waiting = self.cancellable(document);
        let idle = self.running.is_empty() && self.queue.is_empty() && waiting.is_empty();
        // Nothing to stop, but queued messages must not be lost: write them into the
        // prompt.
        if queued && idle {
            let mut effects = self.settle(document, options);
            if effects.is_empty() {
                effects.push(Effect::inform(
                    "Nothing is running here. Your message goes into the prompt once the block above it is fixed.",
                ));
            }
            return effects;
        }
        if idle {
            return vec![Effect::inform("Nothing is running here.")];
        }
        self.cancel_calls(waiting, document, options)
    }

    /// Stops running calls and ends the waiting and queued ones.
    fn cancel_calls(
        &mut self,
        waiting: Vec<CallKey>,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        if let Some(batch) = &mut self.batch {
            // Undecided calls stay undecided until the next key.
            batch.goal = Goal::Settled;
        }
        let mut never: Vec<CallKey> = std::mem::take(&mut self.queue).into();
        never.extend(waiting);
        for call in self.running.iter().chain(&never) {
            self.ledger.note(Decided::cancelled(call));
        }
        let outcome = || ToolOutcome::Cancelled("Cancelled by the user before it ran.".to_owned());
        let never = never.into_iter();
        self.finished
            .extend(never.map(|call| (call, RunEnd::Result(outcome()))));
        let mut effects = Vec::new();
        // These calls end later, each with a `ToolsFinished` event.
        if !self.running.is_empty() {
            effects.push(Effect::CancelTools(self.running.clone()));
        }
        effects.extend(self.settle(document, options));
        effects
    }

    /// Calls whose placeholders are undecided. A placeholder that contains the user's text
    /// already has a result.
    fn cancellable(&self, document: &Document<'_>) -> Vec<CallKey> {
        let mut waiting: Vec<CallKey> = Vec::new();
        for turn in document.unanswered_turns() {
            for call in &turn.calls {
                let undecided = matches!(call.status(), Some(Status::Pending | Status::Approved));
                let body = call.result.map(|it| it.body.clone()).unwrap_or_default();
                if !undecided || !document.is_blank(body) {
                    continue;
                }
                let key = classify::key(document, call.tool_use);
                let in_progress = self.running.contains(&key) || self.queue.contains(&key);
                let ended = self.finished.iter().any(|(call, _)| *call == key);
                if !in_progress && !ended && !waiting.contains(&key) {
                    waiting.push(key);
                }
            }
        }
        waiting
    }

    pub(super) fn cancel_tool(&mut self, line: usize, document: &Document<'_>) -> Vec<Effect> {
        let here = find_at(document, line).map(|(_, call)| classify::key(document, call.tool_use));
        let call = here
            .filter(|key| self.running.contains(key))
            .or_else(|| self.running.first().cloned());
        match call {
            Some(call) => {
                self.ledger.note(Decided::cancelled(&call));
                vec![Effect::CancelTools(vec![call])]
            }
            None => vec![Effect::inform("No tool is running here.")],
        }
    }
}
