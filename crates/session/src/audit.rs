//! The audit log: each decision about a call and the rule or user that made it, and the
//! start and end of the call. One JSON object per line; lines are only appended.
//!
//! Stores digests of arguments and results, so the log contains no secrets. The diffs of changed
//! files are kept beside it. It does not detect forgery: a program that can write the file can
//! write any record.

mod background;
mod diffs;
mod recent;
mod record;
mod show;
mod unfinished;

pub use background::finish;
pub(crate) use background::in_background;
pub use recent::{LoggedCall, LoggedCalls};
pub use record::{Act, Record, Word};
pub use show::{date, lines, now, today};

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use chat::Problem;
use chat::approval::CallKey;
use chat::cycle::Decided;
use chat::diff::Counts;
use chat::tool::ToolOutcome;
use platform::files::{PrivateOptions, read_exact_at};
use tools::{JobEnd, state_dir};

/// Name of the newest file in the state folder; older files are numbered.
const FILE: &str = "audit.jsonl";
/// Lock file that keeps two hosts from writing at once.
const LOCK: &str = "audit.lock";
/// Size at which a new file is started (4 MB, about 10,000 calls).
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Number of older files that are kept.
const KEPT: usize = 4;

/// The log in one folder. The file is opened for each write because all hosts append
/// to the same one.
#[derive(Debug, Clone)]
pub struct Audit {
    folder: PathBuf,
    max_bytes: u64,
    /// Serializes the writes of this process: waiting for the lock file polls.
    writes: Arc<Mutex<()>>,
    /// Ends of calls that are being written, so that another session of the same chat that reads the
    /// log meanwhile does not take those calls for interrupted ones.
    underway: Arc<Mutex<Vec<Arc<Ends>>>>,
}

/// Ends of calls of a chat that are being written.
#[derive(Debug)]
struct Ends {
    document: Option<PathBuf>,
    calls: Vec<CallKey>,
}

/// Marks the ends of some calls as being written, until it is dropped.
#[derive(Debug)]
pub struct Underway {
    ends: Arc<Ends>,
    all: Arc<Mutex<Vec<Arc<Ends>>>>,
}

impl Drop for Underway {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|ends| !Arc::ptr_eq(ends, &self.ends));
    }
}

/// A call that starts.
#[derive(Debug, Clone, Copy)]
pub struct CallStart<'a> {
    /// The call.
    pub call: &'a CallKey,
    /// The approver's name; `None` if the approval is in the log already.
    pub by: Option<&'a str>,
    /// The sandbox's name, such as `none` or `bwrap`.
    pub sandbox: &'a str,
}

