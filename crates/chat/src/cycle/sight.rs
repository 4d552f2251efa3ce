//! Whether what a call would change is still as the user saw it when they let it run.
//!
//! Nothing is looked at here: the host is asked, which knows what was shown. A policy
//! approves without a look, so its approvals are not asked about.

use serde_json::Value;

use super::decided::CYCLE;
use super::plan::{Candidate, Plan};
use super::{Cycle, Options, Ruling};
use crate::approval::{CallKey, Decision, Function, FunctionId, Question};
use crate::document::Status;
use crate::write::{self, BlockLines};

/// Why a call waits once more, for a log.
const CHANGED: &str = "what it would change is not as it was shown";

/// What is known of a call's target.
enum Sight {
    /// It is as it was shown.
    Same,
    /// It is another one now.
    Changed,
    /// Somebody has to look first.
    Asked,
}

impl Cycle {
    /// What follows from the user's approval of a call that stands in the document.
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
        if !by_hand || self.is_as_shown(&key, input, options, plan)? {
            plan.approve(key);
            return None;
        }
        let block = write::placeholder(key.id.as_str(), Status::Pending, &words);
        looked_at_again(key, plan);
        Some(block)
    }

    /// Whether the user's approval of this call is one of what they saw; nothing as
    /// long as nobody looked, which is then asked for.
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
                plan.questions.push(Question {
                    call: key.clone(),
                    input,
                    function: Function::sight(),
                });
                None
            }
        }
    }

    fn sight(&self, key: &CallKey, input: &Value, options: &Options) -> Sight {
        let inner = crate::approval::inside(&key.name, input);
        let name = inner.as_ref().map_or(key.name.as_str(), |(name, _)| name);
        if !options.guarded.contains(name) {
            return Sight::Same;
        }
        match self.answers.get(&(key.clone(), FunctionId::Sight)) {
            None => Sight::Asked,
            Some(None | Some(Decision::Approve)) => Sight::Same,
            Some(Some(_)) => Sight::Changed,
        }
    }
}

/// The ruling on a call that is to be looked at once more.
pub(super) fn looked_at_again(key: CallKey, plan: &mut Plan) {
    plan.rule(key, Ruling::Waits, CYCLE, Some(CHANGED));
}
