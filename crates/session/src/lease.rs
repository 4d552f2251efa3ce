//! The chat lock. Only one program works on a chat at a time; otherwise two of them would
//! send it twice, run its calls twice, or overwrite each other's changes.
//!
//! A lease is a locked file in the state folder, named after the chat's real path. A chat
//! can have several names, by hard links or mounts, so leases of other paths are compared
//! too. The system releases the lock when its holder ends, in whatever way. A lease does
//! not keep other programs from writing the chat.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use platform::files::{FileStatus, LOCKED_IS_READABLE, PrivateOptions};
use platform::paths::canonicalize;
use policy::sha256;
use serde::{Deserialize, Serialize};
use tools::state_dir;

/// Folder of the leases, in the state folder.
const FOLDER: &str = "leases";
/// Maximum bytes of a record that are read.
const MAX_RECORD: u64 = 4096;

/// A program that works on chats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseHolder {
    /// Its name, such as `Neovim`.
    pub name: String,
    /// Its process id; of a host, that of its Neovim.
    pub pid: u32,
}

/// The lock on one chat, which is released when this is dropped.
#[derive(Debug)]
pub struct Lease {
    /// The chat's real path.
    chat: PathBuf,
    /// The lease's own file.
    path: PathBuf,
    /// Locked as long as it is open.
    _file: File,
}

/// Why a lease cannot be taken.
#[derive(Debug)]
pub enum LeaseError {
    /// Another program has it.
    Held(HeldBy),
    /// The state folder cannot be written, so it is unknown.
    Unknown(io::Error),
}

/// The program that has a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBy {
    /// The program; `None` if its file does not say.
    pub program: Option<LeaseHolder>,
    /// Time since it took the lease, by the system clock.
    pub since: Duration,
}

/// The contents of a lease's file.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    #[serde(flatten)]
    program: LeaseHolder,
    /// Seconds since 1970.
    since: u64,
    /// The chat's real path.
    chat: String,
}

/// Takes the lease of the chat at `path`, which need not exist yet. `state` is the state
/// folder.
///
/// # Errors
///
/// Another program has it, or this one already; or the folder cannot be written.
pub fn take(state: &Path, path: &Path, program: &LeaseHolder) -> Result<Lease, LeaseError> {
    let folder = state.join(FOLDER);
    state_dir::make_folder(&folder)?;
    let chat = real(path);
    let name = sha256(chat.as_os_str().as_encoded_bytes());
    let path = folder.join(format!("{name}.json"));
    let mut file = locked(&path)?;
    write(&mut file, &path, program, &chat)?;
    let lease = Lease {
        chat,
        path,
        _file: file,
    };
    // Checked after our own lease is visible, so that of two programs that come at the same
    // time at least one sees the other.
    match under_another_name(&folder, &lease) {
        Some(holder) => Err(LeaseError::Held(holder)),
        None => Ok(lease),
    }
}

/// Opens and locks the file at `path`.
fn locked(path: &Path) -> Result<File, LeaseError> {
    loop {
        let file = OpenOptions::new()
            .create(true)
            // Until it is locked, the file may be another program's record.
            .truncate(false)
            .read(true)
            .write(true)
            .private()
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LeaseError::Held(holder(file, path))),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        // A holder deletes its file when it releases the lease. If that happened after the
        // file was opened, the next program opens another file, so this lock is worthless.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

impl Lease {
    /// Returns true if it is the lease of the chat at `path`.
    pub fn is_of(&self, path: &Path) -> bool {
        self.chat == real(path)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Removed before the lock is released, while no other program can have locked the file.
        let _ = fs::remove_file(&self.path);
        if !LOCKED_IS_READABLE {
            let _ = fs::remove_file(beside(&self.path));
        }
    }
}

impl From<io::Error> for LeaseError {
    fn from(error: io::Error) -> Self {
        Self::Unknown(error)
    }
}

/// The program and the time, as a part of a sentence.
impl fmt::Display for HeldBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.program {
            Some(LeaseHolder { name, pid }) => {
                write!(f, "{name} (process {pid}, {})", age(self.since))
            }
            None => write!(f, "another program"),
        }
    }
}

fn age(since: Duration) -> String {
    let (count, unit) = match since.as_secs() {
        0..60 => return "for less than a minute".to_owned(),
        seconds @ 60..3600 => (seconds / 60, "minute"),
        seconds @ 3600..86_400 => (seconds / 3600, "hour"),
        seconds => (seconds / 86_400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("for {count} {unit}{plural}")
}

/// Returns the path without links, also of a file that does not exist yet.
pub fn real(path: &Path) -> PathBuf {
    let whole = canonicalize(path);
    // A new chat has no file yet, but its folder can be a link.
    let in_folder = || {
        let folder = canonicalize(path.parent()?).ok()?;
        Some(folder.join(path.file_name()?))
    };
    whole
        .ok()
        .or_else(in_folder)
        .unwrap_or_else(|| path.to_owned())
}

/// Returns the program that has the chat of this lease by another path. The files are
/// compared as they are now, because a program that saves by renaming replaces the file.
fn under_another_name(folder: &Path, lease: &Lease) -> Option<HeldBy> {
    let chat = FileStatus::at(&lease.chat).ok()?.id;
    let others = fs::read_dir(folder).ok()?.flatten();
    // Our own record names the same chat.
    let others = others.map(|it| it.path()).filter(|it| *it != lease.path);
    let others = others.filter(|it| it.extension().is_some_and(|it| it == "json"));
    others
        .filter_map(|path| {
            let mut file = File::open(&path).ok()?;
            let there = PathBuf::from(record(&mut file, &path)?.chat);
            if FileStatus::at(&there).ok()?.id != chat {
                return None;
            }
            // A lease without a lock was left by a killed program. A shared lock that succeeds
            // is released with `file`.
            let is_held = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
            is_held.then(|| holder(file, &path))
        })
        .next()
}

fn is_at(file: &File, path: &Path) -> bool {
    match (FileStatus::of(file), FileStatus::at(path)) {
        (Ok(ours), Ok(there)) => ours.id == there.id,
        _ => false,
    }
}

/// The file of a lease's record where a locked file cannot be read.
fn beside(lease: &Path) -> PathBuf {
    lease.with_extension("holder")
}

fn record(file: &mut File, path: &Path) -> Option<Record> {
    let mut text = Vec::new();
    if LOCKED_IS_READABLE {
        file.rewind().ok()?;
        file.take(MAX_RECORD).read_to_end(&mut text).ok()?;
    } else {
        let file = File::open(beside(path)).ok()?;
        file.take(MAX_RECORD).read_to_end(&mut text).ok()?;
    }
    serde_json::from_slice(&text).ok()
}

fn holder(mut file: File, path: &Path) -> HeldBy {
    let record = record(&mut file, path);
    let since = record.as_ref().map_or(0, |record| record.since);
    HeldBy {
        program: record.map(|record| record.program),
        since: Duration::from_secs(now().saturating_sub(since)),
    }
}

fn write(file: &mut File, path: &Path, program: &LeaseHolder, chat: &Path) -> io::Result<()> {
    let record = Record {
        program: program.clone(),
        since: now(),
        chat: chat.to_string_lossy().into_owned(),
    };
    let text = serde_json::to_vec(&record)?;
    if !LOCKED_IS_READABLE {
        return fs::write(beside(path), text);
    }
    // The record of a program that was killed may be longer than this one.
    file.set_len(0)?;
    file.write_all(&text)
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

#[cfg(test)]
mod tests;
