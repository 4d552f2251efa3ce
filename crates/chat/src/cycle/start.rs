//! Starts approved calls, as many as there are free slots, in document order.

use super::classify::{self, CallState};
use super::{Cycle, Decided, Effect, Options, Ruling};
use crate::approval::CallKey;
use crate::document::{Document, Status, Turn};

impl Cycle {
    /// Starts queued calls while there are free slots.
    pub(super) fn start(&mut self, document: &Document<'_>, options: &Options) -> Vec<Effect> {
        let limit = match options.max_concurrent {
            // Zero means no limit.
            0 => usize::MAX,
            limit => limit,
        };
        if self.queue.is_empty() || self.running.len() >= limit {
            return Vec::new();
        }
        let turns: Vec<Turn<'_>> = document.unanswered_turns().collect();
        let mut effects = Vec::new();
        while self.running.len() < limit
            && let Some(call) = self.queue.pop_front()
        {
            // The text may have changed since the decision, so check it again.
            let Some(input) = self.still_approved(document, &turns, &call, options) else {
                // It leaves the queue without running and needs another decision.
                continue;
            };
            let by = self.provenance.approved_by(&call);
            self.note_approval(&call, &by);
            // Each approval is for one run.
            self.provenance.spend(&call);
            self.running.push(call.clone());
            effects.push(Effect::Run { call, input, by });
        }
        effects
    }

    pub(super) fn note_approval(&mut self, call: &CallKey, by: &str) {
        self.ledger.note(Decided {
            call: call.clone(),
            ruling: Ruling::Approved,
            by: by.to_owned(),
            reason: None,
        });
    }

    fn still_approved(
        &self,
        document: &Document<'_>,
        turns: &[Turn<'_>],
        key: &CallKey,
        options: &Options,
    ) -> Option<serde_json::Value> {
        turns.iter().find_map(|turn| {
            let call = turn.calls.iter().find(|call| {
                call.status() == Some(Status::Approved)
                    && classify::is(document, call.tool_use, key)
            })?;
            match classify::classify(document, turn, call, options) {
                CallState::Waits(Status::Approved, input) if self.provenance.is_approved(key) => {
                    Some(input)
                }
                _ => None,
            }
        })
    }
}
