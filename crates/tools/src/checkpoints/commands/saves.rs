//! The files that the user saves in the editor while commands run.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::checkpoints::index::now_ns;
use crate::files::leads_to;

/// The files that the user saved while commands run.
#[derive(Debug)]
struct Saves {
    /// Number of commands that run, in any project.
    running: usize,
    /// The files with their times in nanoseconds since 1970.
    files: Vec<(PathBuf, i64)>,
}

static SAVES: Mutex<Saves> = Mutex::new(Saves {
    running: 0,
    files: Vec::new(),
});

fn with<T>(work: impl FnOnce(&mut Saves) -> T) -> T {
    work(&mut SAVES.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Records that the user saved a file. The change is the user's, even if a running command also
/// changed the file.
pub fn user_saved(path: &Path) {
    with(|it| {
        // Without a command, no change needs an author.
        if it.running > 0 {
            it.files.push((path.to_owned(), now_ns()));
        }
    });
}

/// Counts a command that begins.
pub(super) fn begin() {
    with(|it| it.running += 1);
}

/// Counts a command that has ended.
pub(super) fn end() {
    with(|it| {
        it.running = it.running.saturating_sub(1);
        // No later command begins before these times.
        if it.running == 0 {
            it.files.clear();
        }
    });
}

/// Real paths of the files that were saved since a time.
pub(super) fn since(time: i64) -> HashSet<PathBuf> {
    let files = with(|it| it.files.clone());
    let files = files.into_iter().filter(|(_, at)| *at >= time);
    files.map(|(path, _)| leads_to(&path)).collect()
}
