//! Changes the files of a checkpoint, and reverts the changes if one of them fails.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use platform::files::FileKind;
use platform::paths::visible;

use super::file_state::{Captured, FileState, StoredPath};
use super::index::{self, Stamp};
use super::journal::{Checkpoint, FileChange, Progress};
use super::recorder::{Recorder, Recording, capture};
use super::store::{Store, now, project_in};
use crate::buffers::{OpenBuffers, Replacement};
use crate::error::ToolError;
use crate::files::{Encoding, RealPath, blocking, sync_folder, write_unsynced};
use crate::objects::Objects;

/// The owner's write bit of a mode.
const WRITABLE: u32 = 0o200;

/// A change that could not be made.
pub(super) struct Failed {
    pub(super) path: PathBuf,
    /// A predicate that follows the file's name.
    pub(super) why: String,
    /// Files that were changed before and could not be reverted.
    pub(super) left: Vec<PathBuf>,
}

impl Failed {
    /// A sentence for the user. `nothing` says what did not happen; `again` names the command that
    /// helps if some files could not be reverted.
    pub(super) fn sentence(&self, nothing: &str, again: &str) -> String {
        let (path, why) = (visible(&self.path), &self.why);
        if self.left.is_empty() {
            return format!("{nothing}: {path} {why}.");
        }
        let left: Vec<_> = self.left.iter().map(|it| visible(it)).collect();
        let left = left.join(", ");
        format!(
            "{path} {why}. These files were changed and could not be put back: {left}; {again}."
        )
    }
}

/// Makes the changes of a checkpoint, of which the journal has a first line, or none of them.
pub(super) async fn make_all(
    store: &Store,
    id: &str,
    changes: &[FileChange],
    buffers: &dyn OpenBuffers,
) -> Result<(), Failed> {
    let mut done = Done::default();
    for change in changes {
        if let Err(why) = done.change(change, &store.objects, buffers).await {
            let left = done.take_back(&store.objects, buffers).await;
            sync_folders(changes);
            // Every file is as it was, so the journal must not list a checkpoint.
            if left.is_empty() {
                end(store, id, true);
            }
            let path = change.path.0.clone();
            return Err(Failed { path, why, left });
        }
    }
    sync_folders(changes);
    end(store, id, false);
    Ok(())
}

/// Waits until the names of changed files are on the disk, once for each folder.
pub(super) fn sync_folders(changes: &[FileChange]) {
    let mut folders = HashSet::new();
    for path in changes.iter().map(|it| &it.path.0) {
        if folders.insert(path.parent()) {
            sync_folder(&RealPath::exact(path.clone()));
        }
    }
}

/// Writes that a checkpoint is complete, or that nothing of it is left.
pub(super) fn end(store: &Store, id: &str, dropped: bool) {
    let line = Checkpoint {
        id: id.to_owned(),
        dropped,
        ..Checkpoint::default()
    };
    // If this fails, the next restore or [`recover`](super::recover) finds the files as they were.
    if let Err(error) = store.append(&line) {
        tracing::warn!(%error, "a checkpoint is not marked as complete");
    }
}

/// The changes that were made so far.
#[derive(Debug, Default)]
struct Done(Vec<FileChange>);

impl Done {
    /// Changes a file.
    ///
    /// # Errors
    ///
    /// The reason, as a predicate that follows the file's name. The file is unchanged then.
    async fn change(
        &mut self,
        change: &FileChange,
        objects: &Objects,
        buffers: &dyn OpenBuffers,
    ) -> Result<(), String> {
        let path = RealPath::exact(change.path.0.clone());
        // It may have changed since all files were checked.
        if capture(&path, buffers).await.file_state != change.before {
            return Err("changed meanwhile".to_owned());
        }
        put(&path, &change.after, change.made, objects, buffers).await?;
        self.0.push(change.clone());
        Ok(())
    }

    /// Reverts all changes, the last one first. Returns the files that could not be reverted.
    async fn take_back(self, objects: &Objects, buffers: &dyn OpenBuffers) -> Vec<PathBuf> {
        let mut left = Vec::new();
        for change in self.0.into_iter().rev() {
            let path = RealPath::exact(change.path.0.clone());
            if put(&path, &change.before, 0, objects, buffers)
                .await
                .is_err()
            {
                left.push(change.path.0);
            }
        }
        left
    }
}

