//! The log of decisions: what was decided about each call and by whom, what ran,
//! and how it ended. Lines of JSON that are only ever added, each of which holds
//! the digest of the one before, so that a change in the middle shows.
//!
//! Keeps digests of arguments and no arguments, so no secret is in it. Whoever can
//! write the file can also make a new one; the chain shows damage, not forgery.

mod read;
mod record;
mod show;
mod underway;
mod unfinished;

pub use read::Log;
pub use record::{Act, Record, Word};
pub use show::lines;
pub use underway::Underway;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use chat::Problem;
use chat::approval::CallKey;
use chat::cycle::Decided;
use chat::tool::ToolOutcome;

use crate::private;

/// The log's name in the folder of our state; older ones have a number.
const FILE: &str = "audit.jsonl";
/// What keeps two hosts from writing at once.
const LOCK: &str = "audit.lock";
/// Size at which a new file is begun (4 MB, some 10,000 calls).
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Older files that are kept.
const KEPT: usize = 4;

/// The log in one folder. It is opened for each record, so that all Neovims write
/// one chain.
#[derive(Debug, Clone)]
pub struct Audit {
    folder: PathBuf,
    max_bytes: u64,
    /// Where the chain ended when we wrote last: while the file is no longer than
    /// that, nobody else wrote, and it need not be read again.
    end: Arc<Mutex<Option<End>>>,
}

/// A call that starts.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// Which.
    pub call: &'a CallKey,
    /// Who approved it, where that is not in the log yet.
    pub by: Option<&'a str>,
    /// What holds it, such as `none` or `bwrap`.
    pub sandbox: &'a str,
}

/// Where the chain ends.
#[derive(Debug, Clone)]
struct End {
    /// The newest file: its number in the file system, and its size.
    file: u64,
    length: u64,
    number: u64,
    hash: String,
}

