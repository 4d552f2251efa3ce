//! What a session writes into the audit log: each decision, and the start and end of each
//! call. A call whose start cannot be written does not run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chat::Problem;
use chat::approval::{self, CallKey, REMEMBERED};
use chat::cycle::{CycleEvent, Decided, INTERRUPTED, Ruling};
use chat::tool::{ToolOutcome, ToolUseId};

use super::Session;
use super::calls::ApprovedCall;
use crate::audit::{Audit, CallStart, in_background};

/// Decisions and ends of calls, until they are in the audit log.
pub(super) struct Decisions {
    audit: Audit,
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
    pub(super) fn new(audit: Audit) -> Self {
        Self {
            audit,
            decided: Vec::new(),
            approved: BTreeSet::new(),
            ends: Vec::new(),
            rules: BTreeMap::new(),
            allowed: BTreeMap::new(),
        }
    }

    pub(super) fn audit(&self) -> &Audit {
        &self.audit
    }

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

    /// Writes the decisions so far.
    fn write_decided(&mut self, path: Option<&Path>) {
        if self.decided.is_empty() {
            return;
        }
        let decided = std::mem::take(&mut self.decided);
        match self.audit.decided(path, &decided) {
            Ok(()) => self.approved.extend(approved(&decided).cloned()),
            // Nothing is lost, because the approval is written again when the call starts.
            Err(error) => tracing::warn!(%error, "decisions are not in the audit log"),
        }
    }

    /// Takes the decisions that are not in the log yet, to be written with `starts`.
    fn take_decided(&mut self) -> Vec<Decided> {
        let decided = std::mem::take(&mut self.decided);
        self.approved.extend(approved(&decided).cloned());
        decided
    }

    /// Writes decisions, the ends of calls so far, and the starts of calls, at once.
    fn write_starts(
        &mut self,
        path: Option<&Path>,
        decided: &[Decided],
        starts: &[CallStart<'_>],
    ) -> Result<(), Problem> {
        if let Err(error) = self.audit.begun(path, &self.ends, decided, starts) {
            // The ends are kept for the next write.
            for call in approved(decided) {
                // The approval is not in the log, so a later start must contain it.
                self.approved.remove(call);
            }
            return Err(self.audit.refusal(&error));
        }
        self.ends.clear();
        Ok(())
    }
}

impl Session {
    /// Writes decisions, unless an edit is in flight, which must not wait for the disk.
    pub(super) fn record_decisions(&mut self) {
        if !self.buffer.is_busy() {
            self.decisions.write_decided(self.disk.path());
        }
    }

    /// Writes that calls start and, if it is not in the log yet, what approved them.
    ///
    /// # Errors
    ///
    /// The log cannot be written: the calls must not run.
    pub(super) fn record_starts(&mut self, runs: &[ApprovedCall]) -> Result<(), Problem> {
        let decided = self.decisions.take_decided();
        let mut starts = Vec::with_capacity(runs.len());
        for run in runs {
            let by = if run.by.is_empty() { "policy" } else { &run.by };
            // An approval that is in the log is not written a second time with the start.
            let in_log = self.decisions.approved.remove(&run.call);
            starts.push(CallStart {
                call: &run.call,
                by: (!in_log).then_some(by),
                sandbox: self.sandbox_name(run),
            });
        }
        self.decisions
            .write_starts(self.disk.path(), &decided, &starts)
    }

    /// Returns the name of a call's sandbox in the audit log.
    fn sandbox_name(&self, run: &ApprovedCall) -> &'static str {
        if self.takes_trial(&run.call) {
            return "trial";
        }
        let (meant, _) = approval::meant(&run.call, &run.input);
        if self.is_held(&meant.name) {
            let settings = &self.policy.rules().settings;
            settings.held_by(self.sandbox(), &meant, &run.by)
        } else {
            "none"
        }
    }

    /// Writes how calls ended since the last time.
    pub(super) fn record_ends(&mut self) {
        if self.decisions.ends.is_empty() {
            return;
        }
        let ends = std::mem::take(&mut self.decisions.ends);
        let path = self.disk.path().map(PathBuf::from);
        let audit = self.decisions.audit.clone();
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

    /// Returns calls without a result that started according to the log and did not end.
    /// The mark that says so may be missing because the host was killed before it drew it.
    fn calls_without_end(&self) -> Vec<CallKey> {
        let document = self.buffer.document();
        let calls = document.turns().flat_map(|turn| turn.calls);
        let waiting = calls.filter(|call| call.status().is_some());
        let waiting = waiting.map(|call| chat::cycle::key(&document, call.tool_use));
        let waiting: Vec<CallKey> = waiting.collect();
        // Another program may still be running them.
        if waiting.is_empty() || self.disk.is_elsewhere() {
            return Vec::new();
        }
        let audit = &self.decisions.audit;
        let found = audit.without_end(self.disk.path(), &waiting);
        found.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot find out whether calls of this chat ran before");
            Vec::new()
        })
    }

    /// Looks for calls that ran for this file when their host ended.
    pub(super) fn find_cut_off(&mut self) {
        let calls = self.calls_without_end();
        self.disk.set_cut_off(calls);
    }

    /// Has the cycle write results for the calls that were cut off.
    pub(super) fn end_cut_off(&mut self) {
        let calls = self.disk.take_cut_off();
        if !calls.is_empty() {
            let ids = self.end_interrupted(&calls);
            self.queue.push(CycleEvent::Interrupted(ids));
        }
    }

    /// Ends the calls that ran when the host before this one ended, and returns their ids.
    pub(super) fn interrupted_calls(&mut self) -> Vec<ToolUseId> {
        let calls = self.calls_without_end();
        self.end_interrupted(&calls)
    }

    fn end_interrupted(&mut self, calls: &[CallKey]) -> Vec<ToolUseId> {
        let end = ToolOutcome::Failed(INTERRUPTED.to_owned());
        for call in calls {
            self.sweep_after(call);
            self.decisions.end(call, &end);
        }
        calls.iter().map(|call| call.id.clone()).collect()
    }

    /// Removes temporary files that a call left beside its target when its host was killed.
    fn sweep_after(&self, call: &CallKey) {
        let input = serde_json::from_str::<serde_json::Value>(&call.input).ok();
        // Tools that write files name their target `path`.
        let path = input.and_then(|it| it.get("path")?.as_str().map(PathBuf::from));
        let target = path.map(|it| self.disk.folder().join(it));
        if let Some(folder) = target.as_deref().and_then(Path::parent) {
            // A call that was killed while writing may have left one.
            tools::sweep_unfinished(folder);
        }
    }
}

/// Returns the calls that were approved.
fn approved(decided: &[Decided]) -> impl Iterator<Item = &CallKey> {
    let approved = decided.iter().filter(|it| it.ruling == Ruling::Approved);
    approved.map(|it| &it.call)
}
