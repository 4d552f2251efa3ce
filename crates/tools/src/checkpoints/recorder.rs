//! Records the files that one call changes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use platform::paths::below;

use super::aside::Aside;
use super::commands::{self, Projects};
use super::file_state::{Captured, FileState, StoredPath};
use super::journal::{CallLabel, Checkpoint, FileChange};
use super::store::{Store, new_id, now, project_in};
use crate::buffers::{OpenBuffers, OpenText};
use crate::error::ToolError;
use crate::files::{FileTarget, RealPath, blocking};
use crate::state_dir::Lock;

/// Maximum number of files that a remark names.
const MOST_NAMED: usize = 5;
/// Mode of a file that is not on disk yet.
pub(super) const NEW_FILE: u32 = 0o644;

/// Records the files that one call and the calls inside it change. Does nothing by default.
#[derive(Clone, Default)]
pub struct Recorder(pub(super) Option<Arc<Recording>>);

/// The call whose changes a recorder records.
pub(super) struct Recording {
    pub(super) projects: Projects,
    /// A folder of the project.
    pub(super) folder: PathBuf,
    /// The top of the project, if the folder is in one. Finding it takes dozens of system
    /// calls.
    root: OnceLock<Option<PathBuf>>,
    /// Maximum size of the project's store in bytes.
    pub(super) limit: u64,
    pub(super) id: String,
    pub(super) label: CallLabel,
    summary: Mutex<Summary>,
}

/// Summary of what a call changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of changes that can be undone.
    pub changes: usize,
    /// Changes that cannot be undone, and what happened to the store; sentences.
    pub remarks: Vec<String>,
    /// Changes of ignored files, which cannot be undone; sentences.
    pub ignored: Option<String>,
    /// Names of all files whose changes cannot be undone, or the number of those in a folder.
    pub lacks: Vec<String>,
}

/// A file before a change.
pub(crate) struct Before {
    file_state: FileState,
    /// Number of folders above it that do not exist.
    missing: usize,
    /// Keeps its content in the store until the change is in the journal.
    contents: Option<Lock>,
}

impl Recorder {
    /// Records the changes of a call in the store of the project that `folder` is in, which
    /// holds at most `limit` bytes.
    pub fn new(projects: &Projects, folder: PathBuf, limit: u64, label: CallLabel) -> Self {
        Self(Some(Arc::new(Recording {
            projects: projects.clone(),
            folder,
            root: OnceLock::new(),
            limit,
            id: new_id(),
            label,
            summary: Mutex::default(),
        })))
    }

    /// Returns what was recorded so far.
    pub fn summary(&self) -> Summary {
        let recording = self.0.as_ref();
        recording.map_or_else(Summary::default, |it| it.summary().clone())
    }

    /// Stores a file that is about to be changed.
    pub(crate) async fn before(&self, target: &FileTarget) -> Option<Before> {
        let recording = self.0.clone()?;
        let captured = capture(target.real(), target.buffers()).await;
        let path = target.path().to_owned();
        let before = blocking(move || {
            let store = recording.open()?;
            let above = path.ancestors().skip(1);
            // A restore removes the folders that the call makes.
            let missing = above.take_while(|it| !it.exists()).count();
            let contents = store.keep_contents();
            let file_state = captured.store(&store.objects);
            Ok(Before {
                file_state,
                missing,
                contents,
            })
        });
        // The call goes on without a checkpoint. `open` has added a remark.
        before.await.ok()
    }

    /// Records that a file was changed.
    pub(crate) async fn after(&self, target: &FileTarget, before: Option<Before>) {
        let (Some(recording), Some(before)) = (self.0.clone(), before) else {
            return;
        };
        let captured = capture(target.real(), target.buffers()).await;
        let path = target.path().to_owned();
        let recorded = blocking(move || {
            recording.record(path, before, captured);
            Ok(())
        });
        // Fails only if the thread panicked.
        let _ = recorded.await;
    }
}

impl Recording {
    fn summary(&self) -> std::sync::MutexGuard<'_, Summary> {
        self.summary.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts changes that were made.
    pub(super) fn made(&self, count: usize) {
        self.summary().changes += count;
    }

    pub(super) fn remark(&self, remark: String) {
        let mut summary = self.summary();
        if !summary.remarks.contains(&remark) {
            summary.remarks.push(remark);
        }
    }

    pub(super) fn report_ignored(&self, text: String, names: Vec<String>) {
        let mut summary = self.summary();
        summary.ignored = Some(text);
        summary.lacks.extend(names);
    }

    /// The top of the project, if the folder is in one.
    pub(super) fn root(&self) -> Option<&Path> {
        let root = self.root.get_or_init(|| project_in(&self.folder));
        root.as_deref()
    }

