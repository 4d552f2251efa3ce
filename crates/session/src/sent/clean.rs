//! Limits of all ledgers together: old ones are removed, the oldest first.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime};

use super::store::FOLDER;

/// Maximum bytes of all ledgers (2 GiB).
const MOST_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Time after which the ledger of a chat that was not sent is removed (90 days).
const MOST_AGE: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Once per process is often enough: limits are approximate.
static CLEANED: Once = Once::new();

/// Removes what exceeds the limits, on a thread of its own, the first time that this process
/// uses a ledger.
pub(super) fn once(state: &Path) {
    let folder = state.join(FOLDER);
    CLEANED.call_once(|| {
        // Files that cannot be removed now are removed by a later process.
        drop(std::thread::spawn(move || {
            clean(&folder, MOST_BYTES, MOST_AGE)
        }));
    });
}

/// Removes ledgers that were not used for `age`, and then the oldest until all take at most
/// `bytes`.
fn clean(folder: &Path, bytes: u64, age: Duration) {
    let ledgers = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut ledgers: Vec<(SystemTime, u64, PathBuf)> = ledgers
        .map(|entry| {
            let (used, size) = measure(&entry.path());
            (used, size, entry.path())
        })
        .collect();
    ledgers.sort();
    let mut total: u64 = ledgers.iter().map(|(_, size, _)| size).sum();
    let now = SystemTime::now();
    for (used, size, path) in ledgers {
        let is_old = now.duration_since(used).is_ok_and(|it| it > age);
        if is_old || total > bytes {
            let _ = fs::remove_dir_all(&path);
            total -= size;
        }
    }
}

/// Returns when a folder's files were last written, and their bytes.
fn measure(folder: &Path) -> (SystemTime, u64) {
    let (mut used, mut size) = (SystemTime::UNIX_EPOCH, 0);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Of the entry itself: a link is not followed.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let (its_use, its_size) = if metadata.is_dir() {
            measure(&entry.path())
        } else {
            (
                metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                metadata.len(),
            )
        };
        used = used.max(its_use);
        size += its_size;
    }
    // One without files is being made by a session.
    if used == SystemTime::UNIX_EPOCH {
        let metadata = fs::symlink_metadata(folder);
        used = metadata.and_then(|it| it.modified()).unwrap_or(used);
    }
    (used, size)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    /// Makes ledgers of 100 bytes, each used so many days ago.
    fn ledgers(ages: &[u32]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for days in ages {
            let contents = folder.path().join(days.to_string()).join("contents/ab");
            fs::create_dir_all(&contents).unwrap();
            let file = fs::File::create(contents.join("cd.raw")).unwrap();
            file.set_len(100).unwrap();
            file.set_modified(SystemTime::now() - DAY * *days).unwrap();
        }
        folder
    }

    fn left(folder: &tempfile::TempDir) -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn ledgers_that_were_not_used_for_long_are_removed() {
        let folder = ledgers(&[1, 89, 91, 400]);
        clean(folder.path(), MOST_BYTES, MOST_AGE);
        assert_eq!(left(&folder), ["1", "89"]);
    }

    #[test]
    fn the_oldest_ledgers_are_removed_until_the_rest_fits() {
        let folder = ledgers(&[1, 2, 3, 4]);
        clean(folder.path(), 250, MOST_AGE);
        assert_eq!(left(&folder), ["1", "2"]);
    }

    #[test]
    fn a_ledger_that_is_being_made_stays() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("new");
        fs::create_dir(&new).unwrap();
        clean(folder.path(), MOST_BYTES, MOST_AGE);
        assert!(new.exists());
    }
}
