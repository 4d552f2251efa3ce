//! An index of a project: every file that its ignore rules include, with its image, so that
//! the changes of a command can be found.
//!
//! [`Index::refresh`] compares the status of each known file and folder with that of the last
//! pass. It lists only folders whose status changed, and reads only files whose status changed.

mod ignored;
mod list;
mod pass;
mod saved;
mod stamp;
mod threads;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(super) use self::ignored::{Bound, IgnoredChange, IgnoredChanges, IgnoredKind};
pub(super) use self::pass::{Folders, Passed, TooManyFiles};
pub(super) use self::saved::saved_hashes;

pub(crate) use self::stamp::now_ns;
pub(super) use self::stamp::{Stamp, changed_at};
use super::image::Image;
#[cfg(test)]
use super::image::Name;
use crate::objects::Hash;

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
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Folder {
    stamp: Stamp,
    files: BTreeMap<OsString, Known>,
    /// What is in it and ignored; true for folders.
    ignored: BTreeMap<OsString, bool>,
    /// Whether a repository is in it.
    is_repository: bool,
}

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    stamp: Stamp,
    image: Image,
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
        self.known().filter_map(|it| it.image.hash()).collect()
    }

    /// Returns the number of known files whose contents are not stored.
    pub(super) fn not_covered(&self) -> usize {
        let lacks = |it: &&Known| matches!(it.image, Image::NotCovered(_));
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
    pub(super) fn image(&self, path: &Path) -> Option<Image> {
        if let Some(known) = self.get(path) {
            return Some(known.image.clone());
        }
        let is_gone = path.starts_with(&self.root) && path.symlink_metadata().is_err();
        is_gone.then_some(Image::Absent)
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
            image: Image::Link(Name("x".into())),
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
