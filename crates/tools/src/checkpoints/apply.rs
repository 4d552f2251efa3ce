//! Changes the files of a checkpoint, and reverts the changes if one of them fails.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use platform::files::FileKind;
use platform::paths::visible;

use super::file_state::{Captured, FileState, StoredPath};
use super::index::{self, Stamp};
use super::journal::{Checkpoint, FileChange, Progress};
use super::recorder::{Recorder, capture, capture_open};
use super::store::{Store, now, project_in};
use crate::buffers::{OpenBuffers, OpenText, Replacement};
use crate::error::ToolError;
use crate::files::{Encoding, RealPath, blocking, sync_folder, write_unsynced};
use crate::objects::Objects;

/// The owner's write bit of a mode.
const WRITABLE: u32 = 0o200;

/// Makes the changes of a checkpoint, or none of them. Records it before the first file changes, so that
/// a crash in between can be undone, and the rest be restored.
///
/// # Errors
///
/// A sentence. `nothing` says what did not happen; `again` names what helps if some files could not be
/// reverted.
pub(super) async fn make(
    store: &Store,
    checkpoint: Checkpoint,
    [nothing, again]: [&str; 2],
    buffers: &dyn OpenBuffers,
) -> Result<(), String> {
    let mut room = 0;
    for change in &checkpoint.files {
        for hash in [&change.before, &change.after]
            .into_iter()
            .filter_map(FileState::hash)
        {
            // Content that is missing must not stop it halfway.
            let content = store.objects.get(hash).map_err(|error| {
                let path = visible(&change.path.0);
                format!("{nothing}: {path} cannot be read from the checkpoint: {error}.")
            })?;
            room += content.len() as u64;
        }
    }
    let checked = store.check_room(room);
    checked.map_err(|why| format!("{nothing}: {why}."))?;
    let begun = Checkpoint {
        at: now(),
        progress: Progress::Begun,
        ..checkpoint
    };
    let written = store.append(&begun);
    written.map_err(|error| {
        format!("{nothing}, because the checkpoint cannot be written: {error}.")
    })?;
    for (at, change) in begun.files.iter().enumerate() {
        let path = RealPath::exact(change.path.0.clone());
        // It may have changed since all files were checked.
        let (why, made) = if capture(&path, buffers).await.file_state != change.before {
            ("changed meanwhile".to_owned(), at)
        } else {
            match put(&path, &change.after, change.made, &store.objects, buffers).await {
                Ok(()) => continue,
                // It may be changed in part.
                Err(why) => (why, at + 1),
            }
        };
        let path = visible(&change.path.0);
        let left = take_back(store, &begun.files[..made], buffers).await;
        if left.failed.is_empty() {
            // The journal must not list a checkpoint that was reverted.
            end(store, &begun.id, true);
        }
        let left = left.sentences(again);
        return Err(if left.is_empty() {
            format!("{nothing}: {path} {why}.")
        } else {
            format!("{path} {why}.{left}")
        });
    }
    sync_folders(&begun.files);
    end(store, &begun.id, false);
    Ok(())
}

/// Files that are not as they were after changes were reverted.
#[derive(Default)]
struct Left {
    /// They could not be written.
    failed: Vec<PathBuf>,
    /// Something else has changed them since.
    changed: Vec<PathBuf>,
}

impl Left {
    /// Names the files, in sentences that each begin with a space.
    fn sentences(&self, again: &str) -> String {
        let names = |files: &[PathBuf]| {
            let names = files.iter().map(|it| visible(it).to_string());
            names.collect::<Vec<_>>().join(", ")
        };
        let mut said = String::new();
        if !self.failed.is_empty() {
            said += " These files were changed and could not be put back: ";
            said += &format!("{}; {again}.", names(&self.failed));
        }
        if !self.changed.is_empty() {
            said += " These files were changed, then changed again by something else, and left as they are: ";
            said += &format!("{}.", names(&self.changed));
        }
        said
    }
}

