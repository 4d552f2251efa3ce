//! Tracks whether calls and approvals come from this session or from a file.
//!
//! The user's action counts, not the text. A manual approval is an observed change
//! of an undecided placeholder's status. An `approved` that appears in any other way
//! approves nothing. Each decision is used once and applies only to the arguments it was
//! made for.
//!
//! Each text change is recorded: which lines were typed in this session, and which placeholders
//! the user decided by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::event::TYPED;
use super::{Cycle, classify};
use crate::approval::CallKey;
use crate::document::{Document, PairedCall, Status, ToolUseBlock};
use crate::origin::{ChangeSource, Origins};
use crate::text::{Lines, Text};
use crate::tool::ToolUseId;

/// Origin of the calls and approvals in a chat.
#[derive(Debug, Default)]
pub(super) struct Provenance {
    /// Calls that a provider issued to this session.
    recorded: BTreeSet<CallKey>,
    /// Calls whose placeholder was undecided right before the last change.
    undecided: BTreeSet<ToolUseId>,
    /// Approvals in the text, by call.
    approved: BTreeMap<ToolUseId, Approval>,
    /// Calls that ran and whose approval is used up.
    spent: BTreeSet<CallKey>,
    /// Unanswered calls that have a placeholder, or had one that was removed.
    placed: BTreeSet<ToolUseId>,
}

/// An `approved` in the text.
#[derive(Debug)]
struct Approval {
    /// The call as it was when the approval was first seen.
    call: CallKey,
    /// True if the approval was made in this session and not used since.
    valid: bool,
    /// Name of the resolver, or the user's act.
    by: String,
}

/// Why a policy may not approve a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unrecognized {
    /// Neither issued by a provider nor typed by the user in this session.
    Foreign,
    /// Issued by a provider with other arguments.
    Altered,
}

impl Unrecognized {
    /// Returns the notice for the user.
    pub(super) fn notice(self, id: &ToolUseId) -> String {
        match self {
            Self::Foreign => format!(
                "The call \"{id}\" was neither made by a model in this session nor typed here, so it needs your \
                 approval."
            ),
            Self::Altered => format!(
                "The call \"{id}\" was changed after the model made it, so it needs your approval."
            ),
        }
    }

    /// Returns the reason for the log.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Foreign => "it was neither made in this session nor typed here",
            Self::Altered => "it was changed after the model made it",
        }
    }
}

impl Provenance {
    /// Resets the state after a file was read: no approval in the text counts.
    pub(super) fn loaded(&mut self, document: &Document<'_>) {
        self.approved.clear();
        self.observe(document, None);
    }

    /// Records which placeholders are pending before a change.
    pub(super) fn note_undecided(&mut self, document: &Document<'_>) {
        let turns = document.unanswered_turns();
        let calls = turns.flat_map(|turn| turn.calls);
        let undecided = calls.filter(|call| call.status() == Some(Status::Pending));
        self.undecided = undecided.map(|call| call.tool_use.id.clone()).collect();
    }

    /// Records approvals that appeared or disappeared. Only `change` can have brought one
    /// that counts.
    pub(super) fn observe(
        &mut self,
        document: &Document<'_>,
        change: Option<(&StatusChange, &Origins)>,
    ) {
        let mut present = BTreeSet::new();
        let mut placed = BTreeSet::new();
        let turns = document.unanswered_turns();
        for call in turns.flat_map(|turn| turn.calls) {
            let id = &call.tool_use.id;
            // If the user deleted the whole result, running the call again is expected.
            if call.status().is_some() || call.result.is_none() && self.placed.contains(id) {
                placed.insert(id.clone());
            }
            if call.status() != Some(Status::Approved) {
                continue;
            }
            present.insert(id.clone());
            if !self.approved.contains_key(id) {
                let key = classify::key(document, call.tool_use);
                let valid = change
                    .is_some_and(|(it, origins)| self.is_by_hand(it, document, &call, origins));
                // Undo restores an `approved` that was already used.
                let valid = valid && !self.spent.contains(&key);
                self.note(key, valid);
            }
        }
        self.approved.retain(|id, _| present.contains(id));
        self.placed = placed;
    }

    /// Returns true if this call had a placeholder that was removed.
    pub(super) fn lost_placeholder(&self, id: &ToolUseId) -> bool {
        self.placed.contains(id)
    }

    /// Forgets a removed placeholder once the user has been notified.
    pub(super) fn forget_placeholder(&mut self, id: &ToolUseId) {
        self.placed.remove(id);
    }

