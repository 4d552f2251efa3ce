//! What a session writes into the log of decisions: what was decided, that a call
//! starts, how it ended. No record, no run.

use chat::Problem;
use chat::cycle::{Decided, Ruling};

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
        let mut calls = Vec::new();
        for run in runs {
            let by = if run.by.is_empty() { "policy" } else { &run.by };
            calls.push((&run.call, (!self.approved.remove(&run.call)).then_some(by)));
        }
        let audit = &self.audit;
        audit
            .begun(self.path.as_deref(), &calls, "none")
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
}
