//! One pass over a project: finds what changed, stores it, and brings the index up to date.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use platform::files::OpenFolder;

use super::list::{Listed, Listing, is_rule_file, list_all, list_some};
use super::{Folder, Index, Known, Stamp, in_parallel, now_ns};
use crate::checkpoints::aside::stays;
use crate::checkpoints::file_state::{Captured, FileState, StoredPath};
use crate::checkpoints::journal::FileChange;
use crate::files::RealPath;
use crate::objects::Objects;

/// Maximum number of changed folders that are listed one by one.
const FEW: usize = 64;

/// Maximum number of new folders that are named.
const MOST_FOLDERS: usize = 20;

/// A project has more files than an index can have.
#[derive(Debug)]
pub(in crate::checkpoints) struct TooManyFiles;

/// The changes since the pass before.
#[derive(Debug, Default)]
pub(in crate::checkpoints) struct Passed {
    pub(in crate::checkpoints) changes: Vec<FileChange>,
    /// Files that were read again, and those that are gone.
    pub(in crate::checkpoints) read: Vec<PathBuf>,
    /// Ignored files and folders that are gone; true for folders.
    pub(in crate::checkpoints) removed: Vec<(PathBuf, bool)>,
    pub(in crate::checkpoints) folders: Folders,
}

/// Folders that no restore makes as they were.
#[derive(Debug, Default)]
pub(in crate::checkpoints) struct Folders {
    /// Those that are empty or a repository now.
    pub(in crate::checkpoints) new: Vec<PathBuf>,
    /// Those that were; true for repositories.
    pub(in crate::checkpoints) gone: Vec<(PathBuf, bool)>,
}

/// Differences from the index.
#[derive(Debug, Default)]
struct Differences {
    files: Vec<PathBuf>,
    folders: BTreeSet<PathBuf>,
}

/// Result of listing folders again.
#[derive(Default)]
struct Found {
    /// The folders that were listed, and those that were removed or have become ignored, which have no entries.
    listing: Listing,
    /// Files that may have changed, also those that appeared or vanished.
    candidates: BTreeSet<PathBuf>,
    /// True if other files may be ignored than before.
    rules_changed: bool,
}

impl Index {
    /// Finds what changed since the last pass. Stores new contents. With `since`, a time in
    /// nanoseconds since 1970, returns the changes that were made after it.
    ///
    /// # Errors
    ///
    /// The project has too many files. The index is useless then.
    pub(in crate::checkpoints) fn refresh(
        &mut self,
        objects: &Objects,
        since: Option<i64>,
    ) -> Result<Passed, TooManyFiles> {
        // Taken before the first look, so that the next pass compares what changes during this one.
        let now = now_ns();
        let found = self.find()?;
        let read = self.read(&found.candidates, objects, now);
        let (mut changes, mut folders) = (Vec::new(), Folders::default());
        if let Some(since) = since {
            let changed = |(path, known): &(PathBuf, Option<Known>)| {
                self.change(path, known.as_ref(), &found, since, objects)
            };
            changes = read.iter().filter_map(changed).collect();
            folders = self.changed_folders(&found.listing);
        }
        let mut read_again = Vec::with_capacity(read.len());
        for (path, known) in read {
            let is_listed = found.lists(&path).unwrap_or(self.get(&path).is_some());
            // A file that has become ignored leaves the index.
            self.put(&path, known.filter(|_| is_listed));
            read_again.push(path);
        }
        let removed = self.take(found.listing, now);
        Ok(Passed {
            changes,
            read: read_again,
            removed,
            folders,
        })
    }

    /// Returns the folders that became or were empty or a repository.
    fn changed_folders(&self, listing: &Listing) -> Folders {
        let mut folders = Folders::default();
        for (path, listed) in listing {
            let known = self.folders.get(path);
            let was_repository = known.is_some_and(|it| it.is_repository);
            if listed.is_repository && !was_repository || known.is_none() && stays(path) {
                folders.new.push(path.clone());
            }
            let is_gone = if listed.is_gone {
                // Those that have become ignored are still there.
                let is_away = path.symlink_metadata().is_err();
                is_away && (was_repository || self.is_known_as_empty(path))
            } else {
                was_repository && !listed.is_repository
            };
            if is_gone {
                folders.gone.push((path.clone(), was_repository));
            }
        }
        folders.new.truncate(MOST_FOLDERS);
        folders.gone.truncate(MOST_FOLDERS);
        folders
    }

