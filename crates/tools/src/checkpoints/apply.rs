//! Changes the files of a checkpoint, and reverts the changes if one of them fails.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use platform::files::FileKind;

use super::image::{Image, Name};
use super::journal::{Checkpoint, FileChange};
use super::recorder::capture;
use super::store::Store;
use crate::buffers::{OpenBuffers, Replacement};
use crate::files::{Encoding, RealPath, sync_folder, write_unsynced};
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
        if capture(&path, buffers).await.image != change.before {
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

/// Restores an image at a path. If that removes a file, also removes up to `made` folders above
/// it if they are empty.
pub(super) async fn put(
    path: &RealPath,
    image: &Image,
    made: usize,
    objects: &Objects,
    buffers: &dyn OpenBuffers,
) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot be written: {error}");
    match image {
        Image::Absent => remove(path, made).map_err(failed),
        Image::Link(target) => link(path, target).map_err(failed),
        Image::File { hash, mode } => {
            let content = objects.get(*hash).map_err(failed)?;
            if !replace_open(path, &content, buffers).await? {
                write(path, &content).map_err(failed)?;
            }
            set_mode(path, *mode).map_err(failed)
        }
        Image::NotCovered(why) => Err(format!("has no checkpoint: {why}")),
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
        return Err(io::Error::other("it is no regular file"));
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

fn link(path: &RealPath, target: &Name) -> io::Result<()> {
    remove(path, 0)?;
    let (folder, name) = path.open_parent()?;
    folder.make_link(&target.0, name)
}