    pub(super) fn open(&self) -> Result<Store, ToolError> {
        // Not an error of the call: it only has no checkpoint. `:Flemma undo` says why, so that not
        // every call has to.
        let root = self.root().ok_or(ToolError::Cancelled)?;
        Store::of(root.to_owned()).map_err(|why| {
            self.remark(format!("{why} :Flemma undo cannot restore this change."));
            ToolError::Failed(why)
        })
    }

    fn record(&self, path: PathBuf, before: Before, after: Captured) {
        let Ok(store) = self.open() else {
            return;
        };
        let size = after.content.as_ref().map_or(0, |it| it.len() as u64);
        let unsaved = after.unsaved;
        let after = after.store(&store.objects);
        // Of contents that are not stored it is not known whether they are the same.
        if before.file_state == after && after.lack().is_none() {
            return;
        }
        let change = FileChange {
            made: before.missing,
            unsaved,
            ..FileChange::new(StoredPath(path), before.file_state, after)
        };
        let label = vec![self.label.clone()];
        self.append(&store, &self.id, label, vec![change], Aside::default());
        drop(before.contents);
        self.shrink(&store, size);
    }

    /// Adds changes to the checkpoint of one or several calls, and reports those that it
    /// cannot restore.
    pub(super) fn append(
        &self,
        store: &Store,
        id: &str,
        calls: Vec<CallLabel>,
        files: Vec<FileChange>,
        aside: Aside,
    ) {
        let covered = |it: &&FileChange| it.before.lack().is_none();
        let changes = files.iter().filter(covered).count();
        self.report_not_covered(&store.root, &files);
        let line = Checkpoint {
            id: id.to_owned(),
            at: now(),
            calls,
            files,
            aside,
            ..Checkpoint::default()
        };
        match store.append(&line) {
            // A change that undo can't restore is not counted.
            Ok(()) => self.summary().changes += changes,
            Err(error) => self.remark(format!(
                "The checkpoint of this call could not be written ({error}), so :Flemma undo cannot restore it."
            )),
        }
    }

    /// Adds a remark about the files that no checkpoint holds.
    fn report_not_covered(&self, root: &Path, files: &[FileChange]) {
        let lacks = files.iter().filter_map(|it| Some((it, it.lack()?)));
        let lacks = lacks.map(|(it, why)| (below(&it.path.0, root), why));
        let (mut names, mut reasons): (Vec<_>, Vec<_>) = lacks
            .map(|(name, why)| (name.clone(), format!("{name}: {why}")))
            .unzip();
        for list in [&mut names, &mut reasons] {
            shorten(list, |more| format!("and {more} more"));
        }
        if !reasons.is_empty() {
            let reasons = reasons.join("; ");
            self.remark(format!(":Flemma undo cannot restore {reasons}."));
            self.summary().lacks.extend(names);
        }
    }

    /// Removes old turns if the store may have become too large.
    pub(super) fn shrink(&self, store: &Store, added: u64) {
        if !self.projects.count_stored(added) {
            return;
        }
        // What the index needs stays, so that the next command has something to compare with.
        let Some(needed) = commands::needed(&self.projects, store) else {
            return;
        };
        let removed = store.shrink(self.limit, |hash| needed.contains(hash));
        if let Ok(turns @ 1..) = removed {
            let turns = match turns {
                1 => "oldest turn".to_owned(),
                _ => format!("{turns} oldest turns"),
            };
            self.remark(format!(
                "The checkpoints of the {turns} were removed, because those of {} take more than {} MB \
                 (checkpoints.limit).",
                store.root.display(),
                self.limit / 1_000_000
            ));
        }
    }
}

/// Leaves the first names of a list, and says how many more there are.
pub(super) fn shorten(names: &mut Vec<String>, rest: impl Fn(usize) -> String) {
    if let more @ 1.. = names.len().saturating_sub(MOST_NAMED) {
        names.truncate(MOST_NAMED);
        names.push(rest(more));
    }
}

/// Reads a file as tools see it: the text of an open buffer with unsaved changes, otherwise
/// what is on disk.
pub(super) async fn capture(path: &RealPath, buffers: &dyn OpenBuffers) -> Captured {
    let open = buffers.text(path.as_path()).await;
    let real = path.clone();
    let captured = blocking(move || Ok(capture_open(&real, open))).await;
    captured.unwrap_or_else(|error| Captured::not_covered(error.to_string()))
}

/// Reads a file like [`capture`], given its buffer, if it has one. Blocking.
pub(super) fn capture_open(path: &RealPath, open: Option<OpenText>) -> Captured {
    let on_disk = Captured::on_disk(path);
    match open.filter(|it| it.modified) {
        Some(open) => {
            let mode = on_disk.file_state.mode().unwrap_or(NEW_FILE);
            Captured {
                unsaved: true,
                ..Captured::file(open.text.into_bytes(), mode)
            }
        }
        None => on_disk,
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder: Option<&Path> = self.0.as_ref().map(|it| &*it.folder);
        f.debug_tuple("Recorder").field(&folder).finish()
    }
}