    fn is_known_as_empty(&self, path: &Path) -> bool {
        let known = self.folders.get(path);
        let mut below = self.folders.range(path.join("")..);
        // The first is the folder itself.
        let is_leaf = below.nth(1).is_none_or(|(it, _)| !it.starts_with(path));
        is_leaf && known.is_some_and(|it| it.files.is_empty() && it.ignored.is_empty())
    }

    /// Finds the files that may have changed.
    fn find(&self) -> Result<Found, TooManyFiles> {
        let differences = self.compare();
        let mut files = differences.files.iter();
        let rules_changed = files.any(|it| self.is_changed_rule(it));
        let is_first = self.folders.is_empty();
        let mut all = is_first || rules_changed || differences.folders.len() > FEW;
        let mut listing = Listing::new();
        if !all {
            listing = self.list_some(&differences.folders);
            // A new rule file concerns folders that did not change, too.
            all = self.has_new_rule(&listing);
        }
        if all {
            listing = list_all(&self.root).ok_or(TooManyFiles)?;
            for folder in self.folders.keys() {
                listing.entry(folder.clone()).or_insert_with(Listed::gone);
            }
        }
        let mut candidates: BTreeSet<PathBuf> = differences.files.into_iter().collect();
        for (path, listed) in &listing {
            let known = self.folders.get(path);
            let is_known = |it: &OsStr| known.is_some_and(|known| known.files.contains_key(it));
            let new = listed.files().filter(|it| !is_known(it));
            let old = known.into_iter().flat_map(|it| it.files.keys());
            let vanished = old.map(OsString::as_os_str);
            let vanished = vanished.filter(|it| !listed.lists(it));
            candidates.extend(new.chain(vanished).map(|it| path.join(it)));
        }
        Ok(Found {
            listing,
            candidates,
            rules_changed,
        })
    }

    /// Lists these folders, of which some may be gone, and those in them that the index does not know.
    fn list_some(&self, folders: &BTreeSet<PathBuf>) -> Listing {
        let gone = folders.iter().filter(|it| !is_folder(it));
        // A link with the name of a folder may lead to another one with the same files.
        let gone = gone.flat_map(|gone| {
            let below = self.folders.range(gone.clone()..);
            below
                .map(|(it, _)| it)
                .take_while(move |it| it.starts_with(gone))
        });
        let mut listing: Listing = gone.map(|it| (it.clone(), Listed::gone())).collect();
        let there = folders.iter().filter(|it| !listing.contains_key(*it));
        let found = list_some(there.cloned().collect(), self);
        listing.extend(found);
        listing
    }

    /// Returns true for a known file with ignore rules whose content is another.
    fn is_changed_rule(&self, path: &Path) -> bool {
        // Compared by content, because `touch` changes the status and a listing of everything
        // is slow.
        let file_state = || Captured::on_disk(&RealPath::exact(path.to_owned())).file_state;
        is_rule_file(path.file_name())
            && self
                .get(path)
                .is_some_and(|it| it.file_state != file_state())
    }

    /// Returns true if a file with ignore rules is listed that the index does not know.
    fn has_new_rule(&self, listing: &Listing) -> bool {
        listing.iter().any(|(folder, listed)| {
            let mut files = listed.files();
            files.any(|it| is_rule_file(Some(it)) && self.get(&folder.join(it)).is_none())
        })
    }

    /// Compares the status of everything in the index with what is on disk.
    fn compare(&self) -> Differences {
        let folders: Vec<_> = self.folders.iter().collect();
        let parts = in_parallel(&folders, |part| {
            let mut differences = Differences::default();
            for (path, folder) in part {
                compare_folder(path, folder, &mut differences);
            }
            differences
        });
        let mut all = Differences::default();
        for part in parts {
            all.files.extend(part.files);
            all.folders.extend(part.folders);
        }
        all
    }

    /// Reads and stores files. `None` for one that is gone.
    fn read(
        &self,
        paths: &BTreeSet<PathBuf>,
        objects: &Objects,
        now: i64,
    ) -> Vec<(PathBuf, Option<Known>)> {
        if paths.is_empty() {
            return Vec::new();
        }
        let room = AtomicU64::new(self.room());
        let paths: Vec<_> = paths.iter().collect();
        let parts = in_parallel(&paths, |part| {
            let read = part.iter().map(|path| {
                let known = read_file(path, objects, &room, now);
                ((*path).clone(), known)
            });
            read.collect::<Vec<_>>()
        });
        parts.into_iter().flatten().collect()
    }

