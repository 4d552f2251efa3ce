//! Plans a restore: which files are put back, merged, or left as they are, and why.

mod find;
mod item;
mod renames;
mod turn;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use platform::paths;

use super::apply::make_all;
use super::image::{Image, Name};
use super::journal::{CallLabel, Checkpoint, FileChange, JournalScope, Progress, Reverted};
use super::recorder::capture;
use super::store::{Store, new_id, now};
use crate::buffers::OpenBuffers;
use crate::error::ToolError;
use crate::files::{RealPath, blocking};

use self::find::{Chains, chains, find};
pub use self::item::Item;
use self::item::{hold_back, keep_moved, shown};
use self::turn::Parts;
pub use self::turn::{TurnChanges, TurnFile};

/// A request for a restore.
#[derive(Debug, Clone)]
pub enum Request {
    /// The files of the last call that is not undone.
    Undo,
    /// The files as they were before the last undo.
    Redo,
    /// The files of these calls and of all of this and later turns.
    Turns {
        /// The first turn.
        from: usize,
        /// Ids of calls, and the turns of which they are now. Turns that were above them may be
        /// gone since the calls were recorded.
        calls: Vec<(String, usize)>,
    },
    /// The files of this many turns, the last ones that are not undone.
    LastTurns(usize),
    /// This file, as it was before the last call that changed it and is not undone.
    File(FileArgument),
}

/// A file that the user named.
#[derive(Debug, Clone)]
pub struct FileArgument {
    /// What the user wrote.
    pub name: String,
    /// The folders that a relative name may start from, besides the project's.
    pub folders: Vec<PathBuf>,
}

impl FileArgument {
    /// The paths that it may mean in a project. Blocking.
    fn places(&self, root: &Path) -> Vec<Name> {
        let folders = self.folders.iter().map(|it| &**it).chain([root]);
        let joined = folders.map(|it| it.join(&self.name));
        // A command may have changed a link, and an edit the file that it leads to.
        let real = joined.flat_map(|it| [entry(&it), paths::resolve(&it).ok()]);
        real.flatten().map(Name).collect()
    }
}

/// The path of what is in a folder, also of a link.
fn entry(path: &Path) -> Option<PathBuf> {
    let folder = paths::resolve(path.parent()?).ok()?;
    Some(folder.join(path.file_name()?))
}

/// Reads the changes that a restore reverts.
async fn chains_of(store: Arc<Store>, reverted: Reverted) -> Result<Chains, String> {
    let chains = blocking(move || {
        let journal = store.read();
        let journal = journal.map_err(|error| unreadable(&error))?;
        Ok(chains(&journal, &reverted))
    });
    chains.await.map_err(|error| error.to_string())
}

/// A planned restore.
#[derive(Debug)]
pub struct Restore {
    store: Arc<Store>,
    label: CallLabel,
    /// The checkpoints that it reverts. Without them, it changes [`Parts`] of files.
    reverted: Option<Reverted>,
    parts: Parts,
    /// The calls whose changes are taken back, or brought back: ids and tools.
    pub calls: Vec<(String, String)>,
    /// The files, by path.
    pub items: Vec<Item>,
    /// What the user needs to know about it: damage of the journal, and what it leaves.
    pub problem: Option<String>,
}

/// The outcome of a restore.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Files that were changed.
    pub changed: Vec<PathBuf>,
    /// Files that were left as they are, and why.
    pub kept: Vec<(PathBuf, String)>,
}

impl Restore {
    /// Plans a restore for the project that `folder` is in. `None` if there is nothing to
    /// restore. Changes no file.
    ///
    /// # Errors
    ///
    /// The store cannot be used; a sentence.
    pub async fn plan(
        folder: PathBuf,
        scope: JournalScope,
        request: Request,
        buffers: &dyn OpenBuffers,
    ) -> Result<Option<Self>, String> {
        let found = blocking(move || find(&folder, scope, &request).map_err(ToolError::Failed));
        let Some(mut restore) = found.await.map_err(|error| error.to_string())? else {
            return Ok(None);
        };
        restore.plan_items(buffers).await?;
        Ok(Some(restore))
    }

    /// Computes the items again. Stores the current and the merged contents.
    async fn plan_items(&mut self, buffers: &dyn OpenBuffers) -> Result<(), String> {
        let chains = match &self.reverted {
            Some(reverted) => chains_of(self.store.clone(), reverted.clone()).await?,
            None => self.parts.changes.clone(),
        };
        let mut items = Vec::new();
        for (path, chain) in &chains {
            let (path, chain) = (path.clone(), chain.clone());
            let real = RealPath::exact(path.0.clone());
            let is_unsaved = buffers.text(&path.0).await.is_some_and(|it| it.modified);
            let captured = capture(&real, buffers).await;
            let store = self.store.clone();
            let item = blocking(move || {
                let now = captured.store(&store.objects);
                Ok(Item::new(path.0, now, &chain, &store.objects, is_unsaved))
            });
            items.push(item.await.map_err(|error| error.to_string())?);
        }
        hold_back(&mut items);
        self.parts.hold_back(&mut items);
        let store = self.store.clone();
        let items = blocking(move || {
            keep_moved(&mut items, &chains, &store.objects, &store.root);
            Ok(items)
        });
        self.items = items.await.map_err(|error| error.to_string())?;
        Ok(())
    }

    /// The project's folder.
    pub fn root(&self) -> &Path {
        &self.store.root
    }

