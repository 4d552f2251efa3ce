//! An index of a project: every file that its ignore rules include, with its file state, so that
//! the changes of a command can be found.
//!
//! [`Index::refresh`] compares the status of each known file and folder with that of the last
//! pass. It lists only folders whose status changed, and reads only files whose status changed.

mod ignored;
mod list;
mod pass;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{io, thread};

use platform::files::FileStatus;
use serde::{Deserialize, Serialize};

pub(super) use self::ignored::{Bound, IgnoredChange, IgnoredChanges, IgnoredKind};
pub(super) use self::pass::{Folders, TooManyFiles};
use super::file_state::{FileState, StoredPath};
use crate::objects::{Hash, Objects};
use crate::state_dir;

/// Maximum number of files in an index.
const MAX_FILES: usize = 200_000;

/// The files of a project.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Index {
    root: PathBuf,
    folders: BTreeMap<PathBuf, Folder>,
    /// Maximum bytes of contents that the store keeps for it.
    limit: u64,
}

/// A folder as it was listed.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Folder {
    stamp: Stamp,
    #[serde(with = "by_name")]
    files: BTreeMap<OsString, Known>,
    /// Ignored entries in it; true for folders.
    #[serde(with = "by_name")]
    ignored: BTreeMap<OsString, bool>,
    /// True if a repository is in it.
    is_repository: bool,
}

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    stamp: Stamp,
    file_state: FileState,
    /// Bytes of its content in the store.
    stored: u64,
}

impl Index {
    /// An empty index of a project. The first pass fills it.
    pub(super) fn new(root: PathBuf, limit: u64) -> Self {
        Self {
            root,
            folders: BTreeMap::new(),
            limit,
        }
    }

    /// Returns the hashes of the contents that it needs.
    pub(super) fn hashes(&self) -> HashSet<Hash> {
        self.known().filter_map(|it| it.file_state.hash()).collect()
    }

    /// Returns the number of known files whose contents are not stored.
    pub(super) fn not_covered(&self) -> usize {
        let lacks = |it: &&Known| it.file_state.lack().is_some();
        self.known().filter(lacks).count()
    }

    /// Returns true if something in the project is ignored.
    pub(super) fn has_ignored(&self) -> bool {
        self.folders.values().any(|it| !it.ignored.is_empty())
    }

    fn known(&self) -> impl Iterator<Item = &Known> {
        self.folders.values().flat_map(|it| it.files.values())
    }

    /// Returns the bytes of contents that it may still store.
    fn room(&self) -> u64 {
        let used: u64 = self.known().map(|it| it.stored).sum();
        self.limit.saturating_sub(used)
    }

    fn get(&self, path: &Path) -> Option<&Known> {
        let folder = self.folders.get(path.parent()?)?;
        folder.files.get(path.file_name()?)
    }

    /// Returns what the last pass found at a path in the project. `None` for something that is
    /// ignored.
    pub(super) fn file_state(&self, path: &Path) -> Option<FileState> {
        if let Some(known) = self.get(path) {
            return Some(known.file_state.clone());
        }
        let is_gone = path.starts_with(&self.root) && path.symlink_metadata().is_err();
        is_gone.then_some(FileState::Absent)
    }

    /// Returns the files that were changed at `time` or later, in nanoseconds since 1970.
    pub(super) fn changed_since(&self, time: i64) -> impl Iterator<Item = PathBuf> {
        let folders = self.folders.iter();
        folders.flat_map(move |(path, folder)| {
            let files = folder.files.iter();
            let changed = files.filter(move |(_, it)| !it.stamp.is_before(time));
            changed.map(|(name, _)| path.join(name))
        })
    }

    /// Adds a link.
    #[cfg(test)]
    pub(super) fn add_link(&mut self, path: &Path) {
        let known = Known {
            stamp: Stamp::default(),
            stored: 0,
            file_state: FileState::Link(StoredPath("x".into())),
        };
        self.put(path, Some(known));
    }

    fn put(&mut self, path: &Path, known: Option<Known>) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        let Some(known) = known else {
            if let Some(folder) = self.folders.get_mut(parent) {
                folder.files.remove(name);
            }
            return;
        };
        let folder = self.folders.entry(parent.to_owned()).or_default();
        folder.files.insert(name.to_owned(), known);
    }
}

// The index on disk, so that the next program need not read the whole project.

