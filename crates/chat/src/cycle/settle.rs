//! Takes a batch one step further: write decisions, start calls, then wait, ask, or send.
//!
//! Everything is recomputed from the document each time, so a stale edit is simply planned
//! again.
//!
//! Approved calls start in document order, as many as there are free slots. The target of a call
//! that the user approved must be unchanged since the user saw it: the host compares the file
//! with what was shown, and this module only asks. A policy approves without looking at the
//! file, so its approvals are not checked.

use std::collections::BTreeSet;

use serde_json::Value;

use super::classify::{self, CallState};
use super::event::CYCLE;
use super::plan::{Candidate, Plan};
use super::{
    AnswerEnd, AutopilotRun, Cycle, Decided, Effect, Goal, Options, Ruling, RunEnd, Start, idle,
    is_by_hand, plan,
};
use crate::approval::{self, CallKey, Decision, Function, FunctionId, Verdict};
use crate::document::{Document, PairedCall, Role, Status, ToolResultBlock, Turn};
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

/// Returns the calls that are not in the document. Searches from the end, where most
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

impl Cycle {
    pub(super) fn runs_ended(
        &mut self,
        ended: Vec<(CallKey, RunEnd)>,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        for (call, end) in ended {
            // A call that is not running has already ended; ignore the second end.
            if let Some(at) = self.running.iter().position(|running| *running == call) {
                self.running.remove(at);
                // Only a call that the user reviewed may move the cursor to its result.
                let waited = is_by_hand(&self.provenance.approved_by(&call));
                if let Some(batch) = self.batch.as_mut().filter(|_| waited) {
                    batch.shown = Some(call.clone());
                }
                if let RunEnd::Waits(_) = end {
                    // The user may approve it by typing.
                    self.provenance.reopen(&call);
                }
                self.finished.push((call, end));
            }
        }
        // Fill the free slot at once, but write the results of calls that end at about the
        // same time in one edit.
        if Self::blocked(document, options).is_none() {
            let effects = self.start(document, options);
            if !self.running.is_empty() {
                return effects;
            }
        }
        self.settle(document, options)
    }

    pub(super) fn answer_ended(
        &mut self,
        end: AnswerEnd,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        self.request = false;
        if end != AnswerEnd::Complete {
            return self.answer_broke_off(end, document, options);
        }
        // A steering message is sent even if autopilot is off.
        if self.messages.steers() {
            return self.speak(document, options);
        }
        let mut messages = document.messages.iter();
        let last = messages.rposition(|it| it.role == Role::Assistant);
        // A complete answer without calls ends the run of requests.
        if last.and_then(|at| document.turn(at)).is_none() {
            self.run = AutopilotRun::default();
            self.batch = None;
            return self.done(document, options);
        }
        if !options.autopilot {
            // Without autopilot, only messages that the user queued are written.
            return self.say(document);
        }
        // No words: text that the user typed during the answer is not sent automatically.
        self.begin(Goal::All, None, Start::Other);
        if let Some(batch) = &mut self.batch {
            // A batch that did no work would send, as the user's key does.
            batch.worked = true;
            batch.may_send &= !idle::is_malformed_again(document);
        }
        let mut effects = self.settle(document, options);
        effects.extend(idle::malformed_again(document));
        effects
    }

    fn answer_broke_off(
        &mut self,
        end: AnswerEnd,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        self.batch = None;
        self.messages.put_back(Vec::new());
        let effects = self.settle(document, options);
        // Without calls there is nothing to repair, so offer a prompt right away.
        let is_text = document.unanswered_turns().next().is_none();
        if end == AnswerEnd::Limited && is_text && effects.is_empty() {
            return idle::fresh_prompt(document);
        }
        effects
    }
}

/// Log reason for a call that becomes pending again.
const CHANGED: &str = "its target has changed since it was shown";

/// State of a call's target.
enum Sight {
    /// Unchanged since it was shown.
    Same,
    /// Changed since it was shown.
    Changed,
    /// Not compared yet.
    Asked,
}

impl Cycle {
    /// Runs a call that the document approves, if the policy does not deny it and its target is
    /// unchanged.
    pub(super) fn run_approved(
        &self,
        candidate: Candidate<'_>,
        options: &Options,
        plan: &mut Plan,
    ) -> Option<BlockLines> {
        let Candidate {
            key, input, words, ..
        } = candidate;
        let by_hand = super::is_by_hand(&self.provenance.approved_by(&key));
        if by_hand {
            // Typed, or decided before the rules changed.
            let (meant, input) = approval::meant(&key, &input);
            match approval::decide(&options.chain, &meant, &self.answers) {
                Verdict::Ask(function) => {
                    plan.ask(meant, input, function);
                    return None;
                }
                Verdict::Decided(Decision::Deny, by) => {
                    return Some(plan::deny(key, &meant, &by, options, plan));
                }
                Verdict::Decided(..) => {}
            }
        }
        // Only the user looks at the target; a rule decides about any content.
        if !by_hand || self.is_as_shown(&key, input, options, plan)? {
            plan.approve(key);
            return None;
        }
        let block = write::placeholder(key.id.as_str(), Status::Pending, &words);
        looked_at_again(key, plan);
        Some(block)
    }

    /// Returns true if the target is as it was shown. `None` if the host has to compare it
    /// first; the question goes to `plan`.
    pub(super) fn is_as_shown(
        &self,
        key: &CallKey,
        input: Value,
        options: &Options,
        plan: &mut Plan,
    ) -> Option<bool> {
        match self.sight(key, &input, options) {
            Sight::Same => Some(true),
            Sight::Changed => Some(false),
            Sight::Asked => {
                plan.ask(key.clone(), input, Function::sight());
                None
            }
        }
    }

    fn sight(&self, key: &CallKey, input: &Value, options: &Options) -> Sight {
        // `execute_tool` changes what the call inside it changes.
        let inner = crate::approval::inside(&key.name, input);
        let name = inner.as_ref().map_or(key.name.as_str(), |(name, _)| name);
        if !options.guarded.contains(name) {
            return Sight::Same;
        }
        match self.answers.get(&(key.clone(), FunctionId::Sight)) {
            None => Sight::Asked,
            // No opinion: nothing was shown that could have changed.
            Some(None | Some(Decision::Approve)) => Sight::Same,
            Some(Some(_)) => Sight::Changed,
        }
    }
}

/// Records that a call must be reviewed again.
pub(super) fn looked_at_again(key: CallKey, plan: &mut Plan) {
    plan.rule(key, Ruling::Waits, CYCLE, Some(CHANGED));
}
