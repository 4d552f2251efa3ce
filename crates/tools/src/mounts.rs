//! Files that sandboxes of running commands protect with a mount.
//!
//! Linux lifts a mount when another process renames a file over the mounted one. A command
//! that may not write a chat could then write it as soon as the chat is saved. So such
//! files are written in place while a command runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The mounted files of each command that runs.
static MOUNTED: Mutex<Vec<Arc<[PathBuf]>>> = Mutex::new(Vec::new());

/// The mounted files of one command; it ends with the command.
#[derive(Debug)]
#[allow(dead_code, reason = "only sandboxes of Linux mount files")]
pub(crate) struct Mounts(Arc<[PathBuf]>);

#[allow(dead_code, reason = "only sandboxes of Linux mount files")]
impl Mounts {
    /// Registers `paths`, which are real paths, before the command starts.
    pub(crate) fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let paths: Arc<[PathBuf]> = paths.into_iter().collect();
        MOUNTED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(paths.clone());
        Self(paths)
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        let mut mounted = MOUNTED.lock().unwrap_or_else(PoisonError::into_inner);
        // By identity, because two commands may have mounted the same files.
        mounted.retain(|paths| !Arc::ptr_eq(paths, &self.0));
    }
}

/// Runs `replace`, which renames a file to `path`. Returns `None` without running it while
/// `path` is mounted, which it never is without a sandbox.
pub(crate) fn unless_mounted<T>(path: &Path, replace: impl FnOnce() -> T) -> Option<T> {
    // Held meanwhile, so that no command mounts the file between the check and the rename.
    let mounted = MOUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_mounted = mounted
        .iter()
        .any(|paths| paths.iter().any(|it| it == path));
    (!is_mounted).then(replace)
}