    /// Returns true if a change is the user's decision about a call: it replaces an
    /// undecided status, or was typed.
    fn is_by_hand(
        &self,
        change: &StatusChange,
        document: &Document<'_>,
        call: &PairedCall<'_>,
        origins: &Origins,
    ) -> bool {
        let Some(result) = call.result.filter(|_| change.by_hand) else {
            return false;
        };
        let fence = result.body.start.saturating_sub(1);
        // Other tools write the status after the header instead of into the fence.
        let status = if is_fence(document.text().line(fence)) {
            fence
        } else {
            result.lines.start
        };
        let changed = |line: usize| change.lines.iter().any(|it| it.contains(&line));
        if !changed(status) {
            return false;
        }
        // Keys typed the status, wherever it was before.
        if change.typed && !origins.is_foreign(&(status..status + 1)) {
            return true;
        }
        // Text inside the fence may change too, but the placeholder must have existed
        // before.
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

    /// Returns why a policy may not approve this call; `None` if it was issued or typed in
    /// this session.
    pub(super) fn unrecognized(
        &self,
        key: &CallKey,
        call: &ToolUseBlock,
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

    /// Returns true if the `approved` of this call counts.
    pub(super) fn is_approved(&self, call: &CallKey) -> bool {
        self.approved
            .get(&call.id)
            .is_some_and(|approval| approval.valid && approval.call == *call)
    }

    /// Returns the approver of the call.
    pub(super) fn approved_by(&self, call: &CallKey) -> String {
        self.approved
            .get(&call.id)
            .map_or_else(String::new, |approval| approval.by.clone())
    }

    /// Records a decision by a policy or the user, valid for one run.
    pub(super) fn decide(&mut self, call: &CallKey, by: &str) {
        // A new decision allows the call to run once more.
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

    /// Marks the call's approval as used.
    pub(super) fn spend(&mut self, call: &CallKey) {
        self.spent.insert(call.clone());
    }

    /// Lets the call be approved again after a run that ended without a result.
    pub(super) fn reopen(&mut self, call: &CallKey) {
        self.spent.remove(call);
    }

    /// Returns true if the call ran and was not decided on since. A new `approved` in the
    /// text is not a decision: undo restores it too.
    pub(super) fn is_spent(&self, call: &CallKey) -> bool {
        self.spent.contains(call)
    }
}

/// Marks the opening line of a placeholder's fence.
const STATUS: &[u8] = b"flemma:tool";

/// Start of a result's header; the status may follow it.
const HEADER: &[u8] = b"**Tool Result:**";

/// A change to the fence of a placeholder.
#[derive(Debug)]
pub(super) struct StatusChange {
    /// The new lines, numbered as after the change.
    pub(super) lines: Vec<Lines>,
    /// True if it came from the editor and was neither undo nor redo.
    pub(super) by_hand: bool,
    /// True if keys typed it.
    pub(super) typed: bool,
    /// True if its first and last lines differ from the old ones, as after `:s`. A pasted block
    /// repeats lines that were there before.
    pub(super) tight: bool,
}

/// Returns true if a line opens a placeholder's fence.
fn is_fence(line: &[u8]) -> bool {
    memchr::memmem::find(line, STATUS).is_some()
}

impl Cycle {
    /// Marks the whole text as read from a file: nothing it says about itself is trusted.
    pub fn text_read(&mut self, text: &Text) {
        self.origins = Origins::read(text);
    }

    /// Marks the whole text as typed by the user.
    pub fn text_typed(&mut self) {
        self.origins = Origins::default();
    }

    /// Announces that `new` is about to replace `lines` of `text`; see
    /// [`Cycle::has_change`].
    pub fn changing<L: AsRef<[u8]>>(
        &mut self,
        text: &Text,
        lines: &Lines,
        new: &[L],
        source: ChangeSource,
    ) {
        let difference = self.origins.splice(text, lines, new, source);
        // A status may be in the fence or in the header.
        let is_status = |line: &[u8]| is_fence(line) || line.starts_with(HEADER);
        let old = |hunk: &Lines| hunk.clone().any(|it| is_status(text.line(it)));
        let new = |hunk: &Lines| {
            let lines = hunk.start - lines.start..hunk.end - lines.start;
            new[lines].iter().any(|it| is_status(it.as_ref()))
        };
        // Most changes touch no placeholder and need no comparison of approvals.
        let touches = difference
            .hunks
            .iter()
            .any(|(from, to)| old(from) || new(to));
        let (first, last) = (difference.hunks.first(), difference.hunks.last());
        let begins = first.is_some_and(|(from, _)| from.start == lines.start);
        let ends = last.is_some_and(|(from, _)| from.end == lines.end);
        self.change = touches.then(|| StatusChange {
            tight: begins && ends,
            lines: difference.hunks.into_iter().map(|(_, to)| to).collect(),
            by_hand: matches!(source, ChangeSource::Editor { .. }),
            typed: difference.typed,
        });
    }

    /// Returns true if the announced change touches a placeholder. Call [`Cycle::note_undecided`]
    /// before such a change is made and [`Cycle::changed`] after it.
    pub fn has_change(&self) -> bool {
        self.change.is_some()
    }

    /// Records which calls are undecided before the announced change.
    pub fn note_undecided(&mut self, document: &Document<'_>) {
        self.provenance.note_undecided(document);
    }

    /// Completes the announced change. An approval applies to the arguments at this moment,
    /// not to later ones.
    pub fn changed(&mut self, document: &Document<'_>) {
        let change = self.change.take();
        let change = change.as_ref().map(|it| (it, &self.origins));
        self.provenance.observe(document, change);
        // Weak, because the document is as large as the chat.
        self.observed = Arc::downgrade(&document.parsed());
    }

    /// Returns true if all of these lines were typed in this session, or are trusted.
    pub fn are_typed(&self, text: &Text, lines: Lines) -> bool {
        self.origins.are_typed(text, lines)
    }

    /// Treats these lines as typed from now on, because the user trusts them.
    pub fn agree(&mut self, text: &Text, lines: Lines) {
        self.origins.agree(text, lines);
    }
}
