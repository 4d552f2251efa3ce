//! The folders that are bound at `/tmp`, one per chat.
//!
//! They are in a folder that only the user can enter, and survive the host: a chat that
//! is opened again finds its files. Those not used for ten days are removed.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, getuid, test_kill_process};

/// As long as systemd keeps what is in `/tmp`.
const KEPT_FOR: Duration = Duration::from_secs(10 * 86_400);
/// Starts the name of a folder whose chat has no file; the id of the process follows.
const OF_PROCESS: &str = "process-";

/// The folder that is bound at `/tmp` in the chat that `key` names. It is not made
/// here. Without a key it belongs to this process and ends with it.
pub fn tmp_folder(key: Option<&str>) -> PathBuf {
    let name = match key {
        Some(key) => key.to_owned(),
        None => format!("{OF_PROCESS}{}", std::process::id()),
    };
    base().join(name)
}

/// The folder that holds all of them.
pub(super) fn base() -> PathBuf {
    let temporary = std::env::temp_dir();
    let temporary = temporary.canonicalize().unwrap_or(temporary);
    temporary.join(format!("flemma-{}", getuid().as_raw()))
}

/// Makes a folder of [`tmp_folder`], and removes those that no process uses any more.
///
/// # Errors
///
/// It cannot be made, or its parent belongs to another user or can be entered by one.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    static SWEPT: Once = Once::new();
    let parent = folder.parent().unwrap_or(folder);
    make_private(parent)?;
    make_private(folder)?;
    if parent == base() {
        SWEPT.call_once(|| sweep(parent));
    }
    Ok(())
}

fn make_private(folder: &Path) -> io::Result<()> {
    let made = DirBuilder::new().mode(0o700).create(folder);
    let found = fs::symlink_metadata(folder);
    let is_ours = |found: &Metadata| {
        found.is_dir() && found.uid() == getuid().as_raw() && found.mode() & 0o077 == 0
    };
    match (made, found) {
        (_, Ok(found)) if is_ours(&found) => Ok(()),
        (Err(error), Err(_)) => Err(error),
        // Another user could have put it there to read along.
        _ => Err(io::Error::other(format!(
            "{} belongs to another user or is open to others",
            folder.display()
        ))),
    }
}

fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let is_old = entry.metadata().is_ok_and(|found| is_old(&found));
        if is_old || is_of_dead_process(&entry.file_name()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_old(found: &Metadata) -> bool {
    let last = [found.modified(), found.accessed()];
    let last = last.into_iter().flatten().max();
    let age = last.and_then(|last| SystemTime::now().duration_since(last).ok());
    age.is_some_and(|age| age > KEPT_FOR)
}

fn is_of_dead_process(name: &OsStr) -> bool {
    let id = name.to_str().and_then(|name| name.strip_prefix(OF_PROCESS));
    let pid = id.and_then(|id| Pid::from_raw(id.parse().ok()?));
    pid.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_folder_of_others_or_a_link_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("base");
        make(&base.join("chat")).unwrap();
        make(&base.join("chat")).unwrap();
        fs::set_permissions(&base, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(make(&base.join("chat")).is_err());
        let link = folder.path().join("link");
        symlink(folder.path().join("base"), &link).unwrap();
        assert!(make(&link.join("other")).is_err());
    }

    #[test]
    fn folders_of_processes_that_ended_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, chat) = (tmp_folder(None), "0123abcd");
        let dead = format!("{OF_PROCESS}{}", i32::MAX);
        let names = [ours.file_name().unwrap(), chat.as_ref(), dead.as_ref()];
        for name in names {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        sweep(folder.path());
        let left = names.map(|name| folder.path().join(name).exists());
        assert_eq!(left, [true, true, false]);
    }
}
