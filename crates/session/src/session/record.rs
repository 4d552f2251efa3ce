//! What a session writes into the log of decisions: what was decided, that a call
//! starts, how it ended. No record, no run.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chat::Problem;
use chat::approval::{self, CallKey};
use chat::cycle::{Decided, Event, INTERRUPTED, Ruling};
use chat::tool::{ToolOutcome, ToolUseId};

use super::Session;
use super::running::Run;
use crate::audit::{Audit, Start};

/// What was decided about calls and how they ended, on its way into the audit log.
pub(super) struct Decisions {
    audit: Audit,
    /// Decisions that are not in the log yet.
    decided: Vec<Decided>,
    /// Calls whose approval is in the log and that did not start since.
    approved: BTreeSet<CallKey>,
    /// Calls that ended and are not in the log yet.
    ends: Vec<(CallKey, ToolOutcome)>,
}

impl Decisions {
    pub(super) fn new(audit: Audit) -> Self {
        Self {
            audit,
            decided: Vec::new(),
            approved: BTreeSet::new(),
            ends: Vec::new(),
        }
    }

    pub(super) fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Notes decisions, to be written with the start of the calls or when nothing waits.
    pub(super) fn decide(&mut self, decided: Vec<Decided>) {
        self.decided.extend(decided);
    }

    /// Notes how a call ended.
    pub(super) fn end(&mut self, call: &CallKey, outcome: &ToolOutcome) {
        self.ends.push((call.clone(), outcome.clone()));
    }
}

impl Session {
    /// Writes what was decided, all at once, when no edit is on its way and so nothing waits
    /// for it.
    pub(super) fn record_decisions(&mut self) {
        if self.buffer.in_flight.is_some() || self.decisions.decided.is_empty() {
            return;
        }
        let decided = std::mem::take(&mut self.decisions.decided);
        // What is not in the log is written again when the call is to start.
        if let Err(error) = self
            .decisions
            .audit
            .decided(self.disk.path.as_deref(), &decided)
        {
            tracing::warn!(%error, "decisions are not in the log of decisions");
            return;
        }
        self.decisions.approved.extend(approved(&decided).cloned());
    }

    /// Writes that calls start and, where it is not in the log yet, who let them; and
    /// with it what else was decided and how calls ended, as that is one write.
    ///
    /// # Errors
    ///
    /// The log cannot be written: the calls must not run.
    pub(super) fn record_starts(&mut self, runs: &[Run]) -> Result<(), Problem> {
        let decided = std::mem::take(&mut self.decisions.decided);
        self.decisions.approved.extend(approved(&decided).cloned());
        let in_log: Vec<bool> = runs
            .iter()
            .map(|run| self.decisions.approved.remove(&run.call))
            .collect();
        let settings = &self.shared.settings;
        let starts = runs.iter().zip(in_log).map(|(run, in_log)| {
            let by = if run.by.is_empty() { "policy" } else { &run.by };
            let (meant, _) = approval::meant(&run.call, &run.input);
            Start {
                call: &run.call,
                by: (!in_log).then_some(by),
                sandbox: match self.is_held(&meant.name) {
                    true => settings.held_by(self.sandbox(), &meant, &run.by),
                    false => "none",
                },
            }
        });
        let starts: Vec<Start<'_>> = starts.collect();
        let begun = self.decisions.audit.begun(
            self.disk.path.as_deref(),
            &self.decisions.ends,
            &decided,
            &starts,
        );
        if let Err(error) = begun {
            for call in approved(&decided) {
                self.decisions.approved.remove(call);
            }
            return Err(self.decisions.audit.refusal(&error));
        }
        self.decisions.ends.clear();
        Ok(())
    }

    /// Writes how calls ended that ended since the last look.
    pub(super) fn record_ends(&mut self) {
        if self.decisions.ends.is_empty() {
            return;
        }
        let ends = std::mem::take(&mut self.decisions.ends);
        let (audit, path) = (self.decisions.audit.clone(), self.disk.path.clone());
        let underway = audit.underway(path.as_deref(), &ends);
        // Nothing waits for it: the calls have ended whether it is written or not.
        tokio::task::spawn_blocking(move || {
            if let Err(error) = audit.ended(path.as_deref(), &ends) {
                tracing::warn!(%error, "the end of a call is not in the log of decisions");
            }
            drop(underway);
        });
    }

    /// Calls without a result that started, by the log, and never ended: the mark
    /// that says so in the editor may not have been drawn when the host was killed.
    /// Those of a chat that others work on may still run.
    fn calls_without_end(&self) -> Vec<CallKey> {
        let document = self.buffer.mirror.document();
        let turns = document.turns();
        let waiting = turns.flat_map(|turn| {
            let waits = turn.calls.iter().filter(|call| call.status().is_some());
            let keys = waits.map(|call| chat::cycle::key(&document, call.tool_use));
            keys.collect::<Vec<_>>()
        });
        let waiting: Vec<CallKey> = waiting.collect();
        if waiting.is_empty() || self.disk.lock.is_elsewhere() {
            return Vec::new();
        }
        let found = self
            .decisions
            .audit
            .without_end(self.disk.path.as_deref(), &waiting);
        found.unwrap_or_else(|error| {
            tracing::warn!(%error, "nobody can tell whether calls of this chat ran before");
            Vec::new()
        })
    }

    /// Looks for calls that ran for this file when its host ended.
    pub(super) fn find_cut_off(&mut self) {
        self.disk.lock.cut_off = self.calls_without_end();
    }

    /// Lets the cycle answer them.
    pub(super) fn tell_cut_off(&mut self) {
        let calls = std::mem::take(&mut self.disk.lock.cut_off);
        if !calls.is_empty() {
            let ids = self.end_interrupted(&calls);
            self.queue.push(Event::Interrupted(ids));
        }
    }

    /// Calls that ran when the host before this one ended.
    pub(super) fn interrupted_calls(&mut self) -> Vec<ToolUseId> {
        let calls = self.calls_without_end();
        self.end_interrupted(&calls)
    }

    fn end_interrupted(&mut self, calls: &[CallKey]) -> Vec<ToolUseId> {
        calls.iter().for_each(|call| self.sweep_after(call));
        let end = ToolOutcome::Failed(INTERRUPTED.to_owned());
        self.decisions
            .ends
            .extend(calls.iter().map(|call| (call.clone(), end.clone())));
        calls.iter().map(|call| call.id.clone()).collect()
    }

    /// Removes what a call that was to write a file may have left beside it when its host
    /// was killed.
    fn sweep_after(&self, call: &CallKey) {
        let input = serde_json::from_str::<serde_json::Value>(&call.input);
        let path = input
            .ok()
            .and_then(|it| it.get("path")?.as_str().map(PathBuf::from));
        if let Some(folder) = path.and_then(|it| self.folder().join(it).parent().map(PathBuf::from))
        {
            tools::sweep_unfinished(&folder);
        }
    }
}

/// The calls that were approved.
fn approved(decided: &[Decided]) -> impl Iterator<Item = &CallKey> {
    let approved = decided.iter().filter(|it| it.ruling == Ruling::Approved);
    approved.map(|it| &it.call)
}
