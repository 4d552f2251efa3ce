//! Takes a batch one step further: write decisions, start calls, then wait, ask, or send.
//!
//! Everything is recomputed from the document each time, so a stale edit is simply planned
//! again.

use std::collections::BTreeSet;

use super::classify;
use super::plan::Plan;
use super::{Cycle, Effect, Goal, Options, RunEnd};
use crate::approval::CallKey;
use crate::document::{Document, PairedCall, Status, ToolResultBlock, Turn};
use crate::write::{self, BlockLines};

impl Cycle {
    /// Sets the result that the model gets if the user rejects this call without a reason.
    pub fn word_refusal(&mut self, call: CallKey, words: String) {
        self.refusals.insert(call, words);
    }

    /// Takes the batch one step further.
    pub(super) fn settle(&mut self, document: &Document<'_>, options: &Options) -> Vec<Effect> {
        let mut effects = self.drop_written(document);
        effects.extend(self.end_if_blocked(document, options));
        if let Some(closing) = self.close_fences(document) {
            // The rest is planned once the fences are closed.
            effects.push(closing);
            return effects;
        }
        let mut plan = self.plan(document, options);
        // Ask before writing anything: the answers may change the plan.
        if !plan.questions.is_empty() {
            effects.push(Effect::Ask(plan.questions));
            return effects;
        }
        effects.extend(self.note_plan(&mut plan));
        if !plan.edits.is_empty() {
            // Calls that are approved already start before the edit, which the editor has
            // to answer.
            effects.extend(self.start(document, options));
            effects.push(Effect::Edit(plan.edits));
            effects.extend(plan.notices);
            return effects;
        }
        effects.extend(plan.notices);
        // Queued messages must be below all results, so they come after the edits.
        let said = self.say(document);
        if !said.is_empty() {
            effects.extend(said);
            return effects;
        }
        self.enqueue(plan.ready);
        effects.extend(self.run_queue(document, options));
        effects
    }

    /// Starts queued calls and shows the pending ones. If no call is left to run, continues
    /// with what follows the batch.
    fn run_queue(&mut self, document: &Document<'_>, options: &Options) -> Vec<Effect> {
        let mut effects = self.start(document, options);
        effects.extend(self.show(document, options));
        if self.running.is_empty() && self.queue.is_empty() {
            effects.extend(self.when_idle(document, options));
        }
        effects
    }

    /// Ends the batch if the document or the options forbid it, and returns a notice.
    fn end_if_blocked(&mut self, document: &Document<'_>, options: &Options) -> Option<Effect> {
        self.batch.as_ref()?;
        let no = Self::blocked(document, options)?;
        self.batch = None;
        // Approved calls must not start either; the next key decides again.
        self.queue.clear();
        Some(no)
    }

    /// Closes open fences before anything is written below them, then reads the user's text
    /// again: part of it was inside a fence.
    fn close_fences(&mut self, document: &Document<'_>) -> Option<Effect> {
        let closing = write::close_fences(document);
        if (self.batch.is_some() || !self.finished.is_empty()) && !closing.is_empty() {
            if let Some(batch) = &mut self.batch {
                batch.repaired = true;
            }
            return Some(Effect::Edit(closing));
        }
        if let Some(batch) = self.batch.as_mut().filter(|batch| batch.repaired) {
            batch.repaired = false;
            batch.words = super::text_below_calls(document);
        }
        None
    }

    /// Records the decisions of a plan and returns notices for the user.
    fn note_plan(&mut self, plan: &mut Plan) -> Vec<Effect> {
        for ruling in plan.rulings.drain(..) {
            self.ledger.note(ruling);
        }
        for (call, by) in &plan.decided {
            self.note_approval(call, by);
            self.provenance.decide(call, by);
        }
        if let Some(batch) = &mut self.batch {
            batch.worked |= !plan.edits.is_empty();
            batch.may_send &= !plan.by_hand;
        }
        let replaced = plan.replaced.iter().map(|id| {
            let said =
                "so the policy decided the call again. To refuse the call, use :Flemma reject.";
            (id, said)
        });
        let ran = plan.ran.iter().map(|id| {
            let said = "but its call was running already, so its result was written. Ctrl-C cancels a call that runs.";
            (id, said)
        });
        let said = replaced.chain(ran).map(|(id, said)| {
            // Notify once: a stale edit is planned again.
            self.provenance.forget_placeholder(id);
            Effect::inform(format!("The placeholder of \"{id}\" was removed, {said}"))
        });
        said.collect()
    }

