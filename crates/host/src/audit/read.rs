//! Reading the log back, and finding out whether it is whole.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::missing;
use super::record::Record;

/// How much of a file's end surely holds its last record: the longest line has a
/// path of 4096 characters, and three names of 256, each escaped to six bytes at
/// most; reasons are our own and short.
const TAIL: u64 = 64 * 1024;

/// The end of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// The last records, the oldest first.
    pub records: Vec<Record>,
    /// Sentences that say where the log is not as it was written.
    pub problems: Vec<String>,
}

/// How a file ends.
#[derive(Debug, Default)]
pub(super) struct Tail {
    /// Number and digest of the last record that is whole.
    pub last: Option<(u64, String)>,
    /// Whether the last line was cut off.
    pub is_torn: bool,
}

pub(super) fn tail_if_any(path: &Path) -> io::Result<Tail> {
    tail(path).or_else(missing)
}

pub(super) fn tail(path: &Path) -> io::Result<Tail> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let last = text.lines().rev().find_map(Record::read);
    Ok(Tail {
        last: last.map(|(record, hash)| (record.number, hash)),
        is_torn: !text.is_empty() && !text.ends_with('\n'),
    })
}

pub(super) fn last(files: &[PathBuf], count: usize) -> io::Result<Log> {
    let mut reader = Reader {
        count,
        records: VecDeque::new(),
        problems: Vec::new(),
        before: None,
    };
    for path in files {
        match File::open(path) {
            Ok(file) => reader.file(path, file)?,
            Err(error) => missing::<()>(error)?,
        }
    }
    Ok(Log {
        records: reader.records.into(),
        problems: reader.problems,
    })
}

struct Reader {
    count: usize,
    records: VecDeque<Record>,
    problems: Vec<String>,
    /// Digest of the record before, once there is one.
    before: Option<String>,
}

impl Reader {
    fn file(&mut self, path: &Path, file: File) -> io::Result<()> {
        let mut lines = BufReader::new(file);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            if lines.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches('\n');
            if !text.is_empty() {
                self.line(path, number, text);
            }
        }
        Ok(())
    }

    fn line(&mut self, path: &Path, number: usize, text: &str) {
        let at = format!("{} line {number}", path.display());
        let Some((record, hash)) = Record::read(text) else {
            let problem = "was cut off or changed after it was written";
            self.problems.push(format!("{at} {problem}."));
            return;
        };
        let expected = self.before.replace(hash);
        if expected.is_some_and(|expected| expected != record.before) {
            let problem = "does not follow on the record before it: one is missing or moved";
            self.problems.push(format!("{at} {problem}."));
        }
        if self.count == 0 {
            return;
        }
        if self.records.len() == self.count {
            self.records.pop_front();
        }
        self.records.push_back(record);
    }
}
