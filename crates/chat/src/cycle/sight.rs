//! Checks that the target of a call is unchanged since the user saw it.
//!
//! The host compares the file with what was shown; this module only asks. A policy approves
//! without looking at the file, so its approvals are not checked.

use serde_json::Value;

use super::decided::CYCLE;
use super::plan::{Candidate, Plan};
use super::{Cycle, Options, Ruling, categorize};
use crate::approval::{self, CallKey, Decision, Function, FunctionId, Verdict};
use crate::document::Status;
use crate::write::{self, BlockLines};

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
                    return Some(categorize::deny(key, &meant, &by, options, plan));
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