impl Index {
    /// Writes the index: a JSON array per folder, of its path and what is in it. The caller holds the lock of
    /// the index.
    pub(in crate::checkpoints) fn save(&self, path: &Path) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (path, folder) in &self.folders {
            serde_json::to_writer(&mut bytes, &(StoredPath(path.clone()), folder))?;
            bytes.push(b'\n');
        }
        // Not synced, because a lost index is simply rebuilt.
        state_dir::replace_unsynced(path, &bytes)
    }

    /// Reads an index. Forgets files whose contents are gone. An empty one if it is missing or
    /// damaged.
    pub(in crate::checkpoints) fn load(
        path: &Path,
        root: PathBuf,
        limit: u64,
        objects: &Objects,
    ) -> Self {
        let empty = Self::new(root, limit);
        let mut index = empty.clone();
        for line in lines(path) {
            // With half an index, the other files would look new.
            let Some((folder, mut content)) = line else {
                return empty;
            };
            let count = content.files.len();
            let is_there = |known: &Known| known.file_state.hash().is_none_or(|it| objects.has(it));
            content.files.retain(|_, known| is_there(known));
            if content.files.len() < count {
                // Without a stamp, the folder is listed again and its files are read.
                content.stamp = Stamp::default();
            }
            index.folders.insert(folder, content);
        }
        index
    }
}

/// Returns the hashes of the contents that the index on disk needs.
pub(in crate::checkpoints) fn saved_hashes(path: &Path) -> HashSet<Hash> {
    let folders = lines(path).flatten();
    let files = folders.flat_map(|(_, folder)| folder.files.into_values());
    files.filter_map(|it| it.file_state.hash()).collect()
}

/// Returns the folders of an index on disk; `None` for one that is damaged.
fn lines(path: &Path) -> impl Iterator<Item = Option<(PathBuf, Folder)>> {
    let file = File::open(path).ok().map(BufReader::new);
    let lines = file.into_iter().flat_map(BufRead::lines);
    lines.map(|line| {
        let (path, folder): (StoredPath, Folder) = serde_json::from_str(&line.ok()?).ok()?;
        Some((path.0, folder))
    })
}

/// Maps as lists of pairs, because names may not be UTF-8.
mod by_name {
    use super::{BTreeMap, Deserialize, OsString, Serialize, StoredPath};

    pub(super) fn serialize<S: serde::Serializer, T: Serialize>(
        map: &BTreeMap<OsString, T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map.iter().map(|(name, it)| (StoredPath(name.into()), it)))
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<OsString, T>, D::Error> {
        let pairs = Vec::<(StoredPath, T)>::deserialize(deserializer)?;
        let pairs = pairs.into_iter();
        Ok(pairs.map(|(name, it)| (name.0.into(), it)).collect())
    }
}

// The status of a file, which changes whenever its content does.

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;
/// Maximum interval between two ticks of a file system's clock, in nanoseconds.
const TICK: i64 = 100_000_000;
/// The interval for a file system that only counts seconds.
const COARSE_TICK: i64 = 2 * SECOND;

/// The status of a file or folder. The default belongs to no file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::checkpoints) struct Stamp {
    size: u64,
    modified: i64,
    changed: i64,
    inode: u64,
    mode: u32,
}

impl Stamp {
    pub(in crate::checkpoints) fn of(status: &FileStatus) -> Self {
        Self {
            size: status.size,
            modified: status.modified,
            changed: status.changed,
            inode: status.id.inode,
            mode: status.mode,
        }
    }

    /// Returns the stamp to remember for something that was read at `now`: the default if it
    /// changed so recently that another change could have the same time.
    pub(in crate::checkpoints) fn settled(self, now: i64) -> Self {
        if self.is_before(now) {
            self
        } else {
            Self::default()
        }
    }

    /// Returns true if its last change may have been at `time` or later, by the clock of the
    /// file system.
    pub(in crate::checkpoints) fn is_since(self, time: i64) -> bool {
        let tick = match self.changed % SECOND {
            0 => COARSE_TICK,
            _ => 0,
        };
        self.changed.saturating_add(tick) >= time
    }

    /// Returns true if its last change was certainly before `time`. The default returns false.
    fn is_before(self, time: i64) -> bool {
        // Whole seconds are a sign of a file system without nanoseconds.
        let tick = match self.changed % SECOND {
            0 => COARSE_TICK,
            _ => TICK,
        };
        self != Self::default() && self.changed.saturating_add(tick) < time
    }
}

/// Returns the time in nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| i64::try_from(it.as_nanos()).unwrap_or(i64::MAX))
}

/// Returns when an open file was last changed, in nanoseconds since 1970.
pub(in crate::checkpoints) fn changed_at(file: &File) -> io::Result<i64> {
    Ok(FileStatus::of(file)?.changed)
}

// The threads of a pass.

/// Maximum number of threads of a pass.
const MAX_THREADS: usize = 8;

/// Returns the number of threads of a pass. Determined once, because reading the limits of control
/// groups takes several files.
fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        processors.min(MAX_THREADS)
    })
}

/// Works on parts of a list in threads. This thread works on the first part, so that a short
/// list needs no other.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    // `chunks` panics for a size of 0.
    let size = items.len().div_ceil(threads()).max(1);
    thread::scope(|scope| {
        let work = &work;
        let mut parts = items.chunks(size);
        let first = parts.next();
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let first = first.map(work);
        let rest = threads.into_iter().map(thread::ScopedJoinHandle::join);
        // A thread that panicked found nothing.
        first
            .into_iter()
            .chain(rest.filter_map(Result::ok))
            .collect()
    })
}
