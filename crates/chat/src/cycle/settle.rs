//! Takes a batch one step further: write decisions, start calls, then wait, ask, or send.
//!
//! Everything is recomputed from the document each time, so a stale edit is simply planned
//! again.

use std::collections::BTreeSet;

use serde_json::Value;

use super::classify::{self, CallEnd, CallState};
use super::decided::{CHAT, CYCLE, REFUSED};
use super::plan::{Candidate, Plan};
use super::{Cycle, Effect, Goal, Options, Ruling, messages};
use crate::approval::CallKey;
use crate::document::{Call, Document, Status, ToolResult, Turn};
use crate::scan;
use crate::status;
use crate::tool::ToolOutcome;
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
        effects.extend(self.start(document, options));
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
        self.queue.clear();
        Some(no)
    }

    /// Closes open fences before anything is written below them, then reads the user's text
    /// again: part of it was inside a fence.
    fn close_fences(&mut self, document: &Document<'_>) -> Option<Effect> {
        let closing = write::close_fences(document);
        if (self.batch.is_some() || !self.finished.is_empty()) && !closing.is_empty() {
            if let Some(batch) = &mut self.batch {
                batch.mended = true;
            }
            return Some(Effect::Edit(closing));
        }
        if let Some(batch) = self.batch.as_mut().filter(|batch| batch.mended) {
            batch.mended = false;
            batch.words = super::words_behind_calls(document);
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
        let replaced = plan.replaced.iter();
        let said = replaced.map(|id| {
            // Notify once: a stale edit is planned again.
            self.provenance.forget_placeholder(id);
            Effect::inform(format!(
                "The placeholder of \"{id}\" was removed, so the call was decided on again. To refuse the call, use \
                 :Flemma reject."
            ))
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
                "The call \"{}\" ended, but its block is gone or changed; its result was dropped.",
                call.id
            ))
        })
        .collect()
    }

    /// Returns true if a finished call has this ID.
    fn has_ended(&self, call: &Call<'_>) -> bool {
        self.finished
            .iter()
            .any(|(finished, _)| finished.id == call.tool_use.id)
    }

    /// Returns true if the batch may apply to this call, judging by its ID.
    fn is_wanted(&self, call: &Call<'_>) -> bool {
        match self.batch.as_ref().map(|batch| &batch.goal) {
            Some(Goal::All | Goal::Skip) => true,
            Some(Goal::Chosen(goals, _)) => goals.iter().any(|it| it.id == call.tool_use.id),
            Some(Goal::Refused(goal, _)) => goal.id == call.tool_use.id,
            Some(Goal::Settled) | None => false,
        }
    }

    fn plan(&self, document: &Document<'_>, options: &Options) -> Plan {
        let mut plan = Plan::default();
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
            let edits = write::place(document, &turn, &blocks);
            let typed = self.typed_meanwhile(document, &turn);
            plan.edits
                .extend(write::keep_words(document, edits, &typed));
        }
        plan
    }

    /// Placeholders of finished calls into which the user typed while they ran.
    fn typed_meanwhile<'d>(&self, document: &Document<'_>, turn: &Turn<'d>) -> Vec<&'d ToolResult> {
        let ended = turn.calls.iter().filter(|call| {
            let key = classify::key(document, call.tool_use);
            call.status().is_some() && self.finished.iter().any(|(it, _)| *it == key)
        });
        ended
            .filter_map(|call| call.result)
            .filter(|result| !document.is_blank(result.body.clone()))
            .collect()
    }

    /// Returns the block to write for a call, if any. Everything else goes to `plan`.
    fn plan_call(
        &self,
        document: &Document<'_>,
        turn: &Turn<'_>,
        call: &Call<'_>,
        options: &Options,
        plan: &mut Plan,
    ) -> Option<BlockLines> {
        let key = classify::key(document, call.tool_use);
        if let Some((_, outcome)) = self.finished.iter().find(|(finished, _)| *finished == key) {
            return Some(outcome_block(&key, outcome));
        }
        // Already decided; its result follows when it ends.
        if self.running.contains(&key) || self.queue.contains(&key) {
            return None;
        }
        let by_user = match &self.batch.as_ref()?.goal {
            Goal::All | Goal::Skip => false,
            Goal::Chosen(goals, _) if goals.contains(&key) => true,
            Goal::Refused(goal, reason) if *goal == key => {
                return Some(self.refuse(document, call, key, reason, plan));
            }
            _ => return None,
        };
        let state = classify::classify(document, turn, call, options);
        let candidate = Candidate {
            key,
            call: *call,
            input: Value::Null,
            words: String::new(),
            by_user,
        };
        self.plan_state(state, candidate, document, options, plan)
    }

    /// Like [`Self::plan_call`], for a call that the batch is about.
    fn plan_state(
        &self,
        state: CallState,
        candidate: Candidate<'_>,
        document: &Document<'_>,
        options: &Options,
        plan: &mut Plan,
    ) -> Option<BlockLines> {
        match state {
            CallState::Answered => None,
            CallState::Ends(end) => Some(self.end(candidate.key, end, plan)),
            CallState::New(_) | CallState::Waits(..) if self.skips() => {
                Some(messages::skip(candidate.key, plan))
            }
            CallState::New(input) => self.plan_new(Candidate { input, ..candidate }, options, plan),
            CallState::Waits(status, input) => {
                let words = placeholder_words(document, &candidate.call);
                let candidate = Candidate {
                    input,
                    words,
                    ..candidate
                };
                self.plan_waiting(status, candidate, options, plan)
            }
        }
    }

    /// Plans a call that has no placeholder yet.
    fn plan_new(
        &self,
        candidate: Candidate<'_>,
        options: &Options,
        plan: &mut Plan,
    ) -> Option<BlockLines> {
        let id = &candidate.key.id;
        if !candidate.by_user && self.provenance.lost_placeholder(id) {
            plan.replaced.push(id.clone());
        }
        self.categorize(candidate, options, plan)
    }

    /// Plans a call whose placeholder has a status.
    fn plan_waiting(
        &self,
        status: Status,
        candidate: Candidate<'_>,
        options: &Options,
        plan: &mut Plan,
    ) -> Option<BlockLines> {
        match status {
            _ if candidate.by_user => {
                let id = candidate.key.id.as_str();
                let waits = write::placeholder(id, Status::Pending, &candidate.words);
                let block = self.categorize(candidate, options, plan);
                // Writing the same placeholder again would be an edit without a change.
                block.filter(|block| status != Status::Pending || *block != waits)
            }
            Status::Approved if self.provenance.is_approved(&candidate.key) => {
                self.run_approved(candidate, options, plan)
            }
            Status::Approved => Some(self.ask_again(candidate, plan)),
            _ => None,
        }
    }

    /// Returns the result of a call that ends without running.
    fn end(&self, key: CallKey, end: CallEnd, plan: &mut Plan) -> BlockLines {
        if end.ruling == Ruling::Answered {
            plan.by_hand = true;
            plan.notices.push(Effect::warn(format!(
                "You wrote in the block of \"{}\", so {} was not run and your text is the result. Press Ctrl-] to send it.",
                key.id, key.name
            )));
        }
        let own = self.refusals.get(&key);
        let own = own.filter(|_| end.content == classify::REJECTED);
        let content = own.unwrap_or(&end.content);
        let block = write::tool_result(key.id.as_str(), content, end.is_error);
        let by = if end.ruling == Ruling::Unfit {
            CYCLE
        } else {
            CHAT
        };
        plan.rule(key, end.ruling, by, end.reason);
        block
    }

    /// Returns a pending placeholder for a call whose approval does not count.
    fn ask_again(&self, candidate: Candidate<'_>, plan: &mut Plan) -> BlockLines {
        let Candidate { key, words, .. } = candidate;
        plan.notices.push(self.no_approval(&key));
        let block = write::placeholder(key.id.as_str(), Status::Pending, &words);
        let reason = if self.provenance.is_spent(&key) {
            "it ran on its approval already"
        } else {
            "the approval was not given here for these arguments"
        };
        plan.rule(key, Ruling::Waits, CYCLE, Some(reason));
        block
    }

    /// Returns the result of a rejected call. Text in its placeholder is part of the
    /// reason.
    fn refuse(
        &self,
        document: &Document<'_>,
        call: &Call<'_>,
        key: CallKey,
        reason: &str,
        plan: &mut Plan,
    ) -> BlockLines {
        let written = call
            .result
            .map_or_else(Default::default, |it| document.lossy(it.body.clone()));
        let reasons = [reason.trim(), written.trim()];
        let reasons: Vec<&str> = reasons.into_iter().filter(|it| !it.is_empty()).collect();
        let own = self.refusals.get(&key).map_or(classify::REJECTED, |it| it);
        let told = match reasons.is_empty() {
            true => own.to_owned(),
            false => reasons.join("\n\n"),
        };
        let block = write::tool_result(key.id.as_str(), &told, true);
        plan.rule(key, Ruling::Rejected, REFUSED, None);
        block
    }

    /// Returns a notice about an `approved` that does not count.
    fn no_approval(&self, key: &CallKey) -> Effect {
        let id = &key.id;
        Effect::warn(if self.provenance.is_spent(key) {
            format!(
                "The call \"{id}\" ran on its approval already, so it waits. Press Alt-Enter on it to run it again."
            )
        } else {
            format!(
                "The approval of \"{id}\" was not given here for these arguments, so the call waits. Approve it again \
                 to run it."
            )
        })
    }

    fn enqueue(&mut self, ready: Vec<CallKey>) {
        let Some(batch) = &mut self.batch else { return };
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

/// Returns the text after `flemma:tool` in a call's placeholder.
fn placeholder_words(document: &Document<'_>, call: &Call<'_>) -> String {
    let fence = call
        .result
        .map_or(0, |result| result.body.start.saturating_sub(1));
    let fence = scan::fence(document.text().line(fence));
    let info = fence.map_or(Default::default(), |it| String::from_utf8_lossy(it.info));
    status::placeholder_words(&info)
        .unwrap_or_default()
        .to_owned()
}

fn outcome_block(call: &CallKey, outcome: &ToolOutcome) -> BlockLines {
    let (content, is_error) = match outcome {
        ToolOutcome::Done { content, .. } => (content, false),
        ToolOutcome::Failed(text) | ToolOutcome::Cancelled(text) => (text, true),
    };
    write::tool_result(call.id.as_str(), content, is_error)
}
