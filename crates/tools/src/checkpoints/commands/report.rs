//! A command's effects, for its checkpoint and its result.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use platform::paths::below;

use super::overlap::Overlap;
use super::project::TOO_MANY;
use crate::checkpoints::aside::Aside;
use crate::checkpoints::index::{Folders, IgnoredChange, IgnoredChanges, IgnoredKind};
use crate::checkpoints::journal::{CallLabel, FileChange};
use crate::checkpoints::recorder::{Recording, shorten};
use crate::checkpoints::store::Store;

/// Most files of a place that are named one by one.
const FEW: usize = 2;

/// The changes that were found when a command ended.
#[derive(Default)]
pub(super) struct Ended {
    /// The id of its checkpoint.
    pub(super) checkpoint: String,
    pub(super) changes: Vec<FileChange>,
    pub(super) overlap: Overlap,
    pub(super) ignored: IgnoredChanges,
    /// Folders that no restore makes as they were.
    pub(super) folders: Folders,
    /// True if the changes were not found, because the project has too many files.
    pub(super) is_lost: bool,
    /// Bytes of the new contents in the store.
    pub(super) stored: u64,
}

impl Ended {
    /// Returns true if there is anything to record or to report.
    pub(super) fn has_news(&self) -> bool {
        let IgnoredChanges { files, unseen } = &self.ignored;
        let Folders { new, gone } = &self.folders;
        let is_seen = !self.changes.is_empty() || !files.is_empty() || !unseen.is_empty();
        is_seen || !new.is_empty() || !gone.is_empty() || self.is_lost
    }
}

/// A command that has ended.
pub(super) struct Report<'a> {
    pub(super) recording: &'a Recording,
    pub(super) store: &'a Store,
    pub(super) ended: Ended,
    /// Its changes to Git's state and to folders.
    pub(super) aside: Aside,
}

impl Report<'_> {
    /// Adds what changed to the checkpoint, and reports what did not.
    pub(super) fn make(mut self) {
        let Overlap { labels, saved, .. } = &mut self.ended.overlap;
        if !labels.contains(&self.recording.label) {
            labels.push(self.recording.label.clone());
        }
        let chats = labels.iter().filter_map(CallLabel::chat_path);
        // The session itself writes chats while their commands run. What the user saved
        // meanwhile is not the command's change, so an undo must not revert it.
        let chats: HashSet<PathBuf> = chats.map(Path::to_owned).collect();
        let saved = std::mem::take(saved);
        self.report_ignored(&chats, &saved);
        if self.ended.is_lost {
            self.recording.remark(format!(
                ":Flemma undo cannot restore what this command changed: {TOO_MANY}."
            ));
        }
        let changes = std::mem::take(&mut self.ended.changes).into_iter();
        let changes = changes.filter(|it| !chats.contains(&it.path.0));
        let (of_user, changes): (Vec<FileChange>, Vec<FileChange>) =
            changes.partition(|it| saved.contains(&it.path.0));
        for FileChange { path, .. } in of_user {
            // Flemma saves the chats of other Neovims, too.
            if path.0.extension().is_none_or(|it| it != "chat") {
                let path = below(&path.0, &self.store.root);
                self.recording.remark(format!(
                    "You saved {path} while a command ran, so :Flemma undo leaves it as it is."
                ));
            }
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

    /// Reports the ignored files that changed, without those that another change explains.
    fn report_ignored(&self, chats: &HashSet<PathBuf>, saved: &HashSet<PathBuf>) {
        let explained = [chats, saved].into_iter().flatten();
        let explained = explained.chain(self.ended.overlap.paths());
        // A file that became ignored only now has a checkpoint.
        let explained = explained.chain(self.ended.changes.iter().map(|it| &it.path.0));
        let explained: HashSet<&PathBuf> = explained.collect();
        let root = &self.store.root;
        let IgnoredChanges { files, unseen } = &self.ended.ignored;
        let mut places: BTreeMap<&Path, Place> = BTreeMap::new();
        for change in files.iter().filter(|it| !explained.contains(&it.path)) {
            let place = places.entry(&change.place).or_default();
            match change.kind {
                IgnoredKind::Folder => place.may_lack = true,
                IgnoredKind::Written | IgnoredKind::Removed => place.files.push(change),
            }
        }
        let places = places.iter();
        let mut names: Vec<String> = places.flat_map(|(path, it)| it.names(path, root)).collect();
        shorten(&mut names, |more| format!("{more} more places"));
        let mut unseen: Vec<String> = unseen.iter().map(|it| folder(it, root)).collect();
        shorten(&mut unseen, |more| format!("{more} more folders"));
        let mut sentences = Vec::new();
        if !names.is_empty() {
            sentences.push(format!(
                ":Flemma undo cannot restore ignored files that changed: {}.",
                names.join("; ")
            ));
        }
        if !unseen.is_empty() {
            sentences.push(format!(
                "There are too many ignored files to look at all of them, so others in {} may have changed, too.",
                unseen.join(", ")
            ));
        }
        if !sentences.is_empty() {
            self.recording.report_ignored(sentences.join(" "), names);
        }
    }

    fn record(self, changes: Vec<FileChange>) {
        let Ended {
            mut checkpoint,
            overlap,
            ..
        } = self.ended;
        // An undo may have reverted what was found of the same commands before.
        if (overlap.labels.len() > 1 || overlap.is_recorded)
            && let Ok(journal) = self.store.read()
        {
            checkpoint = journal.next_id(&checkpoint);
        }
        self.recording
            .append(self.store, &checkpoint, overlap.labels, changes, self.aside);
    }
}

/// A change in one place.
#[derive(Default)]
struct Place<'a> {
    files: Vec<&'a IgnoredChange>,
    /// True if something in it may be gone.
    may_lack: bool,
}

impl Place<'_> {
    fn names(&self, path: &Path, root: &Path) -> Vec<String> {
        let at = folder(path, root);
        if self.files.is_empty() {
            return vec![format!("{at} (some may be gone)")];
        }
        let mut names: Vec<String> = match self.files.len() {
            ..=FEW => self.files.iter().map(|it| name(it, root)).collect(),
            count => vec![format!("{count} files in {at}")],
        };
        if let Some(last) = names.last_mut().filter(|_| self.may_lack) {
            last.push_str(" (others may be gone)");
        }
        names
    }
}

fn name(change: &IgnoredChange, root: &Path) -> String {
    let is_folder = change.kind == IgnoredKind::Removed && change.place == change.path;
    let name = if is_folder {
        folder(&change.path, root)
    } else {
        below(&change.path, root)
    };
    match change.kind {
        IgnoredKind::Removed => format!("{name} (removed)"),
        IgnoredKind::Written | IgnoredKind::Folder => name,
    }
}

fn folder(path: &Path, root: &Path) -> String {
    if path == root {
        "./".to_owned()
    } else {
        format!("{}/", below(path, root))
    }
}
