//! The journal of a project's checkpoints: one JSON object per line, only ever appended to.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::aside::Aside;
use super::file_state::{FileState, StoredPath};
use super::index::now_ns;
use crate::objects::Hash;

/// Precedes the number in the id of a checkpoint that continues one which was reverted.
const NEXT: char = '.';
/// Most checkpoints that are kept without their changes.
const MOST_REMOVED: usize = 1000;

/// The call that changed files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallLabel {
    /// The chat's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<StoredPath>,
    /// Identifies the open chat, also while it has no file.
    #[serde(default)]
    pub session: String,
    /// Number of the user's message that it follows.
    #[serde(default)]
    pub turn: usize,
    /// The id of the call.
    #[serde(default)]
    pub call: String,
    /// The name of its tool.
    #[serde(default)]
    pub tool: String,
}

/// The checkpoints that a restore reverted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reverted {
    /// Ids of checkpoints.
    pub(super) of: Vec<String>,
    /// True for a redo, which reverts a restore.
    pub(super) redo: bool,
    /// The files that it is about, if not all of these checkpoints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) only: Vec<StoredPath>,
}

/// How far a restore came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Progress {
    /// It changed every file.
    #[default]
    Done,
    /// It may have changed some of its files. Nobody knows more if its program was killed.
    Begun,
}

impl Progress {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    fn is_done(&self) -> bool {
        *self == Self::Done
    }
}

/// A line of the journal. Lines with the same id belong to one checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    pub(super) id: String,
    /// When it was made, in milliseconds since 1970.
    pub(super) at: u64,
    /// The calls that may have made its changes: several if commands overlapped.
    #[serde(default)]
    pub(super) calls: Vec<CallLabel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reverted: Option<Reverted>,
    #[serde(default)]
    pub(super) files: Vec<FileChange>,
    /// Changes by its commands to Git's state and to folders.
    #[serde(default, skip_serializing_if = "Aside::is_empty")]
    pub(super) aside: Aside,
    /// How far the restore with this id is known to have come.
    #[serde(default, skip_serializing_if = "Progress::is_done")]
    pub(super) progress: Progress,
    /// True if the restore with this id failed, and was taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) dropped: bool,
    /// True if its changes were removed to make room for later ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) removed: bool,
    /// True if its program ended before the call, so that its changes were not found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) lost: bool,
}

/// Selects checkpoints by their chat.
#[derive(Debug, Clone)]
pub enum JournalScope {
    /// The checkpoints of one chat, by its file and its session.
    Chat(CallLabel),
    /// All checkpoints of the project.
    Project,
}

/// Checkpoints, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Journal {
    pub(super) checkpoints: Vec<Checkpoint>,
    /// Number of lines that could not be read.
    pub(super) damaged: usize,
}

impl Journal {
    /// Parses the lines of a journal. The last one may be torn by a crash.
    pub(super) fn parse(text: &[u8]) -> Self {
        let mut journal = Self::default();
        let mut places = HashMap::new();
        let mut dropped = HashSet::new();
        let lines = text.split(|byte| *byte == b'\n');
        for line in lines.filter(|it| !it.is_empty()) {
            let Ok(line) = serde_json::from_slice::<Checkpoint>(line) else {
                // A line that a crash tore says nothing about the others.
                journal.damaged += 1;
                continue;
            };
            if line.dropped {
                dropped.insert(line.id);
                continue;
            }
            match places.get(&line.id) {
                Some(at) => journal.add_to(*at, line),
                None => {
                    places.insert(line.id.clone(), journal.checkpoints.len());
                    journal.checkpoints.push(line);
                }
            }
        }
        let checkpoints = &mut journal.checkpoints;
        // After all lines, because the line that drops a restore follows those of the restore.
        checkpoints.retain(|it| !dropped.contains(&it.id));
        journal
    }

