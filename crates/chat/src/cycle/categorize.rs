//! Asks the policy about a call, and says what is written for its decision.

use super::decided::{CYCLE, POINTED_AT};
use super::plan::Plan;
use super::{Cycle, Effect, Goal, Options, Ruling, judge, sight};
use crate::approval::{self, CallKey, Decision, Question, Verdict};
use crate::document::Status;
use crate::pairing::Call;
use crate::write::{self, BlockLines};

impl Cycle {
    /// Asks the policy about a call. A call that the user chose, for which `chosen` holds
    /// the words of its placeholder, runs unless the policy denies it.
    pub(super) fn categorize(
        &self,
        key: CallKey,
        call: &Call<'_>,
        input: serde_json::Value,
        chosen: Option<&str>,
        options: &Options,
        plan: &mut Plan,
    ) -> Option<BlockLines> {
        let by_user = chosen.is_some();
        let words = chosen.unwrap_or_default();
        let outer = by_user.then(|| input.clone());
        let (meant, input) = approval::meant(&key, &input);
        let verdict = match by_user {
            true => approval::decide(&options.chain, &meant, &self.answers),
            false => judge::verdict(&meant, &self.answers, options),
        };
        let (mut decision, mut by) = match verdict {
            Verdict::Ask(function) => {
                plan.questions.push(Question {
                    call: meant,
                    input,
                    function,
                });
                return None;
            }
            Verdict::Decided(decision, by) => (decision, by),
        };
        let mut reason = None;
        if let Some(input) = outer.filter(|_| decision != Decision::Deny) {
            if !self.is_as_shown(&key, input, options, plan)? {
                sight::looked_at_again(key.clone(), plan);
                return Some(write::placeholder(key.id.as_str(), Status::Pending, words));
            }
            (decision, by) = (Decision::Approve, self.hand().to_owned());
        } else if decision == Decision::Approve
            && !options.trust_loaded_calls
            && let Some(why) = self
                .provenance
                .unrecognized(&key, call.tool_use, &self.origins)
        {
            plan.notices.push(Effect::inform(why.notice(&key.id)));
            (decision, by) = (Decision::RequireApproval, CYCLE.to_owned());
            reason = Some(why.reason());
        }
        let id = key.id.as_str();
        match decision {
            Decision::Deny => {
                let why = options.chain.reason(&by, &meant);
                let block = write::tool_result(id, &judge::denied(why), true);
                plan.rule(key, Ruling::Denied, &by, reason);
                Some(block)
            }
            Decision::RequireApproval => {
                let block = write::placeholder(id, Status::Pending, words);
                plan.rule(key, Ruling::Waits, &by, reason);
                Some(block)
            }
            Decision::Approve if by_user && self.provenance.is_approved(&key) => {
                plan.approve(key);
                None
            }
            Decision::Approve => {
                let block = write::placeholder(id, Status::Approved, words);
                plan.decided.push((key, by));
                Some(block)
            }
        }
    }

    /// The user's act that this batch is about.
    fn hand(&self) -> &'static str {
        match self.batch.as_ref().map(|batch| &batch.goal) {
            Some(Goal::Chosen(_, by)) => by,
            _ => POINTED_AT,
        }
    }
}
