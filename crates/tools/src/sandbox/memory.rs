//! What this process remembers from one command to the next: what was seen below
//! folders, what commands made and could keep, and what others wrote while they ran.
//!
//! Judges nothing. All of it can be forgotten: then folders are read again, and what
//! commands made is the user's.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tree::{Root, Tree};
use crate::files::{Fingerprint, RealPath};

/// Most folders whose look is remembered, and most paths that commands made.
const MOST: (usize, usize) = (16, 1_000);

#[derive(Default)]
struct Memory {
    seen: HashMap<PathBuf, Arc<Tree>>,
    made: HashSet<PathBuf>,
    written: HashMap<PathBuf, Fingerprint>,
}

static MEMORY: Mutex<Option<Memory>> = Mutex::new(None);

fn locked() -> MutexGuard<'static, Option<Memory>> {
    // A panic elsewhere cannot leave it half changed.
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was seen there last time.
pub(super) fn seen(root: &Root) -> Arc<Tree> {
    let memory = locked();
    let found = memory.as_ref().and_then(|it| it.seen.get(&root.path));
    found.cloned().unwrap_or_default()
}

/// Keeps what was seen now.
pub(super) fn remember(root: &Root, tree: Arc<Tree>) {
    if !root.is_deep {
        return;
    }
    let mut memory = locked();
    let seen = &mut memory.get_or_insert_default().seen;
    if seen.len() >= MOST.0 && !seen.contains_key(&root.path) {
        seen.clear();
    }
    seen.insert(root.path.clone(), tree);
}

/// Keeps what commands made.
pub(super) fn add_made_by_commands(paths: impl Iterator<Item = PathBuf>) {
    let mut memory = locked();
    let made = &mut memory.get_or_insert_default().made;
    made.extend(paths);
    if made.len() > MOST.1 {
        made.clear();
    }
}

/// What commands made, of which `is_still` holds.
pub(super) fn made_by_commands(is_still: impl Fn(&Path) -> bool) -> HashSet<PathBuf> {
    let mut memory = locked();
    let made = &mut memory.get_or_insert_default().made;
    made.retain(|path| is_still(path));
    made.clone()
}

/// Keeps what a file tool writes there.
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
        // An empty folder was made by somebody else.
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
