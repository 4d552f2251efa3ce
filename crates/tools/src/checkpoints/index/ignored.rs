//! Ignored files that changed. No checkpoint holds them, so they are only reported.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use platform::files::{FileKind, FileStatus, FolderEntry, OpenFolder};

use super::list::entries;
use super::{Folder, Index, Stamp, in_parallel};

/// How much is looked at, because folders of build tools hold any number of files.
#[derive(Debug, Clone, Copy)]
pub(in crate::checkpoints) struct Bound {
    pub(in crate::checkpoints) entries: usize,
    pub(in crate::checkpoints) time: Duration,
}

impl Default for Bound {
    /// The bound of one command.
    fn default() -> Self {
        Self {
            entries: 50_000,
            time: Duration::from_millis(20),
        }
    }
}

/// Ignored files that changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::checkpoints) struct IgnoredChanges {
    pub(in crate::checkpoints) files: Vec<IgnoredChange>,
    /// Folders of which not everything was looked at.
    pub(in crate::checkpoints) unseen: BTreeSet<PathBuf>,
}

/// A change of an ignored file.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::checkpoints) struct IgnoredChange {
    /// The file, or a folder of which something may be gone.
    pub(in crate::checkpoints) path: PathBuf,
    /// The ignored folder that it is in, or the folder of an ignored file.
    pub(in crate::checkpoints) place: PathBuf,
    pub(in crate::checkpoints) kind: IgnoredKind,
}

/// The kind of change of an ignored file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::checkpoints) enum IgnoredKind {
    Written,
    Removed,
    /// Entries were added to, renamed in, or removed from a folder.
    Folder,
}

/// An ignored folder that is looked at.
struct Inside {
    path: PathBuf,
    place: PathBuf,
}

/// Changes in the folders that were searched, and the folders inside them.
#[derive(Default)]
struct Changed {
    changes: IgnoredChanges,
    inner: Vec<Inside>,
}

/// A search for changes.
struct Search {
    since: i64,
    /// The device of the project. Another disk is not part of it, and may be slow.
    device: u64,
    /// Number of entries that may still be looked at.
    entries: AtomicUsize,
    until: Instant,
}

impl Index {
    /// Finds the ignored files that changed at `since` or later, by the clock of the file
    /// system. Adds those that a pass found `removed`; true for folders.
    pub(in crate::checkpoints) fn ignored_changes(
        &self,
        since: i64,
        removed: Vec<(PathBuf, bool)>,
        bound: Bound,
    ) -> IgnoredChanges {
        let mut changes = IgnoredChanges::default();
        let removed = removed.into_iter().map(|(path, is_folder)| IgnoredChange {
            place: place_of(&path, is_folder),
            path,
            kind: IgnoredKind::Removed,
        });
        changes.files.extend(removed);
        let folders = self.folders.iter();
        let folders: Vec<_> = folders.filter(|it| !it.1.ignored.is_empty()).collect();
        let Ok(root) = OpenFolder::open_last(&self.root).and_then(|it| it.own_status()) else {
            return changes;
        };
        let search = Search {
            since,
            device: root.id.device,
            entries: AtomicUsize::new(bound.entries),
            until: Instant::now() + bound.time,
        };
        let parts = in_parallel(&folders, |part| {
            let mut found = Changed::default();
            for (path, folder) in part {
                search.known(path, folder, &mut found);
            }
            found
        });
        // Level by level, so that a huge folder hides no change in another.
        let mut level = changes.add(parts);
        while !level.is_empty() {
            let parts = in_parallel(&level, |part| {
                let mut found = Changed::default();
                part.iter().for_each(|it| search.inside(it, &mut found));
                found
            });
            level = changes.add(parts);
        }
        changes
    }
}

impl Search {
    /// Looks at what is ignored in a folder of the project.
    fn known(&self, path: &Path, folder: &Folder, found: &mut Changed) {
        let Ok(opened) = OpenFolder::open_last(path) else {
            return;
        };
        for (name, is_folder) in &folder.ignored {
            let entry = path.join(name);
            let place = place_of(&entry, *is_folder);
            if !self.may_go_on() {
                found.changes.unseen.insert(place);
            } else if let Ok(status) = opened.status(name) {
                self.entry(entry, &place, &status, found);
            }
        }
    }

    /// Looks at an ignored folder.
    fn inside(&self, Inside { path, place }: &Inside, found: &mut Changed) {
        let Ok(opened) = OpenFolder::open_last(path) else {
            return;
        };
        let is_changed = opened
            .own_status()
            .is_ok_and(|it| Stamp::of(&it).is_since(self.since));
        if is_changed {
            found.changes.files.push(IgnoredChange {
                path: path.clone(),
                place: place.clone(),
                kind: IgnoredKind::Folder,
            });
        }
        for FolderEntry { name, .. } in entries(&opened, path) {
            if !self.may_go_on() {
                found.changes.unseen.insert(place.clone());
                return;
            }
            if let Ok(status) = opened.status(&name) {
                self.entry(path.join(name), place, &status, found);
            }
        }
    }

    fn entry(&self, path: PathBuf, place: &Path, status: &FileStatus, found: &mut Changed) {
        let place = place.to_owned();
        if status.kind == FileKind::Folder {
            if status.id.device == self.device {
                found.inner.push(Inside { path, place });
            }
        } else if matches!(status.kind, FileKind::File | FileKind::Link)
            && Stamp::of(status).is_since(self.since)
        {
            let kind = IgnoredKind::Written;
            found
                .changes
                .files
                .push(IgnoredChange { path, place, kind });
        }
    }

    /// Counts an entry. Returns false if it is too many, or if the time is over.
    fn may_go_on(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        let counted = self
            .entries
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        counted.is_ok() && Instant::now() < self.until
    }
}

impl IgnoredChanges {
    /// Adds what was found. Returns the folders in it.
    fn add(&mut self, parts: Vec<Changed>) -> Vec<Inside> {
        let mut inner = Vec::new();
        for part in parts {
            self.files.extend(part.changes.files);
            self.unseen.extend(part.changes.unseen);
            inner.extend(part.inner);
        }
        inner
    }
}

/// The place of something ignored: a folder itself, or the folder of a file.
fn place_of(path: &Path, is_folder: bool) -> PathBuf {
    let folder = if is_folder { Some(path) } else { path.parent() };
    folder.unwrap_or(path).to_owned()
}
