//! The usage log: one JSON object for each request of every chat, in the state folder. Lines
//! are only appended.
//!
//! Contains no text of a chat. Read for `:Flemma usage` and `flemma usage`.

mod report;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use platform::files::{PrivateOptions, read_exact_at};
use serde::{Deserialize, Serialize};
use tools::checkpoints::project_of;
use tools::state_dir;

use super::{RequestUsage, Sums};

pub use report::{USUAL_DAYS, UsageReport, UsageRow, lines, report};

/// Name of the newest file in the state folder; older files are numbered.
const FILE: &str = "usage.jsonl";
/// Lock file that keeps two hosts from starting a new file at once.
const LOCK: &str = "usage.lock";
/// Size at which a new file is started (4 MB, about 12,000 requests).
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Number of older files that are kept.
const KEPT: usize = 4;
/// Longest stored name of a provider or model, in characters.
const MAX_NAME: usize = 256;
/// Longest stored path, in characters; the limit of Linux.
const MAX_PATH: usize = 4096;

/// One request. All fields but the time have defaults, so that lines of other versions are
/// read; fields of later versions are ignored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct UsageRecord {
    /// When it ended, in milliseconds since 1970.
    pub time: u64,
    /// Its duration, in milliseconds.
    #[serde(default)]
    pub took_ms: u64,
    /// The chat's path, if the buffer had a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// The top of the project that the chat is in.
    #[serde(default)]
    pub project: String,
    /// The provider's name.
    #[serde(default)]
    pub provider: String,
    /// The model's name.
    #[serde(default)]
    pub model: String,
    /// Its figures.
    #[serde(flatten)]
    pub sums: Sums,
}

/// The records of some time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadUsage {
    /// The records, the oldest first.
    pub records: Vec<UsageRecord>,
    /// One sentence for each file with lines that are not records.
    pub problems: Vec<String>,
}

/// The log in one folder. The file is opened for each write because all hosts append to the
/// same one.
#[derive(Debug, Clone)]
pub struct UsageLog {
    folder: PathBuf,
    max_bytes: u64,
}

impl UsageRecord {
    fn of(request: &RequestUsage) -> Self {
        // Servers name their models as they like, and a line must stay short enough for one
        // write.
        let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
        let path = |path: &Path| cut(&path.to_string_lossy(), MAX_PATH);
        // The clock may be set back during a request.
        let (started, ended) = request.time;
        Self {
            time: ended,
            took_ms: ended.saturating_sub(started),
            document: request.path.as_deref().map(path),
            project: path(&project_of(&request.folder)),
            provider: cut(&request.tariff.provider, MAX_NAME),
            model: cut(&request.tariff.model, MAX_NAME),
            sums: request.sums(),
        }
    }
}

impl UsageLog {
    /// Returns the log in this folder, which need not exist.
    pub fn open(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            max_bytes: MAX_BYTES,
        }
    }

    /// Appends a request.
    ///
    /// # Errors
    ///
    /// The record is not in the log.
    pub fn add(&self, request: &RequestUsage) -> io::Result<()> {
        let record = serde_json::to_string(&UsageRecord::of(request))?;
        state_dir::make_folder(&self.folder)?;
        self.start_new_file()?;
        let mut options = OpenOptions::new();
        let options = options.create(true).read(true).append(true);
        // Readable by the user only: paths and models tell what the user works on.
        let mut file = options.private().open(self.file(0))?;
        let length = file.metadata()?.len();
        let mut last = [b'\n'];
        if let Some(at) = length.checked_sub(1) {
            read_exact_at(&file, &mut last, at)?;
        }
        // A line that was cut off by a full disk stays, to be reported.
        let start = if last == *b"\n" { "" } else { "\n" };
        // In one write, so that lines of two hosts are not mixed.
        file.write_all(format!("{start}{record}\n").as_bytes())
    }

    /// Reads the records since a time, in milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// A file of it exists and cannot be read.
    pub fn read_since(&self, time: u64) -> io::Result<ReadUsage> {
        let mut read = ReadUsage::default();
        // The oldest file first, so that the records are in order.
        for age in (0..=KEPT).rev() {
            let path = self.file(age);
            let bytes = match fs::read(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            // Invalid UTF-8 makes a damaged line, and must not hide the other lines.
            read.add_file(&path, &String::from_utf8_lossy(&bytes));
        }
        read.records.retain(|it| it.time >= time);
        Ok(read)
    }

    fn file(&self, age: usize) -> PathBuf {
        match age {
            0 => self.folder.join(FILE),
            age => self.folder.join(format!("usage.{age}.jsonl")),
        }
    }

    /// Starts a new file when the newest is full, and drops the oldest one.
    fn start_new_file(&self) -> io::Result<()> {
        let is_full = || fs::metadata(self.file(0)).is_ok_and(|it| it.len() >= self.max_bytes);
        // Tested without the lock first, which most requests then need not take.
        if !is_full() {
            return Ok(());
        }
        let _lock = state_dir::lock(&self.folder, LOCK)?;
        // Another host may have started one while this one waited.
        if is_full() {
            // From the oldest to the newest, so that no file is overwritten before it is moved.
            for age in (0..KEPT).rev() {
                let moved = fs::rename(self.file(age), self.file(age + 1));
                moved.or_else(|error| match error.kind() {
                    io::ErrorKind::NotFound => Ok(()),
                    _ => Err(error),
                })?;
            }
        }
        Ok(())
    }
}

impl ReadUsage {
    fn add_file(&mut self, path: &Path, text: &str) {
        let mut damaged = Vec::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty()) {
            match serde_json::from_str(line) {
                Ok(record) => self.records.push(record),
                Err(_) => damaged.push(number),
            }
        }
        // Reported and not skipped: sums with gaps must not look complete.
        self.problems.extend(damage(path, &damaged));
    }
}

/// Returns a sentence about damaged lines of a file.
fn damage(path: &Path, lines: &[usize]) -> Option<String> {
    let path = path.display();
    match lines {
        [] => None,
        [line] => Some(format!(
            "Line {line} of {path} is damaged and is not counted."
        )),
        [first, ..] => Some(format!(
            "{} lines of {path} are damaged and are not counted; the first is line {first}.",
            lines.len()
        )),
    }
}

#[cfg(test)]
mod tests;