    /// The files that would change.
    pub fn changes(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|it| it.is_change())
    }

    /// The files that have changed since, and could be overwritten.
    pub fn conflicts(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|it| it.is_conflict())
    }

    /// The files that stay as they are, but might be restored otherwise or later.
    pub fn kept(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|it| it.is_kept())
    }

    /// Returns a line for each file that says what happens to it.
    pub fn lines(&self) -> Vec<String> {
        let items = self.items.iter();
        items
            .map(|it| it.line(self.root(), &self.store.objects))
            .collect()
    }

    /// The change of a file as a unified diff.
    pub fn diff(&self, item: &Item) -> String {
        let content = |image: Option<&Image>| {
            // A content that is missing is shown as empty.
            let bytes = image.and_then(Image::hash);
            let bytes = bytes.and_then(|it| self.store.objects.get(it).ok());
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        let target = item.target.as_ref().ok().or(item.forced.as_ref());
        let (old, new) = (content(Some(&item.now)), content(target));
        let name = shown(self.root(), &item.path);
        let header = Some((name.as_str(), name.as_str()));
        similar::udiff::unified_diff(similar::Algorithm::Myers, &old, &new, 3, header)
    }

    /// Restores the files, if they still are as planned. With `overwrite`, also those that
    /// have changed since.
    ///
    /// # Errors
    ///
    /// A file is not as planned, or one cannot be written; a sentence. No file is changed
    /// then.
    pub async fn apply(
        mut self,
        overwrite: bool,
        buffers: &dyn OpenBuffers,
    ) -> Result<Restored, String> {
        // Another Neovim must not restore the same files between the check and the record.
        let lock = self.store.lock_restores();
        let _lock = lock.map_err(|error| format!("The files were not restored: {error}."))?;
        let _contents = self.store.keep_contents();
        let planned = std::mem::take(&mut self.items);
        // The files may have changed while the user read the list.
        self.plan_items(buffers).await?;
        if planned != self.items || self.is_reverted()? {
            let why = "A file changed since the list was made, so nothing was restored. Try again.";
            return Err(why.to_owned());
        }
        let (mut changes, kept) = self.split(overwrite);
        // Nothing is undone by this, so there is nothing to record.
        if changes.is_empty() && self.reverted.is_none() {
            let changed = Vec::new();
            return Ok(Restored { changed, kept });
        }
        for change in &mut changes {
            let open = buffers.text(&change.path.0).await;
            change.unsaved = open.is_some_and(|it| it.modified);
        }
        let id = new_id();
        // Recorded before the first file changes, so that a crash in between can be undone, and
        // the rest be restored.
        self.record(&id, &changes)?;
        let made = make_all(&self.store, &id, &changes, buffers).await;
        made.map_err(|it| failure(&it.path, &it.why, &it.left))?;
        let changed = changes.into_iter().map(|it| it.path.0).collect();
        Ok(Restored { changed, kept })
    }

    /// Returns true if another program has restored the same meanwhile.
    fn is_reverted(&self) -> Result<bool, String> {
        let journal = self.store.read();
        let journal = journal.map_err(|error| unreadable(&error).to_string())?;
        Ok(self
            .reverted
            .as_ref()
            .is_some_and(|it| journal.is_undone(it)))
    }

    /// Returns the changes to make, and the files that stay, with the reasons.
    fn split(&self, overwrite: bool) -> (Vec<FileChange>, Vec<(PathBuf, String)>) {
        let (mut changes, mut kept) = (Vec::new(), Vec::new());
        for item in &self.items {
            let forced = item.forced.clone().filter(|_| overwrite);
            let target = item.target.clone().or_else(|why| forced.ok_or(why));
            match target {
                Ok(after) if after == item.now => {}
                Ok(after) => changes.push(FileChange {
                    made: item.made,
                    ..FileChange::new(Name(item.path.clone()), item.now.clone(), after)
                }),
                Err(why) => kept.push((item.path.clone(), why)),
            }
        }
        (changes, kept)
    }

    /// Checks that all contents are there, and writes the checkpoint of this restore.
    fn record(&self, id: &str, changes: &[FileChange]) -> Result<(), String> {
        // Read before the first file changes: content that is missing must not stop a restore
        // halfway.
        for change in changes {
            for hash in [&change.before, &change.after]
                .into_iter()
                .filter_map(Image::hash)
            {
                let content = self.store.objects.get(hash);
                content.map_err(|error| {
                    let path = paths::visible(&change.path.0);
                    format!(
                        "Nothing was restored: {path} cannot be read from the checkpoint: {error}."
                    )
                })?;
            }
        }
        let line = Checkpoint {
            id: id.to_owned(),
            at: now(),
            calls: vec![self.label.clone()],
            reverted: self.reverted.clone(),
            files: changes.to_vec(),
            progress: Progress::Begun,
            ..Checkpoint::default()
        };
        let written = self.store.append(&line);
        written.map_err(|error| {
            format!("Nothing was restored, because the checkpoint of the restore cannot be written: {error}.")
        })
    }
}

fn failure(path: &Path, why: &str, left: &[PathBuf]) -> String {
    let path = paths::visible(path);
    if left.is_empty() {
        return format!("Nothing was restored: {path} {why}.");
    }
    let left: Vec<_> = left.iter().map(|it| paths::visible(it)).collect();
    format!(
        "The files were not restored: {path} {why}. These could not be put back: {}; :Flemma redo tries again.",
        left.join(", ")
    )
}

/// The error for a journal that cannot be read.
fn unreadable(error: &std::io::Error) -> ToolError {
    ToolError::Failed(format!("The checkpoints cannot be read: {error}."))
}