/// Restores a file state at a path. If that removes a file, also removes up to `made` folders above
/// it if they are empty.
pub(super) async fn put(
    path: &RealPath,
    file_state: &FileState,
    made: usize,
    objects: &Objects,
    buffers: &dyn OpenBuffers,
) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot be written: {error}");
    match file_state {
        FileState::Absent => remove(path, made).map_err(failed),
        FileState::Link(target) => link(path, target).map_err(failed),
        FileState::File { hash, mode } => {
            let content = objects.get(*hash).map_err(failed)?;
            if !replace_open(path, &content, buffers).await? {
                write(path, &content).map_err(failed)?;
            }
            set_mode(path, *mode).map_err(failed)
        }
        FileState::NotCovered(why) => Err(format!("has no checkpoint: {why}")),
    }
}

/// Replaces the text of an open file. Returns false if it is not open, or if the content is
/// no text.
async fn replace_open(
    path: &RealPath,
    content: &[u8],
    buffers: &dyn OpenBuffers,
) -> Result<bool, String> {
    let Some(open) = buffers.text(path.as_path()).await else {
        return Ok(false);
    };
    let Some((text, _)) = Encoding::decode(content.to_vec()) else {
        return Ok(false);
    };
    let status = path
        .status()
        .map_err(|error| format!("cannot be read: {error}"))?;
    // Only an unmodified buffer of a file that was removed differs from the disk.
    if status.is_none() && !open.modified {
        return Ok(false);
    }
    if open.text == text {
        return Ok(true);
    }
    let new = Replacement {
        expected: Some(&open.text),
        text: &text,
        as_utf8: false,
        file: status.map(|it| it.id),
    };
    let replaced = buffers.replace(path.as_path(), new).await;
    replaced
        .map(|_| true)
        .map_err(|why| format!("cannot be changed in the editor: {why}"))
}

fn write(path: &RealPath, content: &[u8]) -> io::Result<()> {
    match path.status()?.map(|it| it.kind) {
        // Removed first, because a write follows no link.
        Some(FileKind::Link) => remove(path, 0)?,
        Some(_) => make_writable(path)?,
        None => {}
    }
    write_unsynced(path, content).map(drop)
}

/// Makes a file writable, so that one that a call made read-only can be restored.
fn make_writable(path: &RealPath) -> io::Result<()> {
    let Some(status) = path.status()?.filter(|it| it.is_file()) else {
        return Err(io::Error::other("it is not a regular file"));
    };
    let mode = status.permissions();
    if mode & WRITABLE == 0 {
        let (folder, name) = path.open_parent()?;
        folder.set_permissions(name, mode | WRITABLE)?;
    }
    Ok(())
}

fn set_mode(path: &RealPath, mode: u32) -> io::Result<()> {
    // A buffer that was never saved has no file.
    let Some(status) = path.status()? else {
        return Ok(());
    };
    if status.permissions() == mode {
        return Ok(());
    }
    let (folder, name) = path.open_parent()?;
    folder.set_permissions(name, mode)
}

fn remove(path: &RealPath, made: usize) -> io::Result<()> {
    if path.status()?.is_some() {
        let (folder, name) = path.open_parent()?;
        folder.remove_file(name)?;
    }
    let above = path.as_path().ancestors().skip(1).take(made);
    for folder in above.map(|it| RealPath::exact(it.to_owned())) {
        let (parent, name) = folder.open_parent()?;
        // Fails for a folder that is not empty, which stays.
        if parent.remove_folder(name).is_err() {
            break;
        }
    }
    Ok(())
}

fn link(path: &RealPath, target: &StoredPath) -> io::Result<()> {
    remove(path, 0)?;
    let (folder, name) = path.open_parent()?;
    folder.make_link(&target.0, name)
}

// Changes that were prepared elsewhere, made all or none, as one checkpoint.

/// A change of one file.
#[derive(Debug)]
pub(crate) struct Made {
    /// The file.
    pub path: PathBuf,
    /// The state that it must have now.
    pub before: FileState,
    /// Its new state.
    pub after: FileState,
    /// Where its new content is.
    pub content: Content,
}

/// Where a new content is.
#[derive(Debug)]
pub(crate) enum Content {
    /// There is none: a link, or a file that is removed.
    None,
    /// In this file.
    At(PathBuf),
    /// Here.
    Bytes(Vec<u8>),
}

/// When a file was changed last, in nanoseconds since 1970. Blocking.
pub(crate) fn changed_at(path: &Path) -> io::Result<i64> {
    index::changed_at(&File::open(path)?)
}

/// Returns true if a file may have been changed at `time` or later, in nanoseconds since 1970. Blocking.
pub(crate) fn changed_since(path: &Path, time: i64) -> bool {
    let status = RealPath::exact(path.to_owned()).status();
    matches!(status, Ok(Some(status)) if Stamp::of(&status).is_since(time))
}

