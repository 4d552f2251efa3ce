//! Applies the policy to a call and returns the block to write.

use super::decided::{CYCLE, POINTED_AT};
use super::plan::{Candidate, Plan};
use super::{Cycle, Effect, Goal, Options, Ruling, classify, sight};
use crate::approval::{self, CallKey, Decision, Verdict};
use crate::document::Status;
use crate::write::{self, BlockLines};

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
            sight::looked_at_again(key.clone(), plan);
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
