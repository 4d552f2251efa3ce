//! A session's entries in the audit log: each decision, and the start and end of each
//! call. A call whose start cannot be written does not run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chat::Problem;
use chat::approval::{CallKey, REMEMBERED};
use chat::cycle::{Decided, Ruling};
use chat::tool::{ToolOutcome, ToolUseId};

use super::calls::ApprovedCall;
use super::ctx::Ctx;
use crate::audit::{CallStart, in_background};

/// Decisions and ends of calls, until they are in the audit log.
#[derive(Default)]
pub(super) struct Decisions {
    /// Decisions that are not in the log yet.
    decided: Vec<Decided>,
    /// Calls whose approval is in the log and that have not started since.
    approved: BTreeSet<CallKey>,
    /// Calls that ended and are not in the log yet.
    ends: Vec<(CallKey, ToolOutcome)>,
    /// The remembered rules that approve calls.
    rules: BTreeMap<ToolUseId, String>,
    /// The rules that the user chose at these calls.
    allowed: BTreeMap<ToolUseId, String>,
}

impl Decisions {
    /// Notes decisions. They are written with the start of the calls, or once the session
    /// is idle.
    pub(super) fn decide(&mut self, decided: Vec<Decided>) {
        for mut decided in decided {
            decided.by = self.author(&decided);
            self.decided.push(decided);
        }
    }

    /// Notes the names of the rules that approve calls.
    pub(super) fn note_rules(&mut self, rules: Vec<(ToolUseId, String)>) {
        self.rules.extend(rules);
    }

    /// Notes the rule that the user chose at a call, which approves it.
    pub(super) fn note_allowed(&mut self, call: ToolUseId, rule: String) {
        self.allowed.insert(call, rule);
    }

    /// Returns what decided, with the name of a remembered rule.
    fn author(&mut self, decided: &Decided) -> String {
        let Decided {
            call, ruling, by, ..
        } = decided;
        if *ruling != Ruling::Approved {
            return by.clone();
        }
        let is_by_hand = chat::cycle::is_by_hand(by);
        match (self.rules.remove(&call.id), self.allowed.remove(&call.id)) {
            (_, Some(name)) if is_by_hand => format!("user: allow {name}"),
            (Some(name), _) if by == REMEMBERED => format!("{by}: {name}"),
            _ => by.clone(),
        }
    }

    /// Notes how a call ended.
    pub(super) fn end(&mut self, call: &CallKey, outcome: &ToolOutcome) {
        self.ends.push((call.clone(), outcome.clone()));
    }

    /// Notes how calls ended whose host was killed, and returns their ids.
    pub(super) fn end_all(&mut self, ends: Vec<(CallKey, ToolOutcome)>) -> Vec<ToolUseId> {
        let ids = ends.iter().map(|(call, _)| call.id.clone()).collect();
        self.ends.extend(ends);
        ids
    }

    /// Writes the decisions so far, unless an edit is in flight, which must not wait for the disk.
    pub(super) fn record(&mut self, ctx: &Ctx) {
        if self.decided.is_empty() || ctx.buffer.is_busy() {
            return;
        }
        let decided = std::mem::take(&mut self.decided);
        match ctx.shared.audit.decided(ctx.place.path(), &decided) {
            Ok(()) => self.approved.extend(approved(&decided).cloned()),
            // Nothing is lost, because the approval is written again when the call starts.
            Err(error) => tracing::warn!(%error, "decisions are not in the audit log"),
        }
    }

    /// Writes that calls start, each with the name of its sandbox, and, if it is not in the log yet,
    /// what approved them. The decisions and the ends of calls so far are written with them.
    ///
    /// # Errors
    ///
    /// The log cannot be written: the calls must not run.
    pub(super) fn record_starts(
        &mut self,
        ctx: &Ctx,
        runs: &[(&ApprovedCall, &'static str)],
    ) -> Result<(), Problem> {
        let decided = std::mem::take(&mut self.decided);
        self.approved.extend(approved(&decided).cloned());
        let mut starts = Vec::with_capacity(runs.len());
        for (run, sandbox) in runs {
            let by = if run.by.is_empty() { "policy" } else { &run.by };
            // An approval that is in the log is not written a second time with the start.
            let in_log = self.approved.remove(&run.call);
            starts.push(CallStart {
                call: &run.call,
                by: (!in_log).then_some(by),
                sandbox,
            });
        }
        let path = ctx.place.path();
        if let Err(error) = ctx.shared.audit.begun(path, &self.ends, &decided, &starts) {
            // The ends are kept for the next write.
            for call in approved(&decided) {
                // The approval is not in the log, so a later start must contain it.
                self.approved.remove(call);
            }
            return Err(ctx.shared.audit.refusal(&error));
        }
        self.ends.clear();
        Ok(())
    }

    /// Writes how calls ended since the last time.
    pub(super) fn record_ends(&mut self, ctx: &Ctx) {
        if self.ends.is_empty() {
            return;
        }
        let ends = std::mem::take(&mut self.ends);
        let path = ctx.place.path().map(PathBuf::from);
        let audit = ctx.shared.audit.clone();
        let underway = audit.underway(path.as_deref(), &ends);
        // In the background, because the calls have ended whether this is written or not.
        in_background(move || {
            if let Err(error) = audit.ended(path.as_deref(), &ends) {
                tracing::warn!(%error, "the end of a call is not in the audit log");
            }
            // Until here, these calls must not count as cut off.
            drop(underway);
        });
    }
}

/// Returns the calls that were approved.
fn approved(decided: &[Decided]) -> impl Iterator<Item = &CallKey> {
    let approved = decided.iter().filter(|it| it.ruling == Ruling::Approved);
    approved.map(|it| &it.call)
}