    fn add_to(&mut self, at: usize, line: Checkpoint) {
        if let Some(checkpoint) = self.checkpoints.get_mut(at) {
            let more = line.calls.into_iter();
            for call in more {
                if !checkpoint.calls.contains(&call) {
                    checkpoint.calls.push(call);
                }
            }
            checkpoint.files.extend(line.files);
            checkpoint.aside.add(line.aside);
            // The line after the last file.
            checkpoint.progress = line.progress;
        }
    }

    /// The checkpoints with these ids.
    pub(super) fn find<'a>(
        &'a self,
        ids: &'a [String],
    ) -> impl DoubleEndedIterator<Item = &'a Checkpoint> {
        self.checkpoints.iter().filter(|it| ids.contains(&it.id))
    }

    /// The checkpoints of calls whose program may have ended while it made their changes.
    pub(super) fn begun(&self) -> Vec<Checkpoint> {
        let begun = self.checkpoints.iter();
        let begun = begun.filter(|it| it.reverted.is_none() && !it.progress.is_done());
        begun.cloned().collect()
    }

    /// The calls of a scope that are not undone, the oldest first.
    pub(super) fn calls<'a>(&'a self, scope: &JournalScope) -> Vec<&'a Checkpoint> {
        let undone = self.undone();
        let calls = self.checkpoints.iter().filter(|it| it.reverted.is_none());
        let calls = calls.filter(|it| !undone.has(it) && !it.files.is_empty());
        calls.filter(|it| scope.has(it)).collect()
    }

    /// Returns the last undo of a scope that can be redone, because no call has run since.
    pub(super) fn last_undo(&self, scope: &JournalScope) -> Option<&Checkpoint> {
        let undone = self.undone();
        let latest = self.checkpoints.iter().rev().filter(|it| scope.has(it));
        // A call that ran since may have changed the same files, so its changes would be lost.
        let mut latest = latest.take_while(|it| it.reverted.is_some());
        latest.find(|it| {
            let is_undo = it.reverted.as_ref().is_some_and(|it| !it.redo);
            is_undo && !it.removed && !undone.has(it)
        })
    }

    /// Returns the number that a turn had when one of these calls was recorded, which are given
    /// with the numbers of their turns now.
    pub(super) fn recorded_turn(
        &self,
        scope: &JournalScope,
        turn: usize,
        calls: &[(String, usize)],
    ) -> usize {
        let latest = self.checkpoints.iter().rev().filter(|it| scope.has(it));
        let mut labels = latest.flat_map(|it| &it.calls);
        let recorded = labels.find_map(|label| {
            let (_, now) = calls.iter().find(|(id, _)| *id == label.call)?;
            Some((turn + label.turn).saturating_sub(*now))
        });
        recorded.unwrap_or(turn)
    }

    /// The calls of a scope that are not undone and whose changes were removed, the oldest
    /// first.
    pub(super) fn removed<'a>(
        &'a self,
        scope: &JournalScope,
    ) -> impl Iterator<Item = &'a Checkpoint> {
        let undone = self.undone();
        let removed = self.checkpoints.iter();
        let removed = removed.filter(|it| it.removed && it.reverted.is_none() && scope.has(it));
        removed.filter(move |it| !undone.has(it))
    }

    /// Returns the calls of a scope after this checkpoint whose program ended before them.
    pub(super) fn lost_after<'a>(
        &'a self,
        scope: &'a JournalScope,
        checkpoint: Option<&'a Checkpoint>,
    ) -> impl Iterator<Item = &'a CallLabel> {
        let after = self.checkpoints.iter().rev();
        let after = after.take_while(move |it| checkpoint.is_none_or(|first| it.id != first.id));
        let lost = after.filter(|it| it.lost && scope.has(it));
        lost.flat_map(|it| &it.calls)
    }

    /// Returns the id for the next changes of commands whose checkpoint has this id. It is
    /// another one if that was reverted, because what follows is not reverted.
    pub(super) fn next_id(&self, id: &str) -> String {
        let undone = self.undone();
        let mut next = id.to_owned();
        let mut number = 0;
        // The same for each program that has commands with this checkpoint.
        while undone.of(&next).next().is_some() {
            number += 1;
            next = format!("{id}{NEXT}{number}");
        }
        next
    }

    /// Returns true if another restore has reverted one of these files meanwhile.
    pub(super) fn is_undone(&self, reverted: &Reverted) -> bool {
        let undone = self.undone();
        reverted.of.iter().any(|id| {
            let mut files = reverted.only.iter();
            undone.has_whole(id) || files.any(|it| undone.has_file(id, it))
        })
    }

    /// The changes of these checkpoints that are not undone and that a restore is about.
    pub(super) fn changes<'a>(
        &'a self,
        reverted: &'a Reverted,
    ) -> impl Iterator<Item = &'a FileChange> {
        let undone = self.undone();
        let files = self.find(&reverted.of);
        let files = files.flat_map(|it| it.files.iter().map(move |file| (it, file)));
        let files = files.filter(move |(it, file)| {
            reverted.is_about(&file.path) && !undone.has_file(&it.id, &file.path)
        });
        files.map(|(_, file)| file)
    }

    /// Returns the last call of a scope that changed one of these files, and the file.
    pub(super) fn last_of(
        &self,
        scope: &JournalScope,
        files: &[StoredPath],
    ) -> Option<(&Checkpoint, &StoredPath)> {
        let undone = self.undone();
        let calls = self.calls(scope).into_iter().rev();
        let mut found = calls.flat_map(|it| it.files.iter().map(move |file| (it, &file.path)));
        found.find(|(it, path)| files.contains(path) && !undone.has_file(&it.id, path))
    }

    /// Returns true if a restore that did not end may have reverted a part of one of these
    /// checkpoints.
    pub(super) fn is_half_reverted(&self, ids: &[String]) -> bool {
        self.checkpoints.iter().any(|it| {
            let begun = it.reverted.as_ref().filter(|_| !it.progress.is_done());
            begun.is_some_and(|it| it.of.iter().any(|id| ids.contains(id)))
        })
    }

    /// What was reverted, and not restored since. A restore that did not end can be finished and taken
    /// back, so it counts neither for its own direction nor against the other.
    fn undone(&self) -> Undone<'_> {
        let mut undone: Vec<&Reverted> = Vec::new();
        for checkpoint in &self.checkpoints {
            let Some(reverted) = &checkpoint.reverted else {
                continue;
            };
            if reverted.redo {
                // A redo reverts an undo, so the calls of that undo are done again.
                let undos = self.find(&reverted.of);
                let undos: Vec<_> = undos.filter_map(|it| it.reverted.as_ref()).collect();
                undone.retain(|it| !undos.contains(it));
            }
            if checkpoint.progress.is_done() {
                undone.push(reverted);
            }
        }
        Undone(undone)
    }

    /// The contents that checkpoints need.
    pub(super) fn hashes(&self) -> HashSet<Hash> {
        let files = self.checkpoints.iter().flat_map(|it| &it.files);
        let file_states = files.flat_map(|it| [&it.before, &it.after]);
        file_states.filter_map(FileState::hash).collect()
    }

    /// Removes the changes of the oldest turn. Its calls stay for a while, so that a restore
    /// can say what it lacks. Returns false if no turn has changes.
    pub(super) fn remove_oldest_turn(&mut self) -> bool {
        let turn = |it: &Checkpoint| {
            // A checkpoint of commands that overlapped counts for the turn of the first one.
            let call = it.calls.first();
            call.map(|it| (it.chat.clone(), it.session.clone(), it.turn))
        };
        let mut left = self.checkpoints.iter().filter(|it| !it.removed);
        let Some(oldest) = left.next().map(turn) else {
            return false;
        };
        for checkpoint in &mut self.checkpoints {
            if turn(checkpoint) == oldest {
                checkpoint.files.clear();
                checkpoint.removed = true;
            }
        }
        let removed = self.checkpoints.iter().filter(|it| it.removed).count();
        let mut forgotten = removed.saturating_sub(MOST_REMOVED);
        self.checkpoints.retain(|it| {
            let stays = !it.removed || forgotten == 0;
            forgotten -= usize::from(!stays);
            stays
        });
        true
    }
}

