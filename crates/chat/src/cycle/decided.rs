//! Decisions about calls, each logged once, when it is made.
//!
//! Knows neither the log nor what a call does afterwards.

use std::collections::BTreeMap;

use crate::approval::CallKey;

/// Kind of a decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// The call may run once.
    Approved,
    /// The call waits for the user.
    Waits,
    /// A policy denied the call.
    Denied,
    /// The user rejected the call.
    Rejected,
    /// The user wrote the result by hand.
    Answered,
    /// The call can't run at all, for example because of invalid arguments.
    Unfit,
    /// The user cancelled the call while or before it ran.
    Cancelled,
}

/// A decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The call.
    pub call: CallKey,
    /// The decision.
    pub ruling: Ruling,
    /// Name of the resolver, or the user's act.
    pub by: String,
    /// The reason, unless `by` implies it; never foreign text.
    pub reason: Option<&'static str>,
}

impl Decided {
    /// A call cancelled by the user.
    pub(super) fn cancelled(call: &CallKey) -> Self {
        Self {
            call: call.clone(),
            ruling: Ruling::Cancelled,
            by: "user: cancel".to_owned(),
            reason: None,
        }
    }
}

/// `by` if no resolver has an opinion.
pub const DEFAULT: &str = "default";
/// `by` of decisions that no resolver may make.
pub(super) const CYCLE: &str = "flemma";
/// `by` of decisions found in the chat's text, whose author is unknown.
pub(super) const CHAT: &str = "written in the chat";

/// `by` of a status typed into the document.
pub(super) const TYPED: &str = "user: typed";
/// `by` of an approval by key on the call.
pub(super) const POINTED_AT: &str = "user: Alt-Enter";
/// `by` of an approval in a review, where the user may have changed what the call does.
pub const REVIEWED: &str = "user: review";
/// `by` of an approval of all pending calls.
pub(super) const APPROVED_ALL: &str = "user: approve all";
/// `by` of a rejection by key or command.
pub(super) const REFUSED: &str = "user: reject";

/// Returns true if the user approved, rather than a rule; `by` as in [`Decided::by`].
pub fn is_by_hand(by: &str) -> bool {
    [TYPED, POINTED_AT, REVIEWED, APPROVED_ALL].contains(&by)
}

/// Decisions of a step, without repetitions.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    fresh: Vec<Decided>,
    /// The last decision about each call of this batch. A stale edit is planned again,
    /// which must not log its decision twice.
    last: BTreeMap<CallKey, (Ruling, String)>,
}

impl Ledger {
    /// Records a decision unless it equals the last one about its call.
    pub(super) fn note(&mut self, decided: Decided) {
        let word = (decided.ruling, decided.by.clone());
        let known = self.last.insert(decided.call.clone(), word.clone());
        if known.as_ref() != Some(&word) {
            self.fresh.push(decided);
        }
    }

    /// Starts a batch: forgets all calls except those still in progress.
    pub(super) fn begin(&mut self, goes_on: impl Fn(&CallKey) -> bool) {
        // A call in progress may be noted again when it starts.
        self.last.retain(|call, _| goes_on(call));
    }

    /// Takes the decisions recorded since the last call.
    pub(super) fn take(&mut self) -> Vec<Decided> {
        std::mem::take(&mut self.fresh)
    }
}
