//! Lists folders by the ignore rules.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ignore::{DirEntry, WalkBuilder, WalkState};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, fstat, openat};

use super::stamp::Stamp;
use super::{Index, MAX_FILES};

/// Names of folders that belong to version control.
const HIDDEN: [&str; 3] = [".git", ".jj", ".hg"];
/// Endings of Neovim's swap files.
const SWAP: [&str; 2] = ["swp", "swo"];
/// Start of the names of files that are not written completely.
const UNFINISHED: &str = ".flemma-";
/// Files with ignore rules.
const RULES: [&str; 2] = [".gitignore", ".ignore"];

/// Folders, with the names of their files.
pub(super) type Listing = BTreeMap<PathBuf, Listed>;

/// A folder as it is listed now.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Its status before it was listed.
    pub(super) stamp: Stamp,
    pub(super) files: BTreeSet<OsString>,
}

/// Returns true for a file that decides what is ignored.
pub(super) fn is_rule_file(name: Option<&OsStr>) -> bool {
    name.is_some_and(|name| RULES.iter().any(|it| name == *it))
}

/// Opens a folder, and fails if the path itself is a link.
pub(super) fn open_folder(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
}

/// Lists all folders of a project. `None` if it has too many files.
pub(super) fn list_all(root: &Path) -> Option<Listing> {
    let found = Mutex::new((Listing::new(), 0));
    let walker = builder(root).build_parallel();
    walker.run(|| {
        Box::new(|entry| {
            // A folder that can't be read is left out, like the ignored ones.
            let Ok(entry) = entry else {
                return WalkState::Continue;
            };
            let folder = stamp_of_folder(&entry);
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.1 += 1;
            add(&mut found.0, entry, folder);
            match found.1 > MAX_FILES {
                true => WalkState::Quit,
                false => WalkState::Continue,
            }
        })
    });
    let (listing, count) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    (count <= MAX_FILES).then_some(listing)
}

/// Lists these folders, and those in them that the index does not know. A folder that is gone
/// is not in the result.
pub(super) fn list_some(folders: Vec<PathBuf>, index: &Index) -> Listing {
    let mut listing = Listing::new();
    let mut left = folders;
    while let Some(folder) = left.pop() {
        for entry in builder(&folder).max_depth(Some(1)).build().flatten() {
            let stamp = stamp_of_folder(&entry);
            if stamp.is_none() || entry.depth() == 0 {
                add(&mut listing, entry, stamp);
                continue;
            }
            // A folder that the index knows is listed by its own stamp, when that changes.
            let path = entry.into_path();
            if !index.folders.contains_key(&path) && !listing.contains_key(&path) {
                left.push(path);
            }
        }
    }
    listing
}

fn builder(folder: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(folder);
    builder
        // Hidden files such as `.github` belong to the project.
        .hidden(false)
        // A mounted disk may be slow, and is not part of the project.
        .same_file_system(true)
        .threads(super::pass::threads())
        // The listed folder itself may have any name.
        .filter_entry(|it| it.depth() == 0 || !is_left_out(it.file_name()));
    builder
}

/// Returns true for names that no checkpoint covers.
fn is_left_out(name: &OsStr) -> bool {
    let is_swap = || {
        // A hidden name, because `a.swp` may be a file of the user.
        let ending = Path::new(name).extension();
        let hidden = name.as_encoded_bytes().starts_with(b".");
        hidden && ending.is_some_and(|ending| SWAP.iter().any(|it| ending == *it))
    };
    let unfinished = UNFINISHED.as_bytes();
    HIDDEN.iter().any(|it| name == *it)
        || name.as_encoded_bytes().starts_with(unfinished)
        || is_swap()
}

/// The status of an entry that is a folder.
fn stamp_of_folder(entry: &DirEntry) -> Option<Stamp> {
    if !entry.file_type().is_some_and(|it| it.is_dir()) {
        return None;
    }
    let stat = open_folder(entry.path()).and_then(|it| fstat(&it));
    // Without a stamp, the next pass lists the folder again.
    Some(stat.map_or_else(|_| Stamp::default(), |it| Stamp::of(&it)))
}

fn add(listing: &mut Listing, entry: DirEntry, folder: Option<Stamp>) {
    if let Some(stamp) = folder {
        listing.entry(entry.into_path()).or_default().stamp = stamp;
        return;
    }
    let Some(kind) = entry.file_type() else {
        return;
    };
    let path = entry.path();
    if (kind.is_file() || kind.is_symlink())
        && entry.depth() > 0
        && let (Some(parent), Some(name)) = (path.parent(), path.file_name())
    {
        let folder = listing.entry(parent.to_owned()).or_default();
        folder.files.insert(name.to_owned());
    }
}
