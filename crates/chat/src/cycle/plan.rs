//! What one look at the document asks for, before anything of it is done.

use serde_json::Value;

use super::decided::DEFAULT;
use super::{Decided, Effect, Ruling};
use crate::approval::{CallKey, Question};
use crate::document::Call;
use crate::tool::ToolUseId;
use crate::write::TextEdit;

/// What one look at the document asks for.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) edits: Vec<TextEdit>,
    pub(super) notices: Vec<Effect>,
    pub(super) questions: Vec<Question>,
    /// Calls that are decided and may run.
    pub(super) ready: Vec<CallKey>,
    /// Calls whose decision was made just now.
    pub(super) decided: Vec<(CallKey, String)>,
    /// Whether the user wrote a result by hand, which pauses the cycle.
    pub(super) by_hand: bool,
    /// Calls that get a placeholder again because theirs was removed.
    pub(super) replaced: Vec<ToolUseId>,
    /// What was decided about calls that do not run.
    pub(super) rulings: Vec<Decided>,
}

/// A call that can run, and what the user did with it.
pub(super) struct Candidate<'a> {
    /// The call's identity.
    pub key: CallKey,
    /// The call in the document.
    pub call: Call<'a>,
    /// Its arguments, completed and checked.
    pub input: Value,
    /// The words behind `flemma:tool` in its placeholder; empty without one.
    pub words: String,
    /// Whether the user chose this very call.
    pub by_user: bool,
}

impl Plan {
    /// The call may run, once: calls with equal keys are the same act.
    pub(super) fn approve(&mut self, call: CallKey) {
        if !self.ready.contains(&call) {
            self.ready.push(call);
        }
    }

    /// Something was decided by which the call does not run now.
    pub(super) fn rule(
        &mut self,
        call: CallKey,
        ruling: Ruling,
        by: &str,
        reason: Option<&'static str>,
    ) {
        let by = if by.is_empty() { DEFAULT } else { by }.to_owned();
        self.rulings.push(Decided {
            call,
            ruling,
            by,
            reason,
        });
    }
}
