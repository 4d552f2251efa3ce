//! Handles keys: selects the calls that each key applies to and starts a batch, which
//! `settle` carries out.

use super::decided::{APPROVED_ALL, POINTED_AT, REVIEWED};
use super::{
    AutopilotRun, Cycle, Effect, Goal, Options, classify, find_at, idle, text_below_calls,
};
use crate::approval::{CallKey, TRIAL};
use crate::document::{Document, PairedCall, Status};
use crate::write;

impl Cycle {
    pub(super) fn advance(&mut self, document: &Document<'_>, options: &Options) -> Vec<Effect> {
        if let Some(no) = self.busy().or_else(|| Self::blocked(document, options)) {
            return vec![no];
        }
        // The key lifts an earlier cancel.
        self.disarmed = false;
        self.begin_by_key(Goal::All, text_below_calls(document));
        if let Some(batch) = &mut self.batch {
            batch.advances = true;
        }
        self.settle(document, options)
    }

    /// Starts a batch for a key.
    fn begin_by_key(&mut self, goal: Goal, words: Option<String>) {
        self.begin(goal, words);
        if let Some(batch) = &mut self.batch {
            batch.by_key = true;
        }
    }

    pub(super) fn send_by_user(
        &mut self,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        if let Some(no) = self.busy().or_else(|| Self::blocked(document, options)) {
            return vec![no];
        }
        // The user sends by hand, so an earlier cancel and the count of requests are over.
        self.disarmed = false;
        self.run = AutopilotRun::default();
        // Fences must be closed first, or the result would be sent as part of the user's
        // text.
        if !write::close_fences(document).is_empty() {
            self.begin(Goal::Settled, None);
            return self.settle(document, options);
        }
        let mut effects = self.send(document, options);
        if effects.contains(&Effect::Send) {
            // Sent anyway, because the user asked for it; the model gets errors instead of
            // results.
            effects.extend(idle::unanswered(document));
        }
        effects
    }

    /// Returns why no call can be run or rejected now. Running tools are no reason.
    fn cannot_choose(&self, document: &Document<'_>, options: &Options) -> Option<Effect> {
        if self.request {
            return self.busy();
        }
        Self::blocked(document, options)
    }

    /// Runs the call on a line, or refuses it.
    pub(super) fn resolve(
        &mut self,
        line: usize,
        refused: Option<String>,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        if let Some(no) = self.cannot_choose(document, options) {
            return vec![no];
        }
        let Some((_, call)) = find_at(document, line) else {
            return vec![Effect::warn(
                "There is no tool call under the cursor. Put it on a Tool Use or Tool Result block.",
            )];
        };
        let key = classify::key(document, call.tool_use);
        // A second approval would run the call twice.
        if self.running.contains(&key) || self.queue.contains(&key) {
            return vec![Effect::warn(format!(
                "The call \"{}\" is running already.",
                key.id
            ))];
        }
        if call.is_answered() {
            return vec![Effect::inform(format!(
                "The call \"{}\" already has its result. Delete the result block to run the call again.",
                key.id
            ))];
        }
        self.decide(key, refused, POINTED_AT, document, options)
    }

    /// Refuses a call for a reason, or runs it. `by` is how the user chose it.
    fn decide(
        &mut self,
        call: CallKey,
        refused: Option<String>,
        by: &'static str,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        let goal = match refused {
            Some(reason) => Goal::Refused(call, reason),
            None => Goal::Chosen(vec![call], by),
        };
        self.begin_by_key(goal, text_below_calls(document));
        self.settle(document, options)
    }

    /// Runs or refuses a call that the user reviewed, if it still waits as it was reviewed.
    pub(super) fn review(
        &mut self,
        call: CallKey,
        refused: Option<String>,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        if let Some(no) = self.cannot_choose(document, options) {
            return vec![no];
        }
        // The call may have run, or its text may have changed, while the review was open.
        if !self.waiting_calls(document).contains(&call) {
            return vec![Effect::warn(format!(
                "The call \"{}\" is no longer pending, so its review was not used.",
                call.id
            ))];
        }
        self.decide(call, refused, REVIEWED, document, options)
    }

    /// Runs a call that a rule approves for what its trial showed, if it still waits.
    pub(super) fn tried(
        &mut self,
        call: CallKey,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        let waits = self.waiting_calls(document).contains(&call);
        if !waits || self.cannot_choose(document, options).is_some() {
            return Vec::new();
        }
        self.begin(Goal::Chosen(vec![call], TRIAL), None);
        self.settle(document, options)
    }

    pub(super) fn approve_all(
        &mut self,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        if let Some(no) = self.cannot_choose(document, options) {
            return vec![no];
        }
        let calls = self.waiting_calls(document);
        if calls.is_empty() {
            return vec![Effect::inform("No call is pending here.")];
        }
        self.begin_by_key(
            Goal::Chosen(calls, APPROVED_ALL),
            text_below_calls(document),
        );
        self.settle(document, options)
    }

    /// Pending calls, in order.
    fn waiting<'d>(&self, document: &'d Document<'_>) -> Vec<PairedCall<'d>> {
        let calls = document.unanswered_turns().flat_map(|turn| turn.calls);
        let waits = |call: &PairedCall<'_>| {
            let is_empty = call
                .result
                // Text in the placeholder is the user's result, so that call waits for nothing.
                .is_some_and(|it| document.is_blank(it.body.clone()));
            let key = || classify::key(document, call.tool_use);
            call.status() == Some(Status::Pending)
                && is_empty
                && !self.running.contains(&key())
                && !self.queue.contains(&key())
        };
        calls.filter(waits).collect()
    }

    /// The identities of pending calls, in order.
    pub(super) fn waiting_calls(&self, document: &Document<'_>) -> Vec<CallKey> {
        let calls = self.waiting(document).into_iter();
        calls
            .map(|it| classify::key(document, it.tool_use))
            .collect()
    }

    /// Tools of the pending calls, in order.
    pub fn waiting_tools(&self, document: &Document<'_>) -> Vec<String> {
        let calls = self.waiting(document);
        let names = calls.iter().map(|call| call.tool_use.name.to_string());
        names.collect()
    }

    /// Returns the line of the only pending call, for a command used without a call under
    /// the cursor.
    ///
    /// # Errors
    ///
    /// The number of pending calls, if it is not one.
    pub fn meant(&self, line: usize, document: &Document<'_>) -> Result<usize, usize> {
        // A call under the cursor is meant even if it is not pending; the caller says why it can't
        // be used.
        if find_at(document, line).is_some() {
            return Ok(line);
        }
        match self.waiting(document).as_slice() {
            [call] => Ok(call.tool_use.lines.start),
            calls => Err(calls.len()),
        }
    }
}
