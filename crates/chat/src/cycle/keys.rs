//! Handles keys: selects the calls that each key applies to and starts a batch, which
//! `settle` carries out.
//!
//! A key does nothing while other work is in progress or the document is invalid. A cancel ends
//! requests and calls, at the user's request or because the host ended; each cancelled call
//! still gets a result.

use super::event::{APPROVED_ALL, POINTED_AT, REVIEWED};
use super::{
    AutopilotRun, Cycle, Decided, Effect, Goal, Level, Notice, Options, RunEnd, Start, classify,
    find_at, idle, text_below_calls,
};
use crate::approval::{CallKey, TRIAL};
use crate::document::{Document, PairedCall, Status};
use crate::tool::{ToolOutcome, ToolUseId};
use crate::write;

impl Cycle {
    pub(super) fn advance(&mut self, document: &Document<'_>, options: &Options) -> Vec<Effect> {
        if let Some(no) = self.busy().or_else(|| Self::blocked(document, options)) {
            return vec![no];
        }
        // The key lifts an earlier cancel.
        self.disarmed = false;
        self.begin(Goal::All, text_below_calls(document), Start::Advance);
        self.settle(document, options)
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
            self.begin(Goal::Settled, None, Start::Other);
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

    /// Returns why no call can be run or rejected now. Running tools do not prevent it.
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
        self.begin(goal, text_below_calls(document), Start::Key);
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
        self.begin(Goal::Chosen(vec![call], TRIAL), None, Start::Other);
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
        self.begin(
            Goal::Chosen(calls, APPROVED_ALL),
            text_below_calls(document),
            Start::Key,
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

impl Cycle {
    /// Returns a notice if a request or a call is in progress.
    pub(super) fn busy(&self) -> Option<Effect> {
        if self.request {
            return Some(Effect::warn(
                "An answer is arriving, so nothing was changed. Ctrl-C cancels it, :Flemma steer adds a message.",
            ));
        }
        match self.running.len() {
            0 => None,
            1 => Some(Effect::warn(
                "A tool is running, so nothing was changed. Ctrl-C cancels it, :Flemma steer adds a message.",
            )),
            n => Some(Effect::warn(format!(
                "{n} tools are running, so nothing was changed. Ctrl-C cancels them, :Flemma steer adds a message."
            ))),
        }
    }

    /// Returns a notice if the document must not be acted on at all.
    pub(super) fn blocked(document: &Document<'_>, options: &Options) -> Option<Effect> {
        // Closing this fence automatically would complete a call that may be unfinished.
        if let Some(fence) = document.open_fences.iter().find(|it| it.below_header) {
            return Some(Effect::Notify(Notice {
                level: Level::Error,
                text: format!(
                    "Line {}: this fence below a tool header never closes, so nothing was run or sent. Close it with \
                     {} or delete the header.",
                    fence.lines.start + 1,
                    fence.closing
                ),
            }));
        }
        let frontmatter = document.frontmatter.as_ref()?;
        // Applying the wrong rules, or sending half of the text, can't be undone.
        let text = match (&frontmatter.problem, &options.frontmatter) {
            (Some(problem), _) => problem.clone(),
            (None, Some(Err(problem))) => format!("{problem} Nothing was run or sent."),
            (None, Some(Ok(read))) if *read == document.frontmatter_text() => return None,
            // The new rules may be stricter, so the old ones must not be applied.
            (None, _) => "The frontmatter was changed and not read yet, so nothing was run or sent. Press the key again."
                .to_owned(),
        };
        Some(Effect::Notify(Notice {
            level: Level::Error,
            text,
        }))
    }
}

/// Result of a call that was running when its host ended.
pub const INTERRUPTED: &str = "The host stopped, or the chat was closed, while this call was running. It may have \
     had effects; its result is unknown.";

impl Cycle {
    pub(super) fn interrupted(&mut self, document: &Document<'_>, ids: &[ToolUseId]) {
        for turn in document.turns() {
            for call in turn
                .calls
                .iter()
                // Only a call with a placeholder still needs a result.
                .filter(|call| call.status().is_some() && ids.contains(&call.tool_use.id))
            {
                self.finished.push((
                    classify::key(document, call.tool_use),
                    RunEnd::Result(ToolOutcome::Failed(INTERRUPTED.to_owned())),
                ));
            }
        }
    }

    /// Handles recovered results. Keeps those whose placeholders are in the document.
    pub(super) fn recover(
        &mut self,
        ended: Vec<(CallKey, ToolOutcome)>,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        let ended = ended.into_iter();
        self.finished
            .extend(ended.map(|(call, outcome)| (call, RunEnd::Result(outcome))));
        let turns: Vec<_> = document.unanswered_turns().collect();
        self.finished.retain(|(ended, _)| {
            let calls = turns.iter().flat_map(|turn| &turn.calls);
            calls
                .filter(|call| call.status().is_some())
                .any(|call| classify::is(document, call.tool_use, ended))
        });
        self.settle(document, options)
    }

    pub(super) fn cancel(&mut self, document: &Document<'_>, options: &Options) -> Vec<Effect> {
        // Stays set until the user sends again, so that a tool that ends late sends
        // nothing.
        self.disarmed = true;
        if let Some(batch) = &mut self.batch {
            batch.may_send = false;
        }
        // Queued messages must not start new work after a cancel.
        let queued = self.messages.put_back(Vec::new());
        // While a request is open, Ctrl-C stops only the request.
        if self.request {
            return vec![Effect::CancelRequest];
        }
        let waiting = self.cancellable(document);
        let idle = self.running.is_empty() && self.queue.is_empty() && waiting.is_empty();
        // Nothing to stop, but queued messages must not be lost: write them into the
        // prompt.
        if queued && idle {
            let mut effects = self.settle(document, options);
            if effects.is_empty() {
                effects.push(Effect::inform(
                    "Nothing is running here. Your message goes into the prompt once the block above it is fixed.",
                ));
            }
            return effects;
        }
        if idle {
            return vec![Effect::inform("Nothing is running here.")];
        }
        self.cancel_calls(waiting, document, options)
    }

    /// Stops running calls and ends the waiting and queued ones.
    fn cancel_calls(
        &mut self,
        waiting: Vec<CallKey>,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        if let Some(batch) = &mut self.batch {
            // Undecided calls stay undecided until the next key.
            batch.goal = Goal::Settled;
        }
        let mut never: Vec<CallKey> = std::mem::take(&mut self.queue).into();
        never.extend(waiting);
        for call in self.running.iter().chain(&never) {
            self.ledger.note(Decided::cancelled(call));
        }
        let outcome = || ToolOutcome::Cancelled("Cancelled by the user before it ran.".to_owned());
        let never = never.into_iter();
        self.finished
            .extend(never.map(|call| (call, RunEnd::Result(outcome()))));
        let mut effects = Vec::new();
        // These calls end later, each with a `ToolsFinished` event.
        if !self.running.is_empty() {
            effects.push(Effect::CancelTools(self.running.clone()));
        }
        effects.extend(self.settle(document, options));
        effects
    }

    /// Calls whose placeholders are undecided. A placeholder that contains the user's text
    /// already has a result.
    fn cancellable(&self, document: &Document<'_>) -> Vec<CallKey> {
        let mut waiting: Vec<CallKey> = Vec::new();
        for turn in document.unanswered_turns() {
            for call in &turn.calls {
                let undecided = matches!(call.status(), Some(Status::Pending | Status::Approved));
                let body = call.result.map(|it| it.body.clone()).unwrap_or_default();
                if !undecided || !document.is_blank(body) {
                    continue;
                }
                let key = classify::key(document, call.tool_use);
                let in_progress = self.running.contains(&key) || self.queue.contains(&key);
                let ended = self.finished.iter().any(|(call, _)| *call == key);
                if !in_progress && !ended && !waiting.contains(&key) {
                    waiting.push(key);
                }
            }
        }
        waiting
    }

    pub(super) fn cancel_tool(&mut self, line: usize, document: &Document<'_>) -> Vec<Effect> {
        let here = find_at(document, line).map(|(_, call)| classify::key(document, call.tool_use));
        let call = here
            .filter(|key| self.running.contains(key))
            .or_else(|| self.running.first().cloned());
        match call {
            Some(call) => {
                self.ledger.note(Decided::cancelled(&call));
                vec![Effect::CancelTools(vec![call])]
            }
            None => vec![Effect::inform("No tool is running here.")],
        }
    }
}
