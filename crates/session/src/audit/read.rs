//! Reads the log back.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::missing;
use super::record::Record;

/// The end of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// The last records, the oldest first.
    pub records: Vec<Record>,
    /// One sentence for each line that is not a record.
    pub problems: Vec<String>,
}

/// Reads the last `count` records of these files, the oldest file first.
pub(super) fn last(files: &[PathBuf], count: usize) -> io::Result<Log> {
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
