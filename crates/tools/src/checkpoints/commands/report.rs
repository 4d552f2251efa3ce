//! What a command did, for its checkpoint and its result.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use platform::paths;

use super::others::OtherChanges;
use super::{Group, ignored, registry};
use crate::checkpoints::aside::Aside;
use crate::checkpoints::index::{Folders, IgnoredChanges};
use crate::checkpoints::journal::{CallLabel, FileChange};
use crate::checkpoints::recorder::Recording;
use crate::checkpoints::store::Store;

/// What was found when a command ended.
#[derive(Default)]
pub(super) struct Ended {
    pub(super) group: Group,
    pub(super) changes: Vec<FileChange>,
    /// What other calls changed meanwhile.
    pub(super) others: OtherChanges,
    pub(super) ignored: IgnoredChanges,
    /// Folders that no restore makes as they were.
    pub(super) folders: Folders,
    /// Why the changes were not found.
    pub(super) lost: Option<String>,
}

impl Ended {
    /// Whether there is anything to record or to report.
    pub(super) fn has_news(&self) -> bool {
        let IgnoredChanges { files, unseen } = &self.ignored;
        let Folders { new, gone } = &self.folders;
        let is_seen = !self.changes.is_empty() || !files.is_empty() || !unseen.is_empty();
        is_seen || !new.is_empty() || !gone.is_empty() || self.lost.is_some()
    }
}

/// A command that has ended.
pub(super) struct Report<'a> {
    pub(super) recording: &'a Recording,
    pub(super) store: &'a Store,
    pub(super) ended: Ended,
    /// What it did beside files.
    pub(super) aside: Aside,
}

impl Report<'_> {
    /// Adds what changed to the checkpoint, and reports what did not.
    pub(super) fn make(mut self) {
        let Ended { group, .. } = &self.ended;
        let chats = group.labels.iter().filter_map(CallLabel::chat_path);
        // The session itself writes chats while their commands run. What the user saved
        // meanwhile is not the command's change, so an undo must not revert it.
        let chats: HashSet<PathBuf> = chats.map(Path::to_owned).collect();
        let notes = registry::notes_since(self.store, group.since).into_iter();
        let saved = notes.filter(|(.., seen)| seen.is_none());
        let saved = saved.map(|(path, ..)| path.0).collect();
        self.report_ignored(&chats, &saved);
        if let Some(why) = &self.ended.lost {
            self.recording.remark(format!(
                ":Flemma undo cannot restore what this command changed: {why}."
            ));
        }
        let changes = std::mem::take(&mut self.ended.changes).into_iter();
        let changes = changes.filter(|it| !chats.contains(&it.path.0));
        let (of_user, changes): (Vec<FileChange>, Vec<FileChange>) =
            changes.partition(|it| saved.contains(&it.path.0));
        for FileChange { path, .. } in of_user {
            self.report_saved(&path.0);
        }
        if !changes.is_empty() {
            return self.record(changes);
        }
        // An undo is about the call before, and says nothing of this one.
        for remark in self.aside.about_repositories(&self.store.root) {
            self.recording.remark(format!(
                ":Flemma undo does not change repositories. {remark}"
            ));
        }
    }

    fn report_ignored(&self, chats: &HashSet<PathBuf>, saved: &HashSet<PathBuf>) {
        let Ended {
            changes,
            ignored,
            others,
            ..
        } = &self.ended;
        let explained = [chats, saved].into_iter().flatten().chain(others.paths());
        // A file that became ignored only now has a checkpoint.
        let explained = explained.chain(changes.iter().map(|it| &it.path.0));
        let explained = explained.cloned().collect();
        if let Some(words) = ignored::describe(ignored, &explained, &self.store.root) {
            self.recording.report_ignored(words.text, words.names);
        }
    }

    fn report_saved(&self, path: &Path) {
        // Flemma saves the chats of other Neovims, too.
        if path.extension().is_some_and(|it| it == "chat") {
            return;
        }
        let path = paths::below(path, &self.store.root);
        self.recording.remark(format!(
            "You saved {path} while a command ran, so :Flemma undo leaves it as it is."
        ));
    }

    fn record(mut self, changes: Vec<FileChange>) {
        let Ended { group, others, .. } = &mut self.ended;
        // An undo may have reverted what was found of the same commands before.
        if (group.labels.len() > 1 || others.is_any)
            && let Ok(journal) = self.store.read()
        {
            group.id = journal.next_id(&group.id);
        }
        let group = self.ended.group;
        self.recording
            .append(self.store, &group.id, group.labels, changes, self.aside);
    }
}