impl Checkpoint {
    /// Returns true if it is the checkpoint with this id or one that [`Journal::next_id`] derived.
    pub(super) fn continues(&self, id: &str) -> bool {
        let rest = self.id.strip_prefix(id);
        rest.is_some_and(|it| it.is_empty() || it.starts_with(NEXT))
    }

    /// Returns true if one of its calls has one of these ids, or is of this or a later turn.
    pub(super) fn is_since(&self, turn: usize, calls: &[(String, usize)]) -> bool {
        let mut labels = self.calls.iter();
        labels.any(|it| it.turn >= turn || calls.iter().any(|(id, _)| *id == it.call))
    }
}

impl JournalScope {
    fn has(&self, checkpoint: &Checkpoint) -> bool {
        let Self::Chat(chat) = self else {
            return true;
        };
        checkpoint.calls.iter().any(|it| {
            // A chat keeps its session when its file is renamed, and its file when it is opened
            // again.
            let same_session = !chat.session.is_empty() && it.session == chat.session;
            same_session || it.chat.is_some() && it.chat == chat.chat
        })
    }
}

impl CallLabel {
    /// The chat's file.
    pub fn chat_path(&self) -> Option<&Path> {
        self.chat.as_ref().map(StoredPath::path)
    }
}

// A change of a file in the journal.

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::checkpoints) struct FileChange {
    pub(in crate::checkpoints) path: StoredPath,
    pub(in crate::checkpoints) before: FileState,
    pub(in crate::checkpoints) after: FileState,
    /// Number of folders above it that did not exist before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(in crate::checkpoints) made: usize,
    /// When it was made. Several programs that compare the project may find the same change of
    /// commands, or parts of it.
    #[serde(default)]
    pub(in crate::checkpoints) span: Span,
    /// True for a change of text that was not saved, so that the file on disk stayed as it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::checkpoints) unsaved: bool,
}

