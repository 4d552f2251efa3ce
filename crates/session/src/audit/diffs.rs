//! Diffs of the files that calls changed, stored beside the log. The oldest are dropped.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use policy::sha256;
use tools::state_dir;

/// Name of the folder in the state folder.
const FOLDER: &str = "diffs";
/// Lock file in the state folder.
const LOCK: &str = "diffs.lock";
/// Maximum bytes of a diff that is kept.
const MAX_BYTES: usize = 1024 * 1024;
/// Maximum number of diffs, and of bytes of all diffs.
const MOST: (usize, u64) = (2000, 64 * 1024 * 1024);

/// Returns the file of a diff.
pub(super) fn file(state: &Path, name: &str) -> PathBuf {
    state.join(FOLDER).join(format!("{name}.diff"))
}

/// Keeps a diff. Returns its name, or `None` if it is too long.
///
/// # Errors
///
/// It cannot be written.
pub(super) fn keep(state: &Path, diff: &str) -> io::Result<Option<String>> {
    // The counts of the lines are in the log in any case.
    if diff.is_empty() || diff.len() > MAX_BYTES {
        return Ok(None);
    }
    let folder = state.join(FOLDER);
    state_dir::make_folder(&folder)?;
    // Equal diffs share a file, and the digest in the log is its name.
    let name = sha256(diff.as_bytes());
    // Another host may keep an equal diff at the same time. Beside the folder, whose oldest files
    // are removed.
    let _lock = state_dir::lock(state, LOCK)?;
    // Not synced to disk, because the log is complete without the diff.
    state_dir::replace_unsynced(&file(state, &name), diff.as_bytes())?;
    drop_oldest(&folder, MOST)?;
    Ok(Some(name))
}

/// Removes the oldest files, until the rest is within the limits.
fn drop_oldest(folder: &Path, (count, bytes): (usize, u64)) -> io::Result<()> {
    let entry = |entry: io::Result<DirEntry>| -> Option<(PathBuf, Metadata)> {
        // Another host may be removing files, so unreadable entries are skipped.
        let entry = entry.ok()?;
        Some((entry.path(), entry.metadata().ok()?))
    };
    let mut files: Vec<_> = fs::read_dir(folder)?.filter_map(entry).collect();
    let mut total: u64 = files.iter().map(|(_, it)| it.len()).sum();
    if files.len() <= count && total <= bytes {
        return Ok(());
    }
    // The name says nothing about the age.
    files.sort_by_key(|(_, it)| it.modified().ok());
    let mut left = files.len();
    for (path, metadata) in files {
        if left <= count && total <= bytes {
            break;
        }
        fs::remove_file(path)?;
        left -= 1;
        total = total.saturating_sub(metadata.len());
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_diff_is_kept_once_and_read_by_its_name() {
        let state = tempfile::tempdir().unwrap();
        let name = keep(state.path(), "+a\n").unwrap().unwrap();
        assert_eq!(keep(state.path(), "+a\n").unwrap(), Some(name.clone()));
        let kept = fs::read_to_string(file(state.path(), &name)).unwrap();
        assert_eq!(kept, "+a\n");
        let long = "+".repeat(MAX_BYTES + 1);
        assert_eq!(keep(state.path(), &long).unwrap(), None);
        assert_eq!(fs::read_dir(state.path().join(FOLDER)).unwrap().count(), 1);
    }

    #[test]
    fn the_oldest_are_dropped() {
        let folder = tempfile::tempdir().unwrap();
        for age in 0..5 {
            let path = folder.path().join(age.to_string());
            fs::write(&path, "1234").unwrap();
            let modified = SystemTime::now() - Duration::from_secs(age);
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(modified).unwrap();
        }
        let left = || {
            let entries = fs::read_dir(folder.path()).unwrap();
            let mut names: Vec<_> = entries.map(|it| it.unwrap().file_name()).collect();
            names.sort();
            names
        };
        drop_oldest(folder.path(), (5, 20)).unwrap();
        assert_eq!(left().len(), 5);
        drop_oldest(folder.path(), (4, 20)).unwrap();
        assert_eq!(left(), ["0", "1", "2", "3"]);
        drop_oldest(folder.path(), (4, 9)).unwrap();
        assert_eq!(left(), ["0", "1"]);
    }
}