    /// Drops outcomes that are written or whose call is gone. A result is never written
    /// anywhere else.
    fn drop_written(&mut self, document: &Document<'_>) -> Vec<Effect> {
        if self.finished.is_empty() {
            return Vec::new();
        }
        let mut waiting = BTreeSet::new();
        for turn in document.unanswered_turns() {
            let calls = turn.calls.iter().filter(|call| !call.is_answered());
            // Compares IDs first, because a key needs the parsed arguments.
            let ended = calls.filter(|call| self.has_ended(call));
            waiting.extend(ended.map(|call| classify::key(document, call.tool_use)));
        }
        let (open, closed) = std::mem::take(&mut self.finished)
            .into_iter()
            .partition::<Vec<_>, _>(|(call, _)| waiting.contains(call));
        self.finished = open;
        let gone = absent(document, closed.into_iter().map(|(call, _)| call).collect());
        // The calls were deleted, so don't auto-send.
        if let Some(batch) = self.batch.as_mut().filter(|_| !gone.is_empty()) {
            batch.may_send = false;
        }
        gone.into_iter().map(|call| {
            Effect::warn(format!(
                "The call \"{}\" ended, but its block was deleted or changed; its result was dropped.",
                call.id
            ))
        })
        .collect()
    }

    /// Returns true if a finished call has this ID, unless its placeholder says already that it
    /// waits, or what the user decided meanwhile.
    fn has_ended(&self, call: &PairedCall<'_>) -> bool {
        let is_waiting = |end: &RunEnd| {
            let status = call.status().filter(|it| *it != Status::Approved);
            matches!(end, RunEnd::Waits(_)) && status.is_some()
        };
        self.finished
            .iter()
            .any(|(finished, end)| finished.id == call.tool_use.id && !is_waiting(end))
    }

    /// Returns true if the batch may apply to this call, judging by its ID.
    fn is_wanted(&self, call: &PairedCall<'_>) -> bool {
        match self.batch.as_ref().map(|batch| &batch.goal) {
            Some(Goal::All | Goal::Skip) => true,
            Some(Goal::Chosen(goals, _)) => goals.iter().any(|it| it.id == call.tool_use.id),
            Some(Goal::Refused(goal, _)) => goal.id == call.tool_use.id,
            Some(Goal::Settled) | None => false,
        }
    }

    fn plan(&self, document: &Document<'_>, options: &Options) -> Plan {
        let mut plan = Plan::default();
        // Without a key or an ended call, nothing is decided.
        if self.batch.is_none() && self.finished.is_empty() {
            return plan;
        }
        for turn in document.unanswered_turns() {
            let mut blocks: Vec<(usize, BlockLines)> = Vec::new();
            for (index, call) in turn
                .calls
                .iter()
                .enumerate()
                .filter(|(_, call)| !call.is_answered())
                .filter(|(_, call)| self.is_wanted(call) || self.has_ended(call))
            {
                blocks.extend(
                    self.plan_call(document, &turn, call, options, &mut plan)
                        .map(|block| (index, block)),
                );
            }
            // Text that the user typed into a placeholder must not be lost under the result.
            let edits = write::place(document, &turn, &blocks);
            let typed = self.typed_meanwhile(document, &turn);
            plan.edits
                .extend(write::keep_words(document, edits, &typed));
        }
        plan
    }

    /// Placeholders of finished calls into which the user typed while they ran.
    fn typed_meanwhile<'d>(
        &self,
        document: &Document<'_>,
        turn: &Turn<'d>,
    ) -> Vec<&'d ToolResultBlock> {
        let typed = turn.calls.iter().filter(|call| {
            let body = call.result.map(|result| result.body.clone());
            call.status().is_some() && body.is_some_and(|body| !document.is_blank(body))
        });
        let ended = typed.filter(|call| {
            let key = classify::key(document, call.tool_use);
            self.finished.iter().any(|(it, _)| *it == key)
        });
        ended.filter_map(|call| call.result).collect()
    }

    fn enqueue(&mut self, ready: Vec<CallKey>) {
        let Some(batch) = &mut self.batch else { return };
        // The goal is met; later decisions belong to the next key.
        batch.goal = Goal::Settled;
        batch.worked |= !ready.is_empty();
        self.queue.extend(ready);
    }
}

/// Returns those of `calls` that are not in the document. Searches from the end, where most
/// of them are.
fn absent(document: &Document<'_>, mut calls: Vec<CallKey>) -> Vec<CallKey> {
    for turn in document.turns().rev() {
        if calls.is_empty() {
            break;
        }
        for call in &turn.calls {
            calls.retain(|key| !classify::is(document, call.tool_use, key));
        }
    }
    calls
}