impl Recorder {
    /// Makes changes, or none of them if a file is not as it must be.
    ///
    /// # Errors
    ///
    /// A sentence that says what prevented it.
    pub(crate) async fn make(
        &self,
        changes: Vec<Made>,
        buffers: &dyn OpenBuffers,
    ) -> Result<(), String> {
        let Some(recording) = self.0.clone() else {
            return Err("Nothing was changed: there are no checkpoints here.".to_owned());
        };
        // What is not saved counts as changed, so it is looked at before anything is stored.
        for change in &changes {
            let now = capture(&RealPath::exact(change.path.clone()), buffers).await;
            if now.unsaved || now.file_state != change.before {
                return Err(changed(&change.path));
            }
        }
        let prepared = {
            let recording = recording.clone();
            blocking(move || recording.prepare(changes)).await
        };
        let (store, files) = prepared.map_err(|error| error.to_string())?;
        // Another Neovim must not restore the same files meanwhile.
        let lock = store.lock_restores();
        let _lock = lock.map_err(|error| format!("Nothing was changed: {error}."))?;
        let _contents = store.keep_contents();
        let begun = Checkpoint {
            id: recording.id.clone(),
            at: now(),
            calls: vec![recording.label.clone()],
            files,
            progress: Progress::Begun,
            ..Checkpoint::default()
        };
        let written = store.append(&begun);
        written.map_err(|error| {
            format!("Nothing was changed, because the checkpoint cannot be written: {error}.")
        })?;
        let made = make_all(&store, &begun.id, &begun.files, buffers).await;
        made.map_err(|failed| {
            failed.sentence(
                "Nothing was changed",
                "Flemma tries again at its next start",
            )
        })?;
        recording.made(begun.files.len());
        Ok(())
    }
}

fn changed(path: &Path) -> String {
    format!(
        "Nothing was changed: {} has changed since the command was tried. Try it again.",
        visible(path)
    )
}

impl Recording {
    /// Stores the contents of changes before and after.
    fn prepare(&self, changes: Vec<Made>) -> Result<(Store, Vec<FileChange>), ToolError> {
        let store = self.open()?;
        let mut files = Vec::with_capacity(changes.len());
        let mut room = 0;
        for change in changes {
            let path = RealPath::exact(change.path.clone());
            let before = Captured::on_disk(&path);
            let after = match change.content {
                Content::None => Captured::of(change.after.clone()),
                Content::At(source) => Captured::on_disk(&RealPath::exact(source)),
                Content::Bytes(bytes) => {
                    Captured::file(bytes, change.after.mode().unwrap_or_default())
                }
            };
            room += before.size() + after.size();
            let (before, after) = (before.store(&store.objects), after.store(&store.objects));
            for file_state in [&before, &after] {
                if let FileState::NotCovered(why) = file_state {
                    return Err(failed(&format!("of {}, {why}", visible(&change.path))));
                }
            }
            // Only what was shown is applied.
            if before != change.before || after != change.after {
                return Err(ToolError::Failed(changed(&change.path)));
            }
            let above = change.path.ancestors().skip(1);
            let made = above.take_while(|it| !it.exists()).count();
            files.push(FileChange {
                made,
                ..FileChange::new(StoredPath(change.path), before, after)
            });
        }
        store.check_room(room).map_err(failed)?;
        Ok((store, files))
    }
}

fn failed(why: &str) -> ToolError {
    ToolError::Failed(format!("Nothing was changed: {why}."))
}

/// Reverts changes of the project that `folder` is in whose program ended while it made them.
pub async fn recover(folder: PathBuf, buffers: &dyn OpenBuffers) {
    let begun = blocking(move || {
        let begun = project_in(&folder).filter(|root| Store::exists(root));
        let store = begun.and_then(|root| Store::of(root).ok());
        let found = store.and_then(|store| {
            let journal = store.read().ok()?;
            let begun = journal.begun();
            (!begun.is_empty()).then_some((store, begun))
        });
        Ok(found)
    });
    let Ok(Some((store, _))) = begun.await else {
        return;
    };
    // Without the lock, the program still makes them.
    let Ok(_lock) = store.lock_restores() else {
        return;
    };
    // Read again: it may have ended meanwhile.
    let begun = store.read().map(|it| it.begun()).unwrap_or_default();
    for checkpoint in begun {
        let mut is_reverted = true;
        for change in checkpoint.files.iter().rev() {
            let path = RealPath::exact(change.path.0.clone());
            if capture(&path, buffers).await.file_state == change.after {
                let back = put(&path, &change.before, change.made, &store.objects, buffers);
                is_reverted &= back.await.is_ok();
            }
        }
        sync_folders(&checkpoint.files);
        if is_reverted {
            end(&store, &checkpoint.id, true);
        }
    }
}
