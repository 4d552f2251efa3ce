//! Who works on a chat: one program at a time, so that two of them do not send it
//! twice, run its calls twice, or write over each other.
//!
//! A lease is a locked file in the folder of our state, named after the chat's real
//! path. Of the leases of other paths, those of the same file count too: it may have
//! several names, by hard links or mounts. The system takes the lock back when its holder ends, in whatever way, so
//! there is none that nobody holds. It keeps no other program from writing the
//! chat. Knows nothing of what is done with it.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::digest::sha256;
use crate::state_dir;

/// Where the leases are, in the folder of our state.
const FOLDER: &str = "leases";
/// Longest record of a holder that is read, in bytes.
const MAX_RECORD: u64 = 4096;

/// A program that works on chats, as it is named to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// What it is called, such as `Neovim`.
    pub name: String,
    /// Its process: of a host, that of the Neovim it serves.
    pub pid: u32,
}

/// The right to work on one chat. It is given back by dropping it.
#[derive(Debug)]
pub struct Lease {
    /// The chat's real path.
    chat: PathBuf,
    path: PathBuf,
    /// Locked.
    _file: File,
}

/// Why a chat cannot be worked on.
#[derive(Debug)]
pub enum Refusal {
    /// Somebody does already.
    Held(HeldBy),
    /// The folder of our state cannot be written, so that nobody can tell.
    Unknown(io::Error),
}

/// Who works on a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBy {
    /// Who; absent when it does not say.
    pub program: Option<Program>,
    /// For how long, by the clock on the wall.
    pub since: Duration,
}

/// What stands in the file of a lease.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    #[serde(flatten)]
    program: Program,
    /// Seconds since 1970.
    since: u64,
    /// The chat's real path.
    chat: String,
}

/// Takes the lease of the chat at `path`, which need not exist yet. `state` is the
/// folder of our state.
///
/// # Errors
///
/// Somebody has it, also in this process; or nobody can tell.
pub fn take(state: &Path, path: &Path, program: &Program) -> Result<Lease, Refusal> {
    let folder = state.join(FOLDER);
    state_dir::make_folder(&folder)?;
    let chat = real(path);
    let name = sha256(chat.as_os_str().as_encoded_bytes());
    let path = folder.join(format!("{name}.json"));
    loop {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(state_dir::FILE_MODE)
            .open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Refusal::Held(holder(file))),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        // Who gives a lease back takes its file away: one that was opened just before
        // is another file than the next one opens, and locks nobody out.
        if !is_at(&file, &path) {
            continue;
        }
        write(&mut file, program, &chat)?;
        let lease = Lease {
            chat,
            path,
            _file: file,
        };
        // Looked for after ours can be seen: of two programs that come at the same time at
        // least one sees the other.
        return match under_another_name(&folder, &lease) {
            Some(by) => Err(Refusal::Held(by)),
            None => Ok(lease),
        };
    }
}

impl Lease {
    /// Whether it is the lease of the chat at `path`.
    pub fn is_of(&self, path: &Path) -> bool {
        self.chat == real(path)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Before the lock goes, so that it is nobody else's file.
        let _ = fs::remove_file(&self.path);
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Unknown(error)
    }
}

/// Who it is and for how long, as a part of a sentence.
impl fmt::Display for HeldBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.program {
            Some(Program { name, pid }) => write!(f, "{name} (process {pid}, {})", age(self.since)),
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

/// The path without links, also of a file that does not exist yet.
pub fn real(path: &Path) -> PathBuf {
    let whole = fs::canonicalize(path);
    let in_folder = || {
        let folder = fs::canonicalize(path.parent()?).ok()?;
        Some(folder.join(path.file_name()?))
    };
    whole
        .ok()
        .or_else(in_folder)
        .unwrap_or_else(|| path.to_owned())
}

/// Who has the file of this lease by another path. Files are compared as they are now:
/// a program that saves by renaming puts another file at the same path.
fn under_another_name(folder: &Path, lease: &Lease) -> Option<HeldBy> {
    let chat = fs::metadata(&lease.chat).ok().map(id)?;
    let others = fs::read_dir(folder).ok()?.flatten();
    let others = others.map(|it| it.path()).filter(|it| *it != lease.path);
    others
        .filter_map(|path| {
            let mut file = File::open(path).ok()?;
            let there = PathBuf::from(record(&mut file)?.chat);
            if fs::metadata(there).ok().map(id)? != chat {
                return None;
            }
            // Left by a program that was killed, unless it is locked.
            let is_held = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
            is_held.then(|| holder(file))
        })
        .next()
}

fn id(metadata: fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => id(ours) == id(there),
        _ => false,
    }
}

fn record(file: &mut File) -> Option<Record> {
    let mut text = Vec::new();
    file.rewind().ok()?;
    file.take(MAX_RECORD).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

fn holder(mut file: File) -> HeldBy {
    let record = record(&mut file);
    let since = record.as_ref().map_or(0, |record| record.since);
    HeldBy {
        program: record.map(|record| record.program),
        since: Duration::from_secs(now().saturating_sub(since)),
    }
}

fn write(file: &mut File, program: &Program, chat: &Path) -> io::Result<()> {
    let record = Record {
        program: program.clone(),
        since: now(),
        chat: chat.to_string_lossy().into_owned(),
    };
    file.set_len(0)?;
    file.write_all(&serde_json::to_vec(&record)?)
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

#[cfg(test)]
#[path = "lease/tests.rs"]
mod tests;
