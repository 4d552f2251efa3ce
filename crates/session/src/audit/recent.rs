//! The latest calls of the log with their arguments. The log has only digests of these, so
//! they are taken from the chats, if those still contain the call.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chat::approval::CallKey;
use chat::document::Document;
use chat::text::Text;
use policy::sha256;
use serde_json::Value;

use super::record::Record;
use super::{Act, Audit};

/// Records read per wanted call: a call has four, and some belong to other calls.
const RECORDS: usize = 8;
/// Maximum bytes of a chat that is read (16 MB).
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A call of the log.
#[derive(Debug, Clone)]
pub struct LoggedCall {
    /// The chat's path.
    pub chat: PathBuf,
    /// The call.
    pub call: CallKey,
    /// Its arguments.
    pub input: Value,
}

/// The latest calls of the log, the newest first.
#[derive(Debug, Clone, Default)]
pub struct LoggedCalls {
    /// The calls.
    pub calls: Vec<LoggedCall>,
    /// Number of calls that no chat contains any more.
    pub lost: usize,
}

impl Audit {
    /// Returns the last `count` calls about which something was decided. `open` is a chat
    /// whose text need not be in its file yet. Blocking.
    ///
    /// # Errors
    ///
    /// A file of the log exists and cannot be read.
    pub fn recent_calls(
        &self,
        count: usize,
        open: Option<(&Path, &Text)>,
    ) -> io::Result<LoggedCalls> {
        let log = self.read_last(count.saturating_mul(RECORDS))?;
        let wanted = latest(log.records, count);
        let total = wanted.len();
        let mut by_chat: BTreeMap<PathBuf, Vec<(usize, Record)>> = BTreeMap::new();
        for (at, record) in wanted.into_iter().enumerate() {
            if let Some(path) = record.document.as_ref().map(PathBuf::from) {
                by_chat.entry(path).or_default().push((at, record));
            }
        }
        let mut found = Vec::new();
        for (path, records) in by_chat {
            // The open buffer may be newer than its file.
            let text = match open {
                Some((name, text)) if name == path => Some(text.clone()),
                _ => read(&path),
            };
            found.extend(
                text.map(|it| calls(&path, &it, &records))
                    .unwrap_or_default(),
            );
        }
        // In the order of the log, newest first, not by chat.
        found.sort_by_key(|(at, _)| *at);
        Ok(LoggedCalls {
            lost: total - found.len(),
            calls: found.into_iter().map(|(_, call)| call).collect(),
        })
    }
}

/// Returns the last record of each call about which something was decided, the newest first.
fn latest(records: Vec<Record>, count: usize) -> Vec<Record> {
    let mut known = HashSet::new();
    let newest = records.into_iter().rev();
    let decided = newest.filter(|it| matches!(it.act, Act::Decided { .. }));
    // An ID may be used again with other arguments.
    let key = |it: &Record| (it.document.clone(), it.call.clone(), it.input.clone());
    decided
        .filter(|it| known.insert(key(it)))
        .take(count)
        .collect()
}

fn read(path: &Path) -> Option<Text> {
    let metadata = fs::metadata(path).ok()?;
    // By now, the path may lead to something else, for example a pipe.
    let is_chat = metadata.is_file() && metadata.len() <= MAX_BYTES;
    let bytes = is_chat.then(|| fs::read(path).ok())??;
    Some(Text::from(String::from_utf8_lossy(&bytes).as_ref()))
}

/// Returns the calls of a chat that these records are about, with their places.
fn calls(path: &Path, text: &Text, records: &[(usize, Record)]) -> Vec<(usize, LoggedCall)> {
    let document = Document::parse(text);
    let mut found = BTreeMap::new();
    for tool_use in document.calls() {
        let mut records = records.iter();
        let is_named =
            |record: &Record| record.call == tool_use.id.as_str() && record.tool == *tool_use.name;
        let Some((at, record)) = records.find(|(_, it)| is_named(it)) else {
            continue;
        };
        let call = chat::cycle::key(&document, tool_use);
        // The arguments may have been edited since the decision.
        if let Ok(input) = document.input(tool_use)
            && sha256(call.input.as_bytes()) == record.input
        {
            let chat = path.to_owned();
            found.insert(*at, LoggedCall { chat, call, input });
        }
    }
    found.into_iter().collect()
}
