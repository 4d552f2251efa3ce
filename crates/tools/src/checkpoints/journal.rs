//! The journal of a project's checkpoints: one JSON object per line, only ever appended to.

mod change;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(super) use self::change::{FileChange, Span};
use super::image::{Image, Name};
use super::objects::Hash;

/// Nanoseconds of a millisecond.
const MILLISECOND: i64 = 1_000_000;
/// Precedes the number in the id of a checkpoint that continues one which was reverted.
const NEXT: char = '.';
/// Most checkpoints that are kept without their changes.
const MOST_REMOVED: usize = 1000;

/// The call that changed files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallLabel {
    /// The chat's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<Name>,
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

/// The lines of a journal; `None` for one that is damaged.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = Option<Checkpoint>> {
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter(|it| !it.is_empty());
    lines.map(|it| serde_json::from_slice(it).ok())
}

impl Journal {
    /// Parses the lines of a journal. The last one may be torn by a crash.
    pub(super) fn parse(text: &[u8]) -> Self {
        let mut journal = Self::default();
        let mut places = HashMap::new();
        let mut dropped = HashSet::new();
        for line in lines(text) {
            let Some(line) = line else {
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
        }
    }

    /// The checkpoints with these ids.
    pub(super) fn find<'a>(
        &'a self,
        ids: &'a [String],
    ) -> impl DoubleEndedIterator<Item = &'a Checkpoint> {
        self.checkpoints.iter().filter(|it| ids.contains(&it.id))
    }

    /// The calls of a scope that are not undone, the oldest first.
    pub(super) fn calls<'a>(&'a self, scope: &JournalScope) -> Vec<&'a Checkpoint> {
        let undone = self.undone();
        let calls = self.checkpoints.iter().filter(|it| it.reverted.is_none());
        let calls = calls.filter(|it| !undone.contains(&*it.id) && !it.files.is_empty());
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
            is_undo && !it.removed && !undone.contains(&*it.id)
        })
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
        removed.filter(move |it| !undone.contains(&*it.id))
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
        while undone.contains(&*next) {
            number += 1;
            next = format!("{id}{NEXT}{number}");
        }
        next
    }

    /// Returns true if one of these checkpoints was reverted.
    pub(super) fn is_undone(&self, ids: &[String]) -> bool {
        let undone = self.undone();
        ids.iter().any(|id| undone.contains(&**id))
    }

    /// The checkpoints that were reverted, and not restored since.
    fn undone(&self) -> HashSet<&str> {
        let mut undone = HashSet::new();
        for reverted in self
            .checkpoints
            .iter()
            .filter_map(|it| it.reverted.as_ref())
        {
            let ids = reverted.of.iter().map(String::as_str);
            undone.extend(ids);
            if reverted.redo {
                // A redo reverts an undo, so the calls of that undo are done again.
                let undos = self.find(&reverted.of);
                let undos = undos.filter_map(|it| it.reverted.as_ref());
                undos.flat_map(|it| &it.of).for_each(|id| {
                    undone.remove(&**id);
                });
            }
        }
        undone
    }

    /// The contents that checkpoints need.
    pub(super) fn hashes(&self) -> HashSet<Hash> {
        let files = self.checkpoints.iter().flat_map(|it| &it.files);
        let images = files.flat_map(|it| [&it.before, &it.after]);
        images.filter_map(Image::hash).collect()
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
    /// The end of the millisecond in which it was made, in nanoseconds since 1970.
    pub(super) fn end(&self) -> i64 {
        let at = i64::try_from(self.at).unwrap_or(i64::MAX);
        at.saturating_add(1).saturating_mul(MILLISECOND)
    }

    /// Whether it is the checkpoint with this id or one that [`Journal::next_id`] derived.
    pub(super) fn continues(&self, id: &str) -> bool {
        let rest = self.id.strip_prefix(id);
        rest.is_some_and(|it| it.is_empty() || it.starts_with(NEXT))
    }

    /// Whether one of its calls has one of these ids, or is of this or a later turn.
    pub(super) fn is_since(&self, turn: usize, calls: &[String]) -> bool {
        let mut labels = self.calls.iter();
        labels.any(|it| it.turn >= turn || calls.contains(&it.call))
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
        self.chat.as_ref().map(Name::path)
    }
}
