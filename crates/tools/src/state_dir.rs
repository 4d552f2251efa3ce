//! The state folder, and how files in it are written: readable by their owner only, behind
//! a lock between hosts, replaced whole.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};

/// Mode of the files.
pub const FILE_MODE: u32 = 0o600;
/// Mode of the folder.
const FOLDER_MODE: u32 = 0o700;
/// How long another host may hold a lock. It holds it for microseconds, unless it
/// was stopped right there.
const PATIENCE: Duration = Duration::from_secs(1);
/// Pause between two tries: some times as long as it is usually held.
const PAUSE: Duration = Duration::from_micros(200);

/// The folder: `stdpath("state")/flemma` of the Neovim that started this process.
pub fn path() -> PathBuf {
    let neovim = crate::variable("NVIM_APPNAME").filter(|name| !name.is_empty());
    crate::state_home()
        .join(neovim.as_deref().unwrap_or("nvim"))
        .join("flemma")
}

/// Makes a folder, and takes it from everybody else.
///
/// # Errors
///
/// It cannot be made.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(folder)?;
    if fs::metadata(folder)?.permissions().mode() & 0o077 != 0 {
        // A folder of somebody else's stays as it is; what is in it is still 0600.
        let _ = fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE));
    }
    Ok(())
}

/// Keeps other hosts out as long as it lives.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, and let go by dropping it")] File);

/// Waits for the lock file `name` in a folder, which is made if it is missing.
///
/// # Errors
///
/// `TimedOut` when another host holds it for more than a second; the folder or
/// the file cannot be made.
pub fn lock(folder: &Path, name: &str) -> io::Result<Lock> {
    make_folder(folder)?;
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(FILE_MODE)
        .open(folder.join(name))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::Error(error)) => Err(error),
        Err(TryLockError::WouldBlock) => aside(|| wait_for(file)),
    }
}

fn wait_for(file: File) -> io::Result<Lock> {
    let begun = Instant::now();
    loop {
        match file.try_lock() {
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

/// Replaces a file whole, by one that only its owner reads. The caller holds the
/// lock that all writers of the file take.
///
/// # Errors
///
/// Any error of the file system; the old file is then as it was.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, |new| {
        let file = write_new(new, content)?;
        aside(|| file.sync_all())
    })
}

/// Replaces a file whole, as [`replace`] does, without waiting for the disk: a crash of
/// the system may lose it.
///
/// # Errors
///
/// Any error of the file system; the old file is then as it was.
pub fn replace_unsynced(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, |new| write_new(new, content).map(drop))
}

fn replace_by(path: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
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
        .mode(FILE_MODE)
        .open(path)?;
    // One that was left behind keeps its mode otherwise.
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    file.write_all(content)?;
    Ok(file)
}

/// Does what may take long without keeping what else this thread has to do waiting: all
/// chats of a host are one thread's work.
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
