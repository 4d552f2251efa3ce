//! Lists folders by the ignore rules.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use ignore::{DirEntry, WalkBuilder, WalkState};
use platform::files::{FileKind, FolderEntry, OpenFolder};

use super::{Index, MAX_FILES, Stamp};
use crate::checkpoints::aside::REPOSITORY;
use crate::files::leads_to;
use crate::state_dir;

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
    /// What the rules include in it; true for folders.
    included: BTreeMap<OsString, bool>,
    /// True if a repository is in it.
    pub(super) is_repository: bool,
    /// All files, links, and folders in it, ignored or not, as they were before it was listed;
    /// true for folders.
    entries: BTreeMap<OsString, bool>,
    /// True if it was removed or has become ignored.
    pub(super) is_gone: bool,
}

impl Listed {
    /// A folder that is gone.
    pub(super) fn gone() -> Self {
        Self {
            is_gone: true,
            ..Self::default()
        }
    }

    /// The files in it.
    pub(super) fn files(&self) -> impl Iterator<Item = &OsStr> {
        let files = self.included.iter().filter(|(_, is_folder)| !**is_folder);
        files.map(|(name, _)| name.as_os_str())
    }

    /// Returns true if it has a file of this name.
    pub(super) fn lists(&self, name: &OsStr) -> bool {
        self.included.get(name) == Some(&false)
    }

    /// Ignored entries in it; true for folders.
    pub(super) fn ignored(&self) -> BTreeMap<OsString, bool> {
        // An entry that appeared later is listed and not here, so it never looks ignored.
        let mut ignored = self.entries.clone();
        ignored.retain(|name, _| !self.included.contains_key(name));
        ignored
    }

    /// Returns true if it has an entry of this name, ignored or not.
    pub(super) fn has(&self, name: &OsStr) -> bool {
        self.entries.contains_key(name)
    }
}

/// Returns true for a file that decides what is ignored.
pub(super) fn is_rule_file(name: Option<&OsStr>) -> bool {
    name.is_some_and(|name| RULES.iter().any(|it| name == *it))
}

/// Lists all folders of a project. `None` if it has too many files.
pub(super) fn list_all(root: &Path) -> Option<Listing> {
    let found = Mutex::new((Listing::new(), 0));
    let walker = builder(root).build_parallel();
    let device = device_of(root);
    walker.run(|| {
        Box::new(|entry| {
            // A folder that can't be read is left out, like the ignored ones.
            let Ok(entry) = entry else {
                return WalkState::Continue;
            };
            let folder = look_into(&entry, device);
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.1 += 1;
            add(&mut found.0, entry, folder);
            if found.1 > MAX_FILES {
                WalkState::Quit
            } else {
                WalkState::Continue
            }
        })
    });
    let (listing, count) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    (count <= MAX_FILES).then_some(listing)
}

/// Lists these folders, and those in them that the index does not know.
pub(super) fn list_some(folders: Vec<PathBuf>, index: &Index) -> Listing {
    let mut listing = Listing::new();
    let mut left = folders;
    let device = device_of(&index.root);
    while let Some(folder) = left.pop() {
        for entry in builder(&folder).max_depth(Some(1)).build().flatten() {
            if entry.depth() == 0 {
                let folder = look_into(&entry, device);
                add(&mut listing, entry, folder);
                continue;
            }
            // A folder that the index knows is listed by its own stamp, when that changes.
            let path = entry.path();
            if is_folder(&entry) && !index.folders.contains_key(path) && !listing.contains_key(path)
            {
                left.push(path.to_owned());
            }
            add(&mut listing, entry, None);
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
        .threads(super::threads())
        // The listed folder itself may have any name.
        .filter_entry(|it| it.depth() == 0 || !is_left_out(it.path()));
    builder
}

/// Returns true for what no checkpoint covers: names, and our state folder, which contains the
/// checkpoints and changes with each command.
fn is_left_out(path: &Path) -> bool {
    static STATE: LazyLock<PathBuf> = LazyLock::new(|| leads_to(&state_dir::path()));
    let Some(name) = path.file_name() else {
        return false;
    };
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
        || *path == **STATE
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|it| it.is_dir())
}

/// The device that a folder is on.
fn device_of(folder: &Path) -> Option<u64> {
    let status = OpenFolder::open_last(folder).and_then(|it| it.own_status());
    Some(status.ok()?.id.device)
}

/// The status of an entry that is a folder, and what is in it. Called before the walk reads it.
fn look_into(entry: &DirEntry, device_of_root: Option<u64>) -> Option<Listed> {
    if !is_folder(entry) {
        return None;
    }
    let Ok(folder) = OpenFolder::open_last(entry.path()) else {
        // Without a stamp, the next pass lists the folder again.
        return Some(Listed::default());
    };
    let status = folder.own_status();
    // Another disk is not part of the project, ignored or not.
    let is_here = status
        .as_ref()
        .is_ok_and(|it| Some(it.id.device) == device_of_root);
    Some(Listed {
        stamp: status.map_or_else(|_| Stamp::default(), |it| Stamp::of(&it)),
        is_repository: folder.status(OsStr::new(REPOSITORY)).is_ok(),
        entries: if is_here {
            files_and_folders(&folder, entry.path()).collect()
        } else {
            BTreeMap::new()
        },
        ..Listed::default()
    })
}

/// The files, links, and folders in the folder at `path`, without those that no checkpoint covers; true for
/// folders.
fn files_and_folders(folder: &OpenFolder, path: &Path) -> impl Iterator<Item = (OsString, bool)> {
    entries(folder, path).filter_map(|it| match it.kind {
        FileKind::Folder => Some((it.name, true)),
        FileKind::File | FileKind::Link => Some((it.name, false)),
        _ => None,
    })
}

/// The entries of the folder at `path` that a checkpoint can cover.
pub(super) fn entries(folder: &OpenFolder, path: &Path) -> impl Iterator<Item = FolderEntry> {
    let entries = folder.entries().into_iter().flatten().flatten();
    entries.filter(|it| !is_left_out(&path.join(&it.name)))
}

/// Adds an entry, and what is in it if it is a folder that was looked into.
fn add(listing: &mut Listing, entry: DirEntry, folder: Option<Listed>) {
    let kind = entry.file_type();
    let path = entry.path();
    if kind.is_some_and(|it| it.is_file() || it.is_symlink() || it.is_dir())
        && entry.depth() > 0
        && let (Some(parent), Some(name)) = (path.parent(), path.file_name())
    {
        let parent = listing.entry(parent.to_owned()).or_default();
        let included = &mut parent.included;
        included.insert(name.to_owned(), is_folder(&entry));
    }
    if let Some(looked) = folder {
        let listed = listing.entry(entry.into_path()).or_default();
        let included = std::mem::take(&mut listed.included);
        *listed = Listed { included, ..looked };
    }
}
