//! What a command did, for its checkpoint and its result.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use platform::paths;

use super::ended::Ended;
use super::{ignored, registry, saves};
use crate::checkpoints::journal::{CallLabel, FileChange};
use crate::checkpoints::recorder::Recording;
use crate::checkpoints::store::Store;

/// A command that has ended.
pub(super) struct Report<'a> {
    pub(super) recording: &'a Recording,
    pub(super) store: &'a Store,
    pub(super) ended: Ended,
}

impl Report<'_> {
    /// Adds what changed to the checkpoint, and reports what did not.
    pub(super) fn make(mut self) {
        let Ended { group, .. } = &self.ended;
        let chats = group.labels.iter().filter_map(CallLabel::chat_path);
        // The session itself writes chats while their commands run. What the user saved
        // meanwhile is not the command's change, so an undo must not revert it.
        let chats: HashSet<PathBuf> = chats.map(Path::to_owned).collect();
        let mut saved = saves::since(group.since);
        saved.extend(registry::saved_since(self.store, group.since));
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
            self.record(changes);
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
        self.recording
            .append(self.store, &self.ended.group, changes);
    }
}
