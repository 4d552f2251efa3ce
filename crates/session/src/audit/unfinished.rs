//! Finds calls that started and, according to the log, never ended because their host
//! was killed.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use chat::approval::CallKey;

use super::missing;
use super::record::{Act, Record};

/// A call that is searched for.
struct Wanted<'c> {
    call: &'c CallKey,
    /// A record of this call; its `act` does not matter.
    like: Record,
    /// Text that all lines of the call contain. Searching for it is faster than parsing JSON.
    text: String,
    /// True if the call is running according to the records so far.
    runs: bool,
}

/// Returns those of a chat's `calls` that started and did not end, according to these
/// files, the oldest first. Skips lines that are not records.
pub(super) fn among(
    files: &[PathBuf],
    document: Option<&Path>,
    calls: &[CallKey],
) -> io::Result<Vec<CallKey>> {
    let wanted = calls.iter().map(|call| Wanted::new(document, call));
    let mut wanted = wanted.collect::<io::Result<Vec<_>>>()?;
    for path in files {
        match File::open(path) {
            Ok(file) => look(file, &mut wanted)?,
            Err(error) => missing::<()>(error)?,
        }
    }
    let running = wanted.into_iter().filter(|it| it.runs);
    Ok(running.map(|it| it.call.clone()).collect())
}

fn look(file: File, wanted: &mut [Wanted<'_>]) -> io::Result<()> {
    for line in BufReader::new(file).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        // Parsing every line of a large log would take long, and few lines are about these
        // calls.
        if !wanted.iter().any(|it| line.contains(&it.text)) {
            continue;
        }
        if let Some(record) = Record::read(&line) {
            wanted.iter_mut().for_each(|it| it.follow(&record));
        }
    }
    Ok(())
}

impl<'c> Wanted<'c> {
    fn new(document: Option<&Path>, call: &'c CallKey) -> io::Result<Self> {
        // Any act will do, because only the call is compared.
        let nothing = Act::Started {
            sandbox: String::new(),
        };
        let like = Record::new(document, call, nothing);
        let text = format!("\"call\":{}", serde_json::to_string(&like.call)?);
        Ok(Self {
            call,
            like,
            text,
            runs: false,
        })
    }

    fn follow(&mut self, record: &Record) {
        if record.is_of_the_call_of(&self.like) {
            match record.act {
                Act::Started { .. } => self.runs = true,
                Act::Ended { .. } => self.runs = false,
                Act::Decided { .. }
                | Act::Tried { .. }
                | Act::Changed { .. }
                | Act::JobEnded { .. } => {}
            }
        }
    }
}
