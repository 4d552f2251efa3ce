//! State that this process keeps between commands: scans of folders, files that commands created
//! and could keep, and files that file tools wrote.
//!
//! This module decides nothing. All of it may be dropped: then folders are scanned again, and files
//! of commands count as the user's.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tree::{Root, Tree};
use crate::files::{Fingerprint, RealPath};

/// Maximum number of scans, and of paths.
const MOST: (usize, usize) = (16, 1_000);

#[derive(Default)]
struct Memory {
    seen: HashMap<PathBuf, Arc<Tree>>,
    made: HashSet<PathBuf>,
    written: HashMap<PathBuf, Fingerprint>,
}

static MEMORY: Mutex<Option<Memory>> = Mutex::new(None);

fn locked() -> MutexGuard<'static, Option<Memory>> {
    // A poisoned lock is fine, because no change can be left half done.
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The last scan of this root.
pub(super) fn seen(root: &Root) -> Arc<Tree> {
    let memory = locked();
    let found = memory.as_ref().and_then(|it| it.seen.get(&root.path));
    found.cloned().unwrap_or_default()
}

/// Stores a scan.
pub(super) fn remember(root: &Root, tree: Arc<Tree>) {
    if !root.is_deep {
        return;
    }
    let mut memory = locked();
    let seen = &mut memory.get_or_insert_default().seen;
    // Dropping all of them is enough, because another scan takes milliseconds.
    if seen.len() >= MOST.0 && !seen.contains_key(&root.path) {
        seen.clear();
    }
    seen.insert(root.path.clone(), tree);
}

/// Adds files that commands created.
pub(super) fn add_made_by_commands(paths: impl Iterator<Item = PathBuf>) {
    let mut memory = locked();
    let made = &mut memory.get_or_insert_default().made;
    made.extend(paths);
    if made.len() > MOST.1 {
        made.clear();
    }
}

/// The files that commands created, without those that no longer satisfy `is_still`.
pub(super) fn made_by_commands(is_still: impl Fn(&Path) -> bool) -> HashSet<PathBuf> {
    let mut memory = locked();
    let made = &mut memory.get_or_insert_default().made;
    made.retain(|path| is_still(path));
    made.clone()
}

/// Records what a file tool writes to `path`.
pub(super) fn add_written(path: &Path, text: &str) {
    let mut memory = locked();
    let written = &mut memory.get_or_insert_default().written;
    if written.len() >= MOST.1 {
        written.clear();
    }
    written.insert(path.to_owned(), Fingerprint::of(text.as_bytes()));
}

/// Whether a file, or everything in a folder, is as a file tool wrote it.
pub(super) fn is_as_written(path: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else {
        return false;
    };
    if found.is_dir() {
        let Ok(mut entries) = fs::read_dir(path) else {
            return false;
        };
        // File tools create no empty folders, so a command made it.
        let mut is_written = false;
        return entries.all(|entry| {
            is_written = entry.is_ok_and(|entry| is_as_written(&entry.path()));
            is_written
        }) && is_written;
    }
    let written = locked()
        .as_ref()
        .and_then(|it| it.written.get(path).cloned());
    found.is_file() && written.is_some_and(|it| fingerprint(path) == Some(it))
}

fn fingerprint(path: &Path) -> Option<Fingerprint> {
    let real = RealPath::of(path).ok()?;
    Fingerprint::of_file(&real).ok()
}
