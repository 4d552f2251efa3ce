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

/// Records that the user saved a file, for the commands that run in this program.
pub(super) fn record(path: &Path) {
    with(|it| {
        // Without a command, no change needs an author.
        if it.running > 0 {
            it.files.push((path.to_owned(), now_ns()));
        }
    });
}

/// A command, during which the user's saves are recorded.
#[derive(Debug)]
pub(super) struct SaveWatch {
    /// When the first save was recorded that counts, in nanoseconds since 1970.
    pub(super) since: i64,
}

impl SaveWatch {
    /// Counts a command that begins.
    pub(super) fn begin() -> Self {
        with(|it| {
            it.running += 1;
            // Not earlier: a save between this time and the count would be missing.
            Self { since: now_ns() }
        })
    }
}

impl Drop for SaveWatch {
    /// Counts a command that has ended.
    fn drop(&mut self) {
        with(|it| {
            it.running = it.running.saturating_sub(1);
            // No later command begins before these times.
            if it.running == 0 {
                it.files.clear();
            }
        });
    }
}

/// Real paths of the files that were saved since a time.
pub(super) fn since(time: i64) -> HashSet<PathBuf> {
    let files = with(|it| it.files.clone());
    let files = files.into_iter().filter(|(_, at)| *at >= time);
    files.map(|(path, _)| leads_to(&path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_save_right_after_a_command_has_begun_is_the_users() {
        let watch = SaveWatch::begin();
        let path = Path::new("/nowhere/saved");
        record(path);
        assert!(since(watch.since).contains(path));
    }
}