/// The time between two looks at a file, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::checkpoints) struct Span {
    pub(in crate::checkpoints) from: i64,
    pub(in crate::checkpoints) until: i64,
}

impl FileChange {
    /// A change of a saved file just now, whose folders existed before.
    pub(in crate::checkpoints) fn new(
        path: StoredPath,
        before: FileState,
        after: FileState,
    ) -> Self {
        let now = now_ns();
        Self {
            path,
            before,
            after,
            made: 0,
            span: Span {
                from: now,
                until: now,
            },
            unsaved: false,
        }
    }

    /// Why no checkpoint has the file before or after, if none has.
    pub(in crate::checkpoints) fn lack(&self) -> Option<&str> {
        self.before.lack().or(self.after.lack())
    }

    /// Returns true for a change of a file that no checkpoint holds.
    pub(in crate::checkpoints) fn is_rewritten(&self) -> bool {
        self.before == self.after && self.after.lack().is_some()
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The restores that are in effect.
struct Undone<'j>(Vec<&'j Reverted>);

impl Undone<'_> {
    /// The restores of a checkpoint, or of files of it.
    fn of(&self, id: &str) -> impl Iterator<Item = &Reverted> {
        let is_of = move |it: &&Reverted| it.of.iter().any(|it| it == id);
        self.0.iter().copied().filter(is_of)
    }

    fn has_file(&self, id: &str, path: &StoredPath) -> bool {
        self.of(id).any(|it| it.is_about(path))
    }

    /// Returns true if all of a checkpoint was reverted by one restore.
    fn has_whole(&self, id: &str) -> bool {
        self.of(id).any(|it| it.only.is_empty())
    }

    /// Returns true if nothing of a checkpoint is left to revert.
    fn has(&self, Checkpoint { id, files, .. }: &Checkpoint) -> bool {
        let is_rest = !files.is_empty() && files.iter().all(|it| self.has_file(id, &it.path));
        self.has_whole(id) || is_rest
    }
}

impl Reverted {
    fn is_about(&self, path: &StoredPath) -> bool {
        self.only.is_empty() || self.only.contains(path)
    }
}