impl Audit {
    /// Returns the log in this folder, which need not exist.
    pub fn open(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            max_bytes: MAX_BYTES,
            writes: Arc::default(),
            underway: Arc::default(),
        }
    }

    /// Appends decisions, in one write. `document` is `None` for a buffer without a
    /// name.
    ///
    /// # Errors
    ///
    /// The records are not in the log, so the calls must not run; see
    /// [`Audit::refusal`].
    pub fn decided(&self, document: Option<&Path>, decided: &[Decided]) -> io::Result<()> {
        let entries = decided.iter().map(|it| (&it.call, record::decision(it)));
        self.append(document, entries.collect())
    }

    /// Appends the starts of calls, after earlier decisions and ends of other calls, in
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
        calls: &[CallStart<'_>],
    ) -> io::Result<()> {
        // Ends of earlier calls come first, as they happened first.
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

    /// Appends that a call is tried.
    ///
    /// # Errors
    ///
    /// The record is not in the log.
    pub fn tried(&self, document: Option<&Path>, call: &CallKey, by: &str) -> io::Result<()> {
        let by = record::short(by);
        self.append(document, vec![(call, Act::Tried { by })])
    }

    /// Appends what a call changed in files. `diff` is kept beside the log, unless it is empty.
    ///
    /// # Errors
    ///
    /// The record or the diff cannot be written.
    pub fn changed(
        &self,
        document: Option<&Path>,
        call: &CallKey,
        Counts { added, removed }: Counts,
        diff: &str,
    ) -> io::Result<()> {
        let diff = diffs::keep(&self.folder, diff)?;
        let act = Act::Changed {
            added,
            removed,
            diff,
        };
        self.append(document, vec![(call, act)])
    }

    /// Returns the file with the diff of a record, if it was kept and is still there.
    pub fn diff_file(&self, record: &Record) -> Option<PathBuf> {
        let Act::Changed { diff, .. } = &record.act else {
            return None;
        };
        let file = diffs::file(&self.folder, diff.as_ref()?);
        file.is_file().then_some(file)
    }

    /// Marks the ends of these calls as being written until the returned value is dropped.
    pub fn underway(&self, document: Option<&Path>, calls: &[(CallKey, ToolOutcome)]) -> Underway {
        let ends = Arc::new(Ends {
            document: document.map(Path::to_owned),
            calls: calls.iter().map(|(call, _)| call.clone()).collect(),
        });
        let mut all = self.underway.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(ends.clone());
        Underway {
            ends,
            all: self.underway.clone(),
        }
    }

    /// Appends how calls ended, in one write.
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

    /// Appends how the background job of a call ended.
    ///
    /// # Errors
    ///
    /// The record is not in the log.
    pub fn job_ended(
        &self,
        document: Option<&Path>,
        call: &CallKey,
        end: &JobEnd,
    ) -> io::Result<()> {
        let (job, how) = (record::short(&end.job), record::short(&end.how));
        self.append(document, vec![(call, Act::JobEnded { job, how })])
    }

    /// Returns those of `calls` that started and did not end. Looks at the two newest
    /// files only: at least the last 10,000 calls.
    ///
    /// # Errors
    ///
    /// A file of it exists and cannot be read.
    pub fn without_end(
        &self,
        document: Option<&Path>,
        calls: &[CallKey],
    ) -> io::Result<Vec<CallKey>> {
        // Checked before the file is read, so that an end that is written meanwhile
        // is seen in one of the two.
        let calls = self.without_underway(document, calls);
        // The newest file may have been begun while the call ran.
        unfinished::among(&[self.file(1), self.file(0)], document, &calls)
    }

    /// Returns those of `calls` whose end is not being written.
    fn without_underway(&self, document: Option<&Path>, calls: &[CallKey]) -> Vec<CallKey> {
        let all = self.underway.lock().unwrap_or_else(PoisonError::into_inner);
        let of_chat = all.iter().filter(|it| it.document.as_deref() == document);
        let ending: Vec<&CallKey> = of_chat.flat_map(|it| &it.calls).collect();
        let others = calls.iter().filter(|call| !ending.contains(call));
        others.cloned().collect()
    }

    /// The message for a call that is refused because the log cannot be written.
    pub fn refusal(&self, error: &io::Error) -> Problem {
        Problem::new(
            format!(
                "The log of decisions in {} cannot be written ({error}), so nothing runs.",
                self.folder.display()
            ),
            "Free disk space or correct its permissions, then press Ctrl-] again; the chat is unchanged.",
        )
    }

    /// Reads the last `count` records, and reports lines that are not records.
    ///
    /// # Errors
    ///
    /// A file of it exists and cannot be read.
    pub fn read_last(&self, count: usize) -> io::Result<Log> {
        let files: Vec<PathBuf> = (0..=KEPT).rev().map(|age| self.file(age)).collect();
        read_last(&files, count)
    }

    fn file(&self, age: usize) -> PathBuf {
        match age {
            0 => self.folder.join(FILE),
            age => self.folder.join(format!("audit.{age}.jsonl")),
        }
    }

    fn append(&self, document: Option<&Path>, acts: Vec<(&CallKey, Act)>) -> io::Result<()> {
        // Taken first, because waiting for the lock file means polling.
        let _turn = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        let _lock = state_dir::lock(&self.folder, LOCK)?;
        let (mut file, length) = self.newest()?;
        let mut lines = String::new();
        // The cut-off line stays, so that it is reported; the next record begins on a new line.
        if ends_within_a_line(&file, length)? {
            lines.push('\n');
        }
        for (call, act) in acts {
            lines.push_str(&serde_json::to_string(&Record::new(document, call, act))?);
            lines.push('\n');
        }
        file.write_all(lines.as_bytes()).inspect_err(|_| {
            // Otherwise half a line would swallow the next record.
            // Ignored: if this fails too, the next append finds the half line.
            let _ = file.set_len(length);
        })
    }

    /// Opens the newest file and returns its length. Starts a new file when it is full, and
    /// drops the oldest one.
    fn newest(&self) -> io::Result<(File, u64)> {
        let mut options = OpenOptions::new();
        // With `append`, every write goes to the end, even if another host has written.
        let options = options.create(true).read(true).append(true);
        let options = options.private();
        let file = options.open(self.file(0))?;
        let length = file.metadata()?.len();
        // Checked before writing: a record is never split between two files.
        if length < self.max_bytes {
            return Ok((file, length));
        }
        // From the oldest to the newest, so that no file is overwritten before it is moved.
        for age in (0..KEPT).rev() {
            fs::rename(self.file(age), self.file(age + 1)).or_else(missing)?;
        }
        Ok((options.open(self.file(0))?, 0))
    }
}

/// Returns true if the file ends within a line: a host was killed while it appended.
fn ends_within_a_line(file: &File, length: u64) -> io::Result<bool> {
    let Some(last) = length.checked_sub(1) else {
        return Ok(false);
    };
    let mut byte = [0];
    read_exact_at(file, &mut byte, last)?;
    Ok(byte != *b"\n")
}

/// Replaces the error for a missing file by a default value.
fn missing<T: Default>(error: io::Error) -> io::Result<T> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(T::default()),
        _ => Err(error),
    }
}

/// The end of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// The last records, the oldest first.
    pub records: Vec<Record>,
    /// One sentence for each line that is not a record.
    pub problems: Vec<String>,
}

/// Reads the last `count` records of these files, the oldest file first.
fn read_last(files: &[PathBuf], count: usize) -> io::Result<Log> {
    let mut log = Log::default();
    for path in files {
        let bytes = fs::read(path).or_else(missing)?;
        let text = String::from_utf8_lossy(&bytes);
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty()) {
            match Record::read(line) {
                Some(record) => log.records.push(record),
                // Reported, not skipped: a log with gaps must not look complete.
                None => log.problems.push(format!(
                    "{} line {number} was cut off or changed after it was written.",
                    path.display()
                )),
            }
        }
    }
    let older = log.records.len().saturating_sub(count);
    log.records.drain(..older);
    Ok(log)
}

#[cfg(test)]
mod tests;
