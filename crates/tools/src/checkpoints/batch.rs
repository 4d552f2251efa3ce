//! Changes that were prepared elsewhere, made all or none, as one checkpoint.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use platform::paths::visible;

use super::apply::{end, make_all, put, sync_folders};
use super::image::{Captured, Image, Name};
use super::index::{self, Stamp};
use super::journal::{Checkpoint, FileChange, Progress};
use super::recorder::{Recorder, Recording, capture};
use super::store::{Store, now, project_in};
use crate::buffers::OpenBuffers;
use crate::error::ToolError;
use crate::files::{RealPath, blocking};

/// A change of one file.
#[derive(Debug)]
pub(crate) struct Made {
    /// The file.
    pub path: PathBuf,
    /// What it must be now.
    pub before: Image,
    /// What it becomes.
    pub after: Image,
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

/// Whether a file may have been changed at `time` or later, in nanoseconds since 1970. Blocking.
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
            if now.unsaved || now.image != change.before {
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
            let path = visible(&failed.path);
            format!("Nothing was changed: {path} {}.", failed.why)
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
        for change in changes {
            let path = RealPath::exact(change.path.clone());
            let before = Captured::on_disk(&path).store(&store.objects);
            let after = match change.content {
                Content::None => change.after.clone(),
                Content::At(source) => {
                    let captured = Captured::on_disk(&RealPath::exact(source));
                    captured.store(&store.objects)
                }
                Content::Bytes(bytes) => {
                    let mode = change.after.mode().unwrap_or_default();
                    Captured::file(bytes, mode).store(&store.objects)
                }
            };
            // Only what was shown is applied.
            if before != change.before || after != change.after {
                return Err(ToolError::Failed(changed(&change.path)));
            }
            let above = change.path.ancestors().skip(1);
            let made = above.take_while(|it| !it.exists()).count();
            files.push(FileChange {
                made,
                ..FileChange::new(Name(change.path), before, after)
            });
        }
        Ok((store, files))
    }
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
            if capture(&path, buffers).await.image == change.after {
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
