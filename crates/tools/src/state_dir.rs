//! The state folder, and writing of files in it: readable only by the owner, guarded by a lock
//! between hosts, and replaced whole.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use platform::files::{PrivateOptions, make_private_folders, restrict_file, restrict_folder};
use platform::places;
use tokio::runtime::{Handle, RuntimeFlavor};

/// How long to wait for another host's lock. Locks are held for microseconds unless a host is
/// stopped while holding one.
const PATIENCE: Duration = Duration::from_secs(1);
/// Pause between two attempts, a few times as long as a lock is usually held.
const PAUSE: Duration = Duration::from_micros(200);

/// The state folder: `stdpath("state")/flemma` of the Neovim that started this process.
pub fn path() -> PathBuf {
    let neovim = crate::variable("NVIM_APPNAME").filter(|name| !name.is_empty());
    let neovim = places::neovim_state(neovim.as_deref().unwrap_or("nvim"));
    crate::state_home().join(neovim).join("flemma")
}

/// Creates a folder that only the owner can access.
///
/// # Errors
///
/// The folder can't be created.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    make_private_folders(folder)?;
    restrict_folder(folder)
}

/// A lock that excludes other hosts until it is dropped.
#[derive(Debug)]
pub struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a process that starts at this moment has a copy of the file until
        // it runs its program. Closing follows in any case.
        let _ = self.0.unlock();
    }
}

/// Waits for the lock file `name` in a folder, both of which are created if needed.
///
/// # Errors
///
/// `TimedOut` if another host holds the lock for more than a second, or the folder or file
/// can't be created.
pub fn lock(folder: &Path, name: &str) -> io::Result<Lock> {
    lock_by(lock_file(folder, name)?, File::try_lock)
}

/// Waits for a lock that any number of holders share, and that excludes [`lock`] and
/// [`try_lock`] of the same name.
///
/// # Errors
///
/// As for [`lock`].
pub fn lock_shared(folder: &Path, name: &str) -> io::Result<Lock> {
    lock_by(lock_file(folder, name)?, File::try_lock_shared)
}

/// Takes a lock like [`lock`], or returns `None` if another holds it.
///
/// # Errors
///
/// The folder or file can't be created.
pub fn try_lock(folder: &Path, name: &str) -> io::Result<Option<Lock>> {
    let file = lock_file(folder, name)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn lock_file(folder: &Path, name: &str) -> io::Result<File> {
    make_folder(folder)?;
    OpenOptions::new()
        .create(true)
        .read(true)
        // Creating a file requires write access, and Windows locks none that was opened for that
        // alone. Nothing is written to it.
        .append(true)
        .private()
        .open(folder.join(name))
}

type Attempt = fn(&File) -> Result<(), TryLockError>;

fn lock_by(file: File, attempt: Attempt) -> io::Result<Lock> {
    match attempt(&file) {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::Error(error)) => Err(error),
        Err(TryLockError::WouldBlock) => aside(|| wait_for(file, attempt)),
    }
}

fn wait_for(file: File, attempt: Attempt) -> io::Result<Lock> {
    let begun = Instant::now();
    loop {
        match attempt(&file) {
            Ok(()) => return Ok(Lock(file)),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if begun.elapsed() > PATIENCE => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "another Neovim keeps it locked",
                ));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
        }
    }
}

/// Appends to a file that only its owner can read, in one write. Creates it if it is missing. The caller
/// holds the lock that all writers of the file take.
///
/// # Errors
///
/// Any error of the file system. The file may end with a part of the content then.
pub fn append(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .private()
        .open(path)?;
    file.write_all(content)
}

/// Replaces a file by one that only its owner can read. The caller holds the lock that all
/// writers of the file take.
///
/// # Errors
///
/// Any error of the file system. The old file is unchanged then.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, |new| {
        let file = write_new(new, content)?;
        aside(|| file.sync_all())
    })
}

/// Replaces a file like [`replace`], also under the lock, but without waiting for the disk, so a system crash may
/// lose the change.
///
/// # Errors
///
/// Any error of the file system. The old file is unchanged then.
pub fn replace_unsynced(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, |new| write_new(new, content).map(drop))
}

fn replace_by(path: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    // The name is fixed, because the caller excludes other writers by its lock.
    let new = path.with_extension("new");
    let written = write(&new).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .private()
        .open(path)?;
    // An existing file left by a crash has its own mode.
    restrict_file(&file)?;
    file.write_all(content)?;
    Ok(file)
}

/// Runs slow work without blocking the other tasks of this thread, which serves all chats of a
/// host.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_shared_lock_excludes_only_those_that_do_not_share_it() {
        let folder = tempfile::tempdir().unwrap();
        let shared = lock_shared(folder.path(), "lock").unwrap();
        drop(lock_shared(folder.path(), "lock").unwrap());
        assert!(try_lock(folder.path(), "lock").unwrap().is_none());
        drop(shared);
        assert!(try_lock(folder.path(), "lock").unwrap().is_some());
    }

    #[test]
    fn who_waits_for_a_lock_keeps_no_other_work_of_the_thread_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock(folder.path(), "lock").unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let path = folder.path().to_owned();
        let waits = runtime.spawn(async move { lock(&path, "lock").is_ok() });
        let lets_go = runtime.spawn(async move { drop(held) });
        assert!(runtime.block_on(waits).unwrap());
        runtime.block_on(lets_go).unwrap();
    }
}
