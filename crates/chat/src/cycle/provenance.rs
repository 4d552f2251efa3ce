//! Where calls and approvals come from: this session, or a file.
//!
//! The act counts, not the text. An `approved` that was in the text when it was
//! read approves nothing, a decision is spent once, and one that was made for
//! other arguments is none.

use std::collections::{BTreeMap, BTreeSet};

use super::decided::TYPED;
use super::judge;
use crate::approval::CallKey;
use crate::document::{Document, Status};
use crate::tool::ToolUseId;

/// What this session knows about calls and approvals.
#[derive(Debug, Default)]
pub(super) struct Provenance {
    /// Ids of the calls that stood in the text when it was read.
    loaded: BTreeSet<ToolUseId>,
    /// Calls that a provider issued to this session.
    recorded: BTreeSet<CallKey>,
    /// Approvals that stand in the text, and for what they were given.
    approved: BTreeMap<ToolUseId, Approval>,
    /// Calls that ran; their approval is spent.
    spent: BTreeSet<CallKey>,
    /// Calls whose `approved` did not count: the word is not taken from an undo.
    refused: BTreeSet<CallKey>,
}

/// An `approved` in the text.
#[derive(Debug)]
struct Approval {
    /// The call as it was when the word first stood there.
    call: CallKey,
    /// Whether the word was written in this session and not spent since.
    valid: bool,
    /// Who approved: a resolver's name, or an act of the user.
    by: String,
}

impl Provenance {
    /// The text was read from a file: what it says about itself is not trusted.
    pub(super) fn loaded(&mut self, document: &Document<'_>) {
        self.loaded.clear();
        self.approved.clear();
        for turn in document.turns() {
            for call in &turn.calls {
                self.loaded.insert(call.tool_use.id.clone());
                if call.status() == Some(Status::Approved) {
                    let key = judge::key(document, call.tool_use);
                    self.approved.insert(
                        key.id.clone(),
                        Approval {
                            call: key,
                            valid: false,
                            by: TYPED.to_owned(),
                        },
                    );
                }
            }
        }
    }

    /// The text is as it is now: notes approvals that came and went.
    pub(super) fn observe(&mut self, document: &Document<'_>) {
        let mut standing = BTreeSet::new();
        for turn in document.unanswered_turns() {
            for call in turn
                .calls
                .iter()
                .filter(|call| call.status() == Some(Status::Approved))
            {
                let id = &call.tool_use.id;
                standing.insert(id.clone());
                if !self.approved.contains_key(id) {
                    let call = judge::key(document, call.tool_use);
                    let valid = !self.spent.contains(&call);
                    let by = TYPED.to_owned();
                    self.approved
                        .insert(id.clone(), Approval { call, valid, by });
                }
            }
        }
        self.approved.retain(|id, _| standing.contains(id));
    }

    pub(super) fn record(&mut self, call: CallKey) {
        self.recorded.insert(call);
    }

    /// Whether a policy may approve this call: it was issued to this session, or
    /// written in it.
    pub(super) fn is_recognized(&self, call: &CallKey) -> bool {
        !self.loaded.contains(&call.id) || self.recorded.contains(call)
    }

    /// Whether the `approved` that stands for this call counts.
    pub(super) fn is_approved(&self, call: &CallKey) -> bool {
        self.approved
            .get(&call.id)
            .is_some_and(|approval| approval.valid && approval.call == *call)
    }

    /// The `approved` that stands for this call does not count and is set back.
    pub(super) fn refuse(&mut self, call: &CallKey) {
        self.refused.insert(call.clone());
    }

    /// The text was brought back by an undo: a word that did not count before does
    /// not count now, because nobody typed it.
    pub(super) fn undone(&mut self) {
        for approval in self.approved.values_mut() {
            approval.valid &= !self.refused.contains(&approval.call);
        }
    }

    /// Who approved the call.
    pub(super) fn approved_by(&self, call: &CallKey) -> String {
        self.approved
            .get(&call.id)
            .map_or_else(String::new, |approval| approval.by.clone())
    }

    /// A decision was made now, by policy or by the user: it counts once.
    pub(super) fn decide(&mut self, call: &CallKey, by: &str) {
        self.spent.remove(call);
        self.approved.insert(
            call.id.clone(),
            Approval {
                call: call.clone(),
                valid: true,
                by: by.to_owned(),
            },
        );
    }

    /// The call starts: its decision is spent.
    pub(super) fn spend(&mut self, call: &CallKey) {
        self.spent.insert(call.clone());
    }

    /// Whether the call ran and no decision was made about it since. A new
    /// `approved` in the text is none: undo writes that as well.
    pub(super) fn is_spent(&self, call: &CallKey) -> bool {
        self.spent.contains(call)
    }
}
