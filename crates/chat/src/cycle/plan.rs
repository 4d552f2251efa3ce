//! The plan of one step, computed before any part of it is carried out.
//!
//! For each call: the policy's decision, which block to write for it, and what to do once it is
//! written.

use serde_json::Value;

use super::classify::{self, CallEnd, CallState};
use super::event::{CHAT, CYCLE, DEFAULT, POINTED_AT, REFUSED};
use super::{Cycle, Decided, Effect, Goal, Options, Ruling, RunEnd, messages, settle};
use crate::approval::{self, CallKey, Decision, Function, Question, SHELL_SAFE, Verdict};
use crate::document::{Document, PairedCall, Status, Turn};
use crate::tool::{ToolOutcome, ToolUseId};
use crate::write::{self, BlockLines, TextEdit};
use crate::{scan, status};

/// The changes and effects that one step will make.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) edits: Vec<TextEdit>,
    pub(super) notices: Vec<Effect>,
    pub(super) questions: Vec<Question>,
    /// Approved calls that may run.
    pub(super) ready: Vec<CallKey>,
    /// Calls approved in this step, with the approver's name.
    pub(super) decided: Vec<(CallKey, String)>,
    /// True if the user wrote a result by hand, which stops automatic sending.
    pub(super) by_hand: bool,
    /// Calls whose removed placeholder is written again.
    pub(super) replaced: Vec<ToolUseId>,
    /// Calls that ended and whose placeholder was removed while they ran.
    pub(super) ran: Vec<ToolUseId>,
    /// Decisions about calls that do not run.
    pub(super) rulings: Vec<Decided>,
}

/// A call that can run.
pub(super) struct Candidate<'a> {
    /// The call's identity.
    pub key: CallKey,
    /// The call in the document.
    pub call: PairedCall<'a>,
    /// Its arguments, completed and checked.
    pub input: Value,
    /// The text after `flemma:tool` in its placeholder; empty without one.
    pub words: String,
    /// True if the user chose this particular call.
    pub by_user: bool,
}

impl Plan {
    /// Asks a function about a call.
    pub(super) fn ask(&mut self, call: CallKey, input: Value, function: Function) {
        self.questions.push(Question {
            call,
            input,
            function,
        });
    }

    /// Marks a call as ready to run, once: calls with equal keys are the same call.
    pub(super) fn approve(&mut self, call: CallKey) {
        if !self.ready.contains(&call) {
            self.ready.push(call);
        }
    }

    /// Records a decision after which the call does not run now.
    pub(super) fn rule(
        &mut self,
        call: CallKey,
        ruling: Ruling,
        by: &str,
        reason: Option<&'static str>,
    ) {
        // The name is empty if no resolver had an opinion.
        let by = if by.is_empty() { DEFAULT } else { by }.to_owned();
        self.rulings.push(Decided {
            call,
            ruling,
            by,
            reason,
        });
    }
}

impl Cycle {
    /// Returns the block to write for a call, if any. Everything else goes to `plan`.
    pub(super) fn plan_call(
        &self,
        document: &Document<'_>,
        turn: &Turn<'_>,
        call: &PairedCall<'_>,
        options: &Options,
        plan: &mut Plan,
    ) -> Option<BlockLines> {
        let key = classify::key(document, call.tool_use);
        // A call that ended gets its result, even if another decision was made meanwhile.
        if let Some((_, end)) = self.finished.iter().find(|(finished, _)| *finished == key) {
            let outcome = match end {
                RunEnd::Result(outcome) => outcome,
                RunEnd::Waits(why) => return Some(wait(key, SHELL_SAFE, Some(why), plan)),
            };
            if call.result.is_none() && self.provenance.lost_placeholder(&key.id) {
                plan.ran.push(key.id.clone());
            }
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
            // The batch is about other calls.
            _ => return None,
        };
        let state = classify::classify(document, turn, call, options);
        let candidate = Candidate {
            key,
            call: *call,
            // Set once the arguments have been checked.
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
            CallState::Ends(end) => Some(self.end(candidate.key, &end, plan)),
            // A steering message skips all calls that did not start.
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
        // A key on the call replaces its placeholder on purpose.
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
            // Also a call that the user approved again: its approval may be spent.
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
            // The remaining statuses wait for the user, or were handled as ends.
            _ => None,
        }
    }

    /// Returns the result of a call that ends without running.
    fn end(&self, key: CallKey, end: &CallEnd, plan: &mut Plan) -> BlockLines {
        if end.ruling == Ruling::Answered {
            plan.by_hand = true;
            plan.notices.push(Effect::warn(format!(
                "You wrote in the block of \"{}\", so {} was not run and your text is the result. Press Ctrl-] to send it.",
                key.id, key.name
            )));
        }
        // The tool's own text replaces only the default, never the user's words.
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
        // The user replaces the arguments or the placeholder knowingly, so this is said.
        let Candidate { key, words, .. } = candidate;
        plan.notices.push(self.no_approval(&key));
        let block = write::placeholder(key.id.as_str(), Status::Pending, &words);
        let reason = if self.provenance.is_spent(&key) {
            "its approval was already used"
        } else {
            "the approval was not given in this session for these arguments"
        };
        plan.rule(key, Ruling::Waits, CYCLE, Some(reason));
        block
    }

