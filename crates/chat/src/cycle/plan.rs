//! The plan of one step, computed before any part of it is carried out.

use serde_json::Value;

use super::decided::DEFAULT;
use super::{Decided, Effect, Ruling};
use crate::approval::{CallKey, Function, Question};
use crate::document::PairedCall;
use crate::tool::ToolUseId;
use crate::write::TextEdit;

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
    /// Whether the user wrote a result by hand, which stops automatic sending.
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
    /// Whether the user chose this particular call.
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
