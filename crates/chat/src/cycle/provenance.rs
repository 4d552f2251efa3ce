//! Where calls and approvals come from: this session, or a file.
//!
//! The act counts, not the text. An approval by hand is a change, seen in this session,
//! of the status of a placeholder that stood here undecided. An `approved` that arrives
//! in any other way approves nothing, a decision is spent once, and one that was made
//! for other arguments is none.

use std::collections::{BTreeMap, BTreeSet};

use super::change::StatusChange;
use super::classify;
use super::decided::TYPED;
use crate::approval::CallKey;
use crate::document::{Call, Document, Status, ToolUse};
use crate::origin::Origins;
use crate::tool::ToolUseId;

/// What this session knows about calls and approvals.
#[derive(Debug, Default)]
pub(super) struct Provenance {
    /// Calls that a provider issued to this session.
    recorded: BTreeSet<CallKey>,
    /// Calls whose placeholder was undecided right before the last change.
    undecided: BTreeSet<ToolUseId>,
    /// Approvals that stand in the text, and for what they were given.
    approved: BTreeMap<ToolUseId, Approval>,
    /// Calls that ran; their approval is spent.
    spent: BTreeSet<CallKey>,
    /// Unanswered calls whose placeholder is in the text, or was there and
    /// removed.
    placed: BTreeSet<ToolUseId>,
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

/// Why a policy may not approve a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unrecognized {
    /// Neither a model made it in this session, nor did the user type it.
    Foreign,
    /// A model made it with other arguments.
    Altered,
}

impl Unrecognized {
    /// The message to the user about such a call.
    pub(super) fn notice(self, id: &ToolUseId) -> String {
        match self {
            Self::Foreign => format!(
                "The call \"{id}\" was neither made by a model in this session nor typed here, so it waits for your \
                 review."
            ),
            Self::Altered => format!(
                "The call \"{id}\" was changed after the model made it, so it waits for your review."
            ),
        }
    }

    /// The same for a log.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Foreign => "it was neither made in this session nor typed here",
            Self::Altered => "it was changed after the model made it",
        }
    }
}

impl Provenance {
    /// The text was read from a file: no approval in it counts.
    pub(super) fn loaded(&mut self, document: &Document<'_>) {
        self.approved.clear();
        self.observe(document, None);
    }

    /// Notes which placeholders are undecided before a change.
    pub(super) fn stands(&mut self, document: &Document<'_>) {
        let turns = document.unanswered_turns();
        let calls = turns.flat_map(|turn| turn.calls);
        let undecided = calls.filter(|call| call.status() == Some(Status::Pending));
        self.undecided = undecided.map(|call| call.tool_use.id.clone()).collect();
    }

    /// The text is as it is now: notes approvals that came and went. Only `change` can
    /// have brought one that counts.
    pub(super) fn observe(
        &mut self,
        document: &Document<'_>,
        change: Option<(&StatusChange, &Origins)>,
    ) {
        let mut standing = BTreeSet::new();
        let mut placed = BTreeSet::new();
        let turns = document.unanswered_turns();
        for call in turns.flat_map(|turn| turn.calls) {
            let id = &call.tool_use.id;
            // A call whose result was deleted is to run again, which is no surprise.
            if call.status().is_some() || call.result.is_none() && self.placed.contains(id) {
                placed.insert(id.clone());
            }
            if call.status() != Some(Status::Approved) {
                continue;
            }
            standing.insert(id.clone());
            if !self.approved.contains_key(id) {
                let key = classify::key(document, call.tool_use);
                let valid = change
                    .is_some_and(|(it, origins)| self.is_by_hand(it, document, &call, origins));
                let valid = valid && !self.spent.contains(&key);
                self.note(key, valid);
            }
        }
        self.approved.retain(|id, _| standing.contains(id));
        self.placed = placed;
    }

    /// Whether the placeholder of this call, which has none, was removed.
    pub(super) fn lost_placeholder(&self, id: &ToolUseId) -> bool {
        self.placed.contains(id)
    }

    /// The user has had the message that the placeholder of this call was removed.
    pub(super) fn forget_placeholder(&mut self, id: &ToolUseId) {
        self.placed.remove(id);
    }

    /// Whether a change is the user's act on the status of a call: it is in the place of an
    /// undecided one, or was typed.
    fn is_by_hand(
        &self,
        change: &StatusChange,
        document: &Document<'_>,
        call: &Call<'_>,
        origins: &Origins,
    ) -> bool {
        let Some(result) = call.result.filter(|_| change.by_hand) else {
            return false;
        };
        let fence = result.body.start.saturating_sub(1);
        // Other tools write the status behind the header.
        let status = match super::change::is_fence(document.text().line(fence)) {
            true => fence,
            false => result.lines.start,
        };
        let changed = |line: usize| change.lines.iter().any(|it| it.contains(&line));
        if !changed(status) {
            return false;
        }
        if change.typed && !origins.is_foreign(&(status..status + 1)) {
            return true;
        }
        // The text in the fence decides nothing; the placeholder must have been there.
        let mut others = (result.lines.start..fence + 1).chain(call.tool_use.lines.clone());
        let in_place = change.tight && !others.any(|it| it != status && changed(it));
        in_place && self.undecided.contains(&call.tool_use.id)
    }

    fn note(&mut self, call: CallKey, valid: bool) {
        let by = TYPED.to_owned();
        self.approved
            .insert(call.id.clone(), Approval { call, valid, by });
    }

    pub(super) fn record(&mut self, call: CallKey) {
        self.recorded.insert(call);
    }

    /// Why a policy may not approve this call; nothing when it may, because it was
    /// issued to this session or typed in it.
    pub(super) fn unrecognized(
        &self,
        key: &CallKey,
        call: &ToolUse,
        origins: &Origins,
    ) -> Option<Unrecognized> {
        if self.recorded.contains(key) || !origins.is_foreign(&call.lines) {
            return None;
        }
        let is_known = self.recorded.iter().any(|it| it.id == key.id);
        Some(if is_known {
            Unrecognized::Altered
        } else {
            Unrecognized::Foreign
        })
    }

    /// Whether the `approved` that stands for this call counts.
    pub(super) fn is_approved(&self, call: &CallKey) -> bool {
        self.approved
            .get(&call.id)
            .is_some_and(|approval| approval.valid && approval.call == *call)
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
