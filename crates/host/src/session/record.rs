//! What a session writes into the log of decisions: what was decided, that a call
//! starts, how it ended. No record, no run.

use chat::Problem;
use chat::approval::CallKey;
use chat::cycle::{Decided, Event, INTERRUPTED, Ruling};
use chat::tool::{ToolOutcome, ToolUseId};

use super::Session;
use super::running::Run;

impl Session {
    /// Writes the decisions of a step, all at once and before anything follows from
    /// them.
    pub(super) fn record_decisions(&mut self, decided: &[Decided]) {
        // What is not in the log is written again when the call is to start.
        if let Err(error) = self.audit.decided(self.path.as_deref(), decided) {
            tracing::warn!(%error, "decisions are not in the log of decisions");
            return;
        }
        let approved = decided.iter().filter(|it| it.ruling == Ruling::Approved);
        self.approved.extend(approved.map(|it| it.call.clone()));
    }

    /// Writes that calls start and, where it is not in the log yet, who let them.
    ///
    /// # Errors
    ///
    /// The log cannot be written: the calls must not run.
    pub(super) fn record_starts(&mut self, runs: &[Run]) -> Result<(), Problem> {
        let (mut held, mut free) = (Vec::new(), Vec::new());
        for run in runs {
            let by = if run.by.is_empty() { "policy" } else { &run.by };
            let by = (!self.approved.remove(&run.call)).then_some(by);
            if self.is_held(&run.call.name) {
                held.push((&run.call, by));
            } else {
                free.push((&run.call, by));
            }
        }
        let (audit, path) = (&self.audit, self.path.as_deref());
        let begun = |calls: &[(&CallKey, Option<&str>)], sandbox: &str| match calls {
            [] => Ok(()),
            calls => audit.begun(path, calls, sandbox),
        };
        begun(&free, "none")
            .and_then(|()| begun(&held, self.sandbox().held_by()))
            .map_err(|error| audit.refusal(&error))
    }

    /// Writes how calls ended that ended since the last look.
    pub(super) fn record_ends(&mut self) {
        if self.ends.is_empty() {
            return;
        }
        let ends = std::mem::take(&mut self.ends);
        let (audit, path) = (self.audit.clone(), self.path.clone());
        // Nothing waits for it: the calls have ended whether it is written or not.
        tokio::task::spawn_blocking(move || {
            if let Err(error) = audit.ended(path.as_deref(), &ends) {
                tracing::warn!(%error, "the end of a call is not in the log of decisions");
            }
        });
    }

    /// Calls without a result that started, by the log, and never ended: the mark
    /// that says so in the editor may not have been drawn when the host was killed.
    /// Those of a chat that others work on may still run.
    fn calls_without_end(&self) -> Vec<CallKey> {
        let document = self.text.document();
        let turns = document.turns();
        let waiting = turns.flat_map(|turn| {
            let waits = turn.calls.iter().filter(|call| call.status().is_some());
            let keys = waits.map(|call| chat::cycle::key(&document, call.tool_use));
            keys.collect::<Vec<_>>()
        });
        let waiting: Vec<CallKey> = waiting.collect();
        if waiting.is_empty() || self.hold.is_elsewhere() {
            return Vec::new();
        }
        let found = self.audit.without_end(self.path.as_deref(), &waiting);
        found.unwrap_or_else(|error| {
            tracing::warn!(%error, "nobody can tell whether calls of this chat ran before");
            Vec::new()
        })
    }

    /// Looks for calls that ran for this file when its host ended.
    pub(super) fn find_cut_off(&mut self) {
        self.hold.cut_off = self.calls_without_end();
    }

    /// Lets the cycle answer them.
    pub(super) fn tell_cut_off(&mut self) {
        let calls = std::mem::take(&mut self.hold.cut_off);
        if !calls.is_empty() {
            let ids = self.end_interrupted(&calls);
            self.waiting.push_back(Event::Interrupted(ids));
        }
    }

    /// Calls that ran when the host before this one ended.
    pub(super) fn interrupted_calls(&mut self) -> Vec<ToolUseId> {
        let calls = self.calls_without_end();
        self.end_interrupted(&calls)
    }

    fn end_interrupted(&mut self, calls: &[CallKey]) -> Vec<ToolUseId> {
        let end = ToolOutcome::Failed(INTERRUPTED.to_owned());
        self.ends
            .extend(calls.iter().map(|call| (call.clone(), end.clone())));
        calls.iter().map(|call| call.id.clone()).collect()
    }
}