    /// Returns the result of a rejected call. Text in its placeholder is part of the
    /// reason.
    fn refuse(
        &self,
        document: &Document<'_>,
        call: &PairedCall<'_>,
        key: CallKey,
        reason: &str,
        plan: &mut Plan,
    ) -> BlockLines {
        // Both the command and the placeholder may hold a reason.
        let written = call
            .result
            .map_or_else(Default::default, |it| document.lossy(it.body.clone()));
        let reasons = [reason.trim(), written.trim()];
        let reasons: Vec<&str> = reasons.into_iter().filter(|it| !it.is_empty()).collect();
        let own = self.refusals.get(&key).map_or(classify::REJECTED, |it| it);
        let text = if reasons.is_empty() {
            own.to_owned()
        } else {
            reasons.join("\n\n")
        };
        let block = write::tool_result(key.id.as_str(), &text, true);
        plan.rule(key, Ruling::Rejected, REFUSED, None);
        block
    }

    /// Returns a notice about an `approved` that does not count.
    fn no_approval(&self, key: &CallKey) -> Effect {
        let id = &key.id;
        Effect::warn(if self.provenance.is_spent(key) {
            format!(
                "The approval of \"{id}\" was already used. Press Alt-Enter on it to run it again."
            )
        } else {
            format!(
                "The approval of \"{id}\" was not given in this session for these arguments. Approve it again \
                 to run it."
            )
        })
    }
}

/// Returns the text after `flemma:tool` in a call's placeholder.
fn placeholder_words(document: &Document<'_>, call: &PairedCall<'_>) -> String {
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

impl Cycle {
    /// Returns the block to write for the policy's decision. A call chosen by the user runs
    /// unless the policy denies it.
    pub(super) fn categorize(
        &self,
        candidate: Candidate<'_>,
        options: &Options,
        plan: &mut Plan,
    ) -> Option<BlockLines> {
        // For `execute_tool`, the rules apply to the call inside it.
        let (meant, input) = approval::meant(&candidate.key, &candidate.input);
        let verdict = if candidate.by_user {
            // The user looked at the call, so skip the guards that only automatic approvals
            // need.
            approval::decide(&options.chain, &meant, &self.answers)
        } else {
            classify::verdict(&meant, &self.answers, options)
        };
        let (decision, by) = match verdict {
            Verdict::Ask(function) => {
                plan.ask(meant, input, function);
                return None;
            }
            Verdict::Decided(decision, by) => (decision, by),
        };
        match decision {
            Decision::Deny => Some(deny(candidate.key, &meant, &by, options, plan)),
            // The user chose to run it, so any decision but a denial lets it run.
            _ if candidate.by_user => self.run_chosen(candidate, options, plan),
            Decision::RequireApproval => Some(wait(candidate.key, &by, None, plan)),
            Decision::Approve => Some(self.approve(candidate, by, options, plan)),
        }
    }

    /// Approves a call chosen by the user if its target still is as it was shown.
    fn run_chosen(
        &self,
        candidate: Candidate<'_>,
        options: &Options,
        plan: &mut Plan,
    ) -> Option<BlockLines> {
        let Candidate {
            key, input, words, ..
        } = candidate;
        // `None` asks the host to compare first; the call is planned again with its answer.
        if !self.is_as_shown(&key, input, options, plan)? {
            settle::looked_at_again(key.clone(), plan);
            return Some(write::placeholder(key.id.as_str(), Status::Pending, &words));
        }
        // Its placeholder already says `approved`, so there is nothing to write.
        if self.provenance.is_approved(&key) {
            plan.approve(key);
            return None;
        }
        let block = write::placeholder(key.id.as_str(), Status::Approved, &words);
        plan.decided.push((key, self.hand().to_owned()));
        Some(block)
    }

    /// Returns the placeholder of a call that the policy approves. A call that was loaded
    /// from a file and never reviewed stays pending.
    fn approve(
        &self,
        candidate: Candidate<'_>,
        by: String,
        options: &Options,
        plan: &mut Plan,
    ) -> BlockLines {
        let Candidate { key, call, .. } = candidate;
        let provenance = &self.provenance;
        let why = if options.trust_loaded_calls {
            None
        } else {
            provenance.unrecognized(&key, call.tool_use, &self.origins)
        };
        if let Some(why) = why {
            plan.notices.push(Effect::inform(why.notice(&key.id)));
            return wait(key, CYCLE, Some(why.reason()), plan);
        }
        let block = write::placeholder(key.id.as_str(), Status::Approved, "");
        plan.decided.push((key, by));
        block
    }

    /// Name of the user's act that started this batch.
    fn hand(&self) -> &'static str {
        match self.batch.as_ref().map(|batch| &batch.goal) {
            Some(Goal::Chosen(_, by)) => by,
            _ => POINTED_AT,
        }
    }
}

/// Returns the result of a call that `by` denies; `meant` is the call that the rules are about.
pub(super) fn deny(
    key: CallKey,
    meant: &CallKey,
    by: &str,
    options: &Options,
    plan: &mut Plan,
) -> BlockLines {
    let why = options.chain.reason(by, meant);
    let block = write::tool_result(key.id.as_str(), &classify::denied(why), true);
    plan.rule(key, Ruling::Denied, by, None);
    block
}

/// Returns the placeholder of a pending call.
pub(super) fn wait(
    key: CallKey,
    by: &str,
    reason: Option<&'static str>,
    plan: &mut Plan,
) -> BlockLines {
    let block = write::placeholder(key.id.as_str(), Status::Pending, "");
    plan.rule(key, Ruling::Waits, by, reason);
    block
}