impl Audit {
    /// The log in this folder, which need not exist.
    pub fn open(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            max_bytes: MAX_BYTES,
            end: Arc::default(),
        }
    }

    /// Records decisions, as one write. `document` is absent for a buffer without a
    /// name.
    ///
    /// # Errors
    ///
    /// The records are not in the log. The calls must not run then; see
    /// [`Audit::refusal`].
    pub fn decided(&self, document: Option<&Path>, decided: &[Decided]) -> io::Result<()> {
        let entries = decided.iter().map(|it| (&it.call, record::decision(it)));
        self.append(document, entries.collect())
    }

    /// Records that calls start now, and what was decided and how others ended before, as
    /// one write.
    ///
    /// # Errors
    ///
    /// As [`Audit::decided`].
    pub fn begun(
        &self,
        document: Option<&Path>,
        ended: &[(CallKey, ToolOutcome)],
        decided: &[Decided],
        calls: &[Start<'_>],
    ) -> io::Result<()> {
        let ends = ended.iter().map(|(call, it)| (call, record::end(it)));
        let decisions = decided.iter().map(|it| (&it.call, record::decision(it)));
        let mut acts: Vec<_> = ends.chain(decisions).collect();
        for start in calls {
            let decided = start.by.map(|by| Act::Decided {
                decision: Word::Approved,
                by: record::short(by),
                reason: None,
            });
            let sandbox = record::short(start.sandbox);
            acts.extend(decided.map(|act| (start.call, act)));
            acts.push((start.call, Act::Started { sandbox }));
        }
        self.append(document, acts)
    }

    /// Says that the ends of these calls are about to be recorded, until it is dropped.
    pub fn underway(&self, document: Option<&Path>, calls: &[(CallKey, ToolOutcome)]) -> Underway {
        let calls = calls.iter().map(|(call, _)| call.clone());
        Underway::new(&self.folder, document, calls.collect())
    }

    /// Records how calls ended, as one write.
    ///
    /// # Errors
    ///
    /// The records are not in the log.
    pub fn ended(
        &self,
        document: Option<&Path>,
        calls: &[(CallKey, ToolOutcome)],
    ) -> io::Result<()> {
        let acts = calls
            .iter()
            .map(|(call, outcome)| (call, record::end(outcome)));
        self.append(document, acts.collect())
    }

    /// Which of these calls started and did not end, by the end of the log: some
    /// 10,000 calls at least.
    ///
    /// # Errors
    ///
    /// A file of it exists and cannot be read.
    pub fn without_end(
        &self,
        document: Option<&Path>,
        calls: &[CallKey],
    ) -> io::Result<Vec<CallKey>> {
        // Looked at first: what is written by now is found in the file.
        let ending = |call: &&CallKey| !underway::has(&self.folder, document, call);
        let calls: Vec<CallKey> = calls.iter().filter(ending).cloned().collect();
        unfinished::among(&[self.file(1), self.file(0)], document, &calls)
    }

    /// What to tell the user when a call is refused because the log cannot be
    /// written.
    pub fn refusal(&self, error: &io::Error) -> Problem {
        Problem::new(
            format!(
                "The log of decisions in {} cannot be written ({error}), so nothing runs.",
                self.folder.display()
            ),
            "Make room or mend its permissions, then press Ctrl-] again; the chat is unchanged.",
        )
    }

    /// The last `count` records, and what is wrong with the log.
    ///
    /// # Errors
    ///
    /// A file of it exists and cannot be read.
    pub fn read_last(&self, count: usize) -> io::Result<Log> {
        // Oldest first, as the chain runs.
        let files: Vec<PathBuf> = (0..=KEPT).rev().map(|age| self.file(age)).collect();
        read::last(&files, count)
    }

    fn file(&self, age: usize) -> PathBuf {
        match age {
            0 => self.folder.join(FILE),
            age => self.folder.join(format!("audit.{age}.jsonl")),
        }
    }

    fn append(&self, document: Option<&Path>, acts: Vec<(&CallKey, Act)>) -> io::Result<()> {
        // First of all, so that threads of ours wait for each other here: whoever waits
        // for the lock file sleeps between two tries.
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let _lock = private::lock(&self.folder, LOCK)?;
        self.rotate()?;
        let path = self.file(0);
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(private::FILE_MODE)
            .open(&path)?;
        let metadata = file.metadata()?;
        let (inode, length) = (metadata.ino(), metadata.len());
        let known = end
            .take()
            .filter(|end| (end.file, end.length) == (inode, length));
        let (mut number, mut hash, is_torn) = match known {
            Some(end) => (end.number, end.hash, false),
            None => self.read_end(&path)?,
        };
        let mut lines = String::from(if is_torn { "\n" } else { "" });
        for (call, act) in acts {
            number += 1;
            let (line, digest) = Record::new(number, hash, document, call, act).line()?;
            lines.push_str(&line);
            hash = digest;
        }
        let written = file.write_all(lines.as_bytes());
        if written.is_err() {
            // Half a line would hide the next one.
            let _ = file.set_len(length);
            return written;
        }
        let length = length + lines.len() as u64;
        *end = Some(End {
            file: inode,
            length,
            number,
            hash,
        });
        Ok(())
    }

    /// Number and digest of the last record, and whether half a line follows it.
    fn read_end(&self, path: &Path) -> io::Result<(u64, String, bool)> {
        let tail = read::tail(path)?;
        // After the start of a new file the chain goes on from the one before.
        let (number, hash) = match tail.last {
            Some(last) => last,
            None => read::tail_if_any(&self.file(1))?.last.unwrap_or_default(),
        };
        Ok((number, hash, tail.is_torn))
    }

    /// Begins a new file when this one is full; the oldest one goes.
    fn rotate(&self) -> io::Result<()> {
        let is_full = |file: File| Ok(file.metadata()?.len() >= self.max_bytes);
        let full = File::open(self.file(0))
            .and_then(is_full)
            .or_else(missing)?;
        if full {
            for age in (0..KEPT).rev() {
                fs::rename(self.file(age), self.file(age + 1)).or_else(missing)?;
            }
        }
        Ok(())
    }
}

/// A file that is not there is no failure.
fn missing<T: Default>(error: io::Error) -> io::Result<T> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(T::default()),
        _ => Err(error),
    }
}

#[cfg(test)]
#[path = "audit/tests.rs"]
mod tests;