    /// The change of a file, if it was made after `since`.
    fn change(
        &self,
        path: &Path,
        known: Option<&Known>,
        found: &Found,
        since: i64,
        objects: &Objects,
    ) -> Option<FileChange> {
        let before = self.get(path);
        let mut before = before.map_or(FileState::Absent, |it| it.file_state.clone());
        let after = known.map_or(FileState::Absent, |it| it.file_state.clone());
        // It was written with the same content, or only its status changed.
        if before == after && !is_rewritten(self.get(path), known) {
            return None;
        }
        if before == FileState::Absent {
            // It was there before, but it could not be seen.
            if known.is_some_and(|it| it.stamp.is_before(since)) {
                return None;
            }
            if found.rules_changed {
                before = FileState::NotCovered("it was ignored before".to_owned());
            }
        }
        if before.hash().is_some_and(|it| !objects.has(it)) {
            before = FileState::NotCovered("its content was removed from the store".to_owned());
        }
        let above = path.ancestors().skip(1);
        let is_new =
            |it: &&Path| found.listing.contains_key(*it) && !self.folders.contains_key(*it);
        let made = above.take_while(is_new);
        Some(FileChange {
            made: made.count(),
            ..FileChange::new(StoredPath(path.to_owned()), before, after)
        })
    }

    /// Updates the folders that were listed, and removes those that are gone. Returns what was
    /// ignored in them and is gone; true for folders.
    fn take(&mut self, listing: Listing, now: i64) -> Vec<(PathBuf, bool)> {
        let mut removed = Vec::new();
        for (path, listed) in listing {
            let mut before = if listed.is_gone {
                let gone = self.folders.remove(&path).unwrap_or_default();
                // One that has become ignored is still there.
                if is_folder(&path) {
                    continue;
                }
                gone.ignored
            } else {
                let folder = self.folders.entry(path.clone()).or_default();
                folder.stamp = listed.stamp.settled(now);
                folder.is_repository = listed.is_repository;
                std::mem::replace(&mut folder.ignored, listed.ignored())
            };
            before.retain(|name, _| !listed.has(name));
            let before = before.into_iter();
            removed.extend(before.map(|(name, is_folder)| (path.join(name), is_folder)));
        }
        removed
    }
}

impl Found {
    /// Returns true if a file is listed. `None` if its folder was not looked at.
    fn lists(&self, path: &Path) -> Option<bool> {
        let listed = self.listing.get(path.parent()?)?;
        Some(listed.lists(path.file_name()?))
    }
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|it| it.is_dir())
}

/// Returns true if a file that no checkpoint holds was written.
fn is_rewritten(before: Option<&Known>, after: Option<&Known>) -> bool {
    let both = before.zip(after);
    both.is_some_and(|(before, after)| {
        matches!(before.file_state, FileState::NotCovered(_)) && before.stamp != after.stamp
    })
}

fn compare_folder(path: &Path, folder: &Folder, differences: &mut Differences) {
    let Ok(opened) = OpenFolder::open_last(path) else {
        // It is gone, or a link or a file has its name.
        differences.folders.insert(path.to_owned());
        return;
    };
    let stamp = opened.own_status().map(|it| Stamp::of(&it));
    if stamp.ok() != Some(folder.stamp) {
        differences.folders.insert(path.to_owned());
    }
    for (name, known) in &folder.files {
        // A link belongs to the project as a link, and its target does not.
        let stamp = opened.status(name).map(|it| Stamp::of(&it));
        if stamp.ok() != Some(known.stamp) {
            differences.files.push(path.join(name));
        }
    }
}

/// Reads and stores a file, if there is room for it. `None` if it is gone.
fn read_file(path: &Path, objects: &Objects, room: &AtomicU64, now: i64) -> Option<Known> {
    let real = RealPath::exact(path.to_owned());
    // Before the content, so that a change in between is found by the next pass.
    let stamp = Stamp::of(&real.status().ok()??);
    let captured = Captured::on_disk(&real);
    let is_new = captured
        .file_state
        .hash()
        .is_some_and(|it| !objects.has(it));
    // Other threads store files at the same time, so a few may exceed the limit.
    let file_state = if is_new && room.load(Ordering::Relaxed) == 0 {
        FileState::NotCovered("the project's checkpoints take too much space".to_owned())
    } else {
        captured.store(objects)
    };
    let stored = file_state.hash().map_or(0, |it| objects.size(it));
    let less = |room: u64| Some(room.saturating_sub(stored));
    // Cannot fail, because `less` always returns a value.
    let _ = room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    (file_state != FileState::Absent).then_some(Known {
        stamp: match file_state {
            // Compared with what it was, although it may have been written just now.
            FileState::NotCovered(_) => stamp,
            _ => stamp.settled(now),
        },
        file_state,
        stored,
    })
}
