//! What was decided about calls, each decision once and when it is made, for a log.
//!
//! Where it is written, and what a call does afterwards, is not known here.

use std::collections::BTreeMap;

use crate::approval::CallKey;

/// What was decided about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// It may run, once.
    Approved,
    /// It waits for the user.
    Waits,
    /// It was refused by a policy.
    Denied,
    /// The user refused it.
    Rejected,
    /// The user wrote the result in its place.
    Answered,
    /// It cannot run, whatever anybody decides.
    Unfit,
    /// The user stopped it, or it before it ran.
    Cancelled,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The call.
    pub call: CallKey,
    /// What.
    pub ruling: Ruling,
    /// A resolver's name, or the user's act.
    pub by: String,
    /// Why, where that does not follow from who; never text from outside.
    pub reason: Option<&'static str>,
}

impl Decided {
    /// By the user's own act.
    pub(super) fn cancelled(call: &CallKey) -> Self {
        Self {
            call: call.clone(),
            ruling: Ruling::Cancelled,
            by: "user: cancel".to_owned(),
            reason: None,
        }
    }
}

/// Who decides when no resolver has an opinion.
pub(super) const DEFAULT: &str = "default";
/// Who decides what no resolver may.
pub(super) const CYCLE: &str = "flemma";
/// What the words of the chat decide, whoever wrote them.
pub(super) const CHAT: &str = "written in the chat";

/// Who approves when the word is typed into the document.
pub(super) const TYPED: &str = "user: typed";
/// Who approves by a key on the call.
pub(super) const POINTED_AT: &str = "user: Alt-Enter";
/// Who approves by a command on all calls that wait.
pub(super) const APPROVED_ALL: &str = "user: approve all";
/// Who refuses by a key or a command on the call.
pub(super) const REFUSED: &str = "user: reject";

/// Whether it was the user who approved, and no rule of theirs; `by` as in
/// [`Decided::by`].
pub fn is_by_hand(by: &str) -> bool {
    [TYPED, POINTED_AT, APPROVED_ALL].contains(&by)
}

/// The decisions of a step.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    fresh: Vec<Decided>,
    /// The last word on each call of this batch: a stale edit is decided on again,
    /// and that is the same decision.
    last: BTreeMap<CallKey, (Ruling, String)>,
}

impl Ledger {
    /// Notes a decision, unless it is the last one on its call.
    pub(super) fn note(&mut self, decided: Decided) {
        let word = (decided.ruling, decided.by.clone());
        let known = self.last.insert(decided.call.clone(), word.clone());
        if known.as_ref() != Some(&word) {
            self.fresh.push(decided);
        }
    }

    /// A batch begins: only about the calls that go on the last word is known.
    pub(super) fn begin(&mut self, goes_on: impl Fn(&CallKey) -> bool) {
        self.last.retain(|call, _| goes_on(call));
    }

    /// The decisions since the last look.
    pub(super) fn take(&mut self) -> Vec<Decided> {
        std::mem::take(&mut self.fresh)
    }
}
