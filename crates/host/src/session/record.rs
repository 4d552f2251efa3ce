//! What a session writes into the log of decisions: what was decided, that a call
//! starts, how it ended. No record, no run.

use chat::Problem;
use chat::approval::CallKey;
use chat::cycle::{Decided, Ruling};
use chat::tool::ToolOutcome;

use super::Session;

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

    /// Writes that a call starts and, where it is not in the log yet, who let it.
    ///
    /// # Errors
    ///
    /// The log cannot be written: the call must not run.
    pub(super) fn record_start(&mut self, call: &CallKey, by: &str) -> Result<(), Problem> {
        let by = (!self.approved.remove(call)).then_some(if by.is_empty() { "policy" } else { by });
        let audit = &self.audit;
        audit
            .begun(self.path.as_deref(), call, by, "none")
            .map_err(|error| audit.refusal(&error))
    }

    /// Writes how a call ended.
    pub(super) fn record_end(&self, call: &CallKey, outcome: &ToolOutcome) {
        let audit = self.audit.clone();
        let (path, call, outcome) = (self.path.clone(), call.clone(), outcome.clone());
        // Nothing waits for it: the call has ended whether it is written or not.
        tokio::task::spawn_blocking(move || {
            if let Err(error) = audit.ended(path.as_deref(), &call, &outcome) {
                tracing::warn!(%error, "the end of a call is not in the log of decisions");
            }
        });
    }
}