/// Reverts changes that were made, the last one first.
async fn take_back(store: &Store, changes: &[FileChange], buffers: &dyn OpenBuffers) -> Left {
    let mut left = Left::default();
    for change in changes.iter().rev() {
        let FileChange {
            path,
            before,
            after,
            ..
        } = change;
        let real = RealPath::exact(path.0.clone());
        let now = capture(&real, buffers).await.file_state;
        if now == *before {
            continue;
        }
        let is_begun = match (&now, before, after) {
            // Between two files, there is never none.
            (FileState::Absent, FileState::File { .. }, FileState::File { .. }) => false,
            (FileState::Absent, ..) => true,
            // The mode is set last, but a read-only file is made writable first.
            _ => {
                let is_writable = before.mode().map(|it| it | WRITABLE) == now.mode();
                let has =
                    |content: &FileState| now.hash().is_some() && now.hash() == content.hash();
                now == *after || has(after) || has(before) && is_writable
            }
        };
        if !is_begun {
            left.changed.push(path.0.clone());
            continue;
        }
        let put = put(&real, before, change.made, &store.objects, buffers);
        if put.await.is_err() {
            left.failed.push(path.0.clone());
        }
    }
    sync_folders(changes);
    left
}

/// Waits until the names of changed files are on the disk, once for each folder.
fn sync_folders(changes: &[FileChange]) {
    let mut folders = HashSet::new();
    for path in changes.iter().map(|it| &it.path.0) {
        if folders.insert(path.parent()) {
            sync_folder(&RealPath::exact(path.clone()));
        }
    }
}

/// Writes that a checkpoint is complete, or that nothing of it is left.
fn end(store: &Store, id: &str, dropped: bool) {
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

/// Restores a file state at a path. If that removes a file, also removes up to `made` folders above
/// it if they are empty.
async fn put(
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
    match path.status()? {
        None => {}
        // Removed first, because a write follows no link.
        Some(status) if status.kind == FileKind::Link => remove(path, 0)?,
        // So that one that a call made read-only can be restored.
        Some(status) if status.is_file() => set_mode(path, status.permissions() | WRITABLE)?,
        Some(_) => return Err(io::Error::other("it is not a regular file")),
    }
    write_unsynced(path, content).map(drop)
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
        let opened = recording.clone();
        let store = blocking(move || opened.open().map(Arc::new)).await;
        let store = store.map_err(|error| error.to_string())?;
        // Another Neovim must not restore the same files meanwhile.
        let lock = store.lock_restores();
        let _lock = lock.map_err(|error| format!("Nothing was changed: {error}."))?;
        let _contents = store.keep_contents();
        let mut open = Vec::with_capacity(changes.len());
        for change in &changes {
            open.push(buffers.text(&change.path).await);
        }
        let preparing = store.clone();
        let prepared = blocking(move || {
            let changes = changes.into_iter().zip(open);
            let prepared = changes.map(|(change, open)| prepare(&preparing, change, open));
            prepared.collect::<Result<Vec<_>, _>>()
        });
        let files = prepared.await.map_err(|error| error.to_string())?;
        let count = files.len();
        let checkpoint = Checkpoint {
            id: recording.id.clone(),
            calls: vec![recording.label.clone()],
            files,
            ..Checkpoint::default()
        };
        let again = "Flemma tries again at its next start";
        make(&store, checkpoint, ["Nothing was changed", again], buffers).await?;
        recording.made(count);
        Ok(())
    }
}

/// Stores the contents of a file before and after a change. `open` is its buffer, if it has one.
fn prepare(store: &Store, change: Made, open: Option<OpenText>) -> Result<FileChange, ToolError> {
    let before = capture_open(&RealPath::exact(change.path.clone()), open);
    // What is not saved counts as changed.
    let is_saved = !before.unsaved;
    let before = before.store(&store.objects);
    let after = match change.content {
        Content::None => Captured::of(change.after.clone()),
        Content::At(source) => Captured::on_disk(&RealPath::exact(source)),
        Content::Bytes(bytes) => Captured::file(bytes, change.after.mode().unwrap_or_default()),
    };
    let after = after.store(&store.objects);
    let path = visible(&change.path);
    for file_state in [&before, &after] {
        if let FileState::NotCovered(why) = file_state {
            let why = format!("Nothing was changed: of {path}, {why}.");
            return Err(ToolError::Failed(why));
        }
    }
    // Only what was shown is applied.
    if !is_saved || before != change.before || after != change.after {
        return Err(ToolError::Failed(format!(
            "Nothing was changed: {path} has changed since the command was tried. Try it again."
        )));
    }
    let above = change.path.ancestors().skip(1);
    let made = above.take_while(|it| !it.exists()).count();
    Ok(FileChange {
        made,
        ..FileChange::new(StoredPath(change.path), before, after)
    })
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
        let left = take_back(&store, &checkpoint.files, buffers).await;
        if left.failed.is_empty() {
            end(&store, &checkpoint.id, true);
        }
    }
}
