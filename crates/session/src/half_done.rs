//! Parts that a chat may lack after its host was killed: the mark that an answer was arriving,
//! and results of calls that ended. Stored in the state folder until the chat's file
//! contains it: one file per chat, with one JSON object per line.
//!
//! Only the holder of the chat's lease reads or writes it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chat::approval::CallKey;
use chat::tool::{ToolOutcome, ToolUseId};
use policy::sha256;
use serde::{Deserialize, Serialize};
use tools::state_dir;

use crate::lease;

/// Folder of the files, in the state folder.
const FOLDER: &str = "half-done";
/// Maximum bytes of results that are stored for one chat.
const MOST_RESULTS: usize = 64 * 1024;
/// Size in bytes at which a file is rewritten, without the results that were dropped.
const MOST_BYTES: usize = 8 * MOST_RESULTS;

/// State of unfinished work that the chat's file may not contain yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HalfDone {
    /// Number of answers before the last request; `None` if there was no request.
    pub answers: Option<usize>,
    /// The end of its answer, once that is complete or marked as cut off.
    pub tail: Option<String>,
    /// Calls that ended since then.
    pub results: Vec<Result>,
}

/// A change of [`HalfDone`], stored as one line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HalfDoneEntry {
    /// A request was sent; there are this many answers before it.
    Asked(usize),
    /// The answer is in the buffer, up to these last words.
    Answered(String),
    /// A call ended.
    Ended(Result),
}

impl HalfDone {
    /// Applies a change.
    pub fn apply(&mut self, entry: HalfDoneEntry) {
        match entry {
            // A new request begins a new answer, so the end of the last one no longer counts.
            HalfDoneEntry::Asked(answers) => {
                self.answers = Some(answers);
                self.tail = None;
            }
            HalfDoneEntry::Answered(tail) => self.tail = Some(tail),
            HalfDoneEntry::Ended(result) => self.add(result),
        }
    }

    /// Adds a result, and drops the oldest ones beyond [`MOST_RESULTS`].
    fn add(&mut self, result: Result) {
        // A call that ran again has only its last result.
        self.results.retain(|it| !it.is_of_the_call_of(&result));
        self.results.push(result);
        let mut bytes: usize = self.results.iter().map(|it| it.content.len()).sum();
        // The file is most likely to lack the newest results.
        while bytes > MOST_RESULTS {
            bytes -= self.results.remove(0).content.len();
        }
    }

    /// Returns the changes that lead to this state.
    pub fn entries(&self) -> Vec<HalfDoneEntry> {
        let asked = self.answers.map(HalfDoneEntry::Asked);
        let answered = self.tail.clone().map(HalfDoneEntry::Answered);
        let ended = self.results.iter().cloned().map(HalfDoneEntry::Ended);
        asked.into_iter().chain(answered).chain(ended).collect()
    }
}

/// A call that ended, and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Result {
    id: String,
    name: String,
    input: String,
    /// The text of the result.
    pub content: String,
    is_error: bool,
}

impl Result {
    /// Returns the result of a call that ended with `outcome`.
    pub fn of(call: &CallKey, outcome: &ToolOutcome) -> Self {
        let (content, is_error) = match outcome {
            ToolOutcome::Done { content, .. } => (content, false),
            ToolOutcome::Failed(text) | ToolOutcome::Cancelled(text) => (text, true),
        };
        Self {
            id: call.id.as_str().to_owned(),
            name: call.name.clone(),
            input: call.input.clone(),
            content: content.clone(),
            is_error,
        }
    }

    /// Returns true if both are results of the same call.
    pub fn is_of_the_call_of(&self, other: &Self) -> bool {
        (&self.id, &self.name, &self.input) == (&other.id, &other.name, &other.input)
    }

    /// Returns the call and its outcome, as far as a result block contains it.
    pub fn ended(&self) -> (CallKey, ToolOutcome) {
        let call = CallKey {
            id: ToolUseId::new(self.id.as_str()),
            name: self.name.clone(),
            input: self.input.clone(),
        };
        let content = self.content.clone();
        let outcome = if self.is_error {
            ToolOutcome::Failed(content)
        } else {
            ToolOutcome::Done {
                content,
                marked_failed: false,
            }
        };
        (call, outcome)
    }
}

/// The file of one chat.
#[derive(Debug)]
pub struct Journal {
    file: PathBuf,
    /// Length of the file in bytes; `None` if it has to be rewritten.
    length: Option<usize>,
}

impl Journal {
    /// Returns the journal of the chat at `path` in the state folder `state`. Its file need
    /// not exist.
    pub fn of(state: &Path, path: &Path) -> Self {
        // A digest, because a path is too long for a file's name and contains slashes.
        let name = sha256(lease::real(path).as_os_str().as_encoded_bytes());
        Self {
            file: state.join(FOLDER).join(format!("{name}.jsonl")),
            length: None,
        }
    }

    /// Reads the file; `None` if it cannot be read.
    pub fn read(&self) -> Option<HalfDone> {
        let text = fs::read(&self.file).ok()?;
        let mut found = HalfDone::default();
        // A kill or a full disk may leave half a line at the end, even half a character.
        let lines = text.split(|byte| *byte == b'\n');
        for entry in lines.map_while(|it| serde_json::from_slice(it).ok()) {
            found.apply(entry);
        }
        Some(found)
    }

    /// Brings the file up to date; `entries` are the changes since the last call, which led
    /// to `now`. The file survives the end of every process, but nothing waits for a sync
    /// to disk.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&mut self, now: &HalfDone, entries: &[HalfDoneEntry]) -> io::Result<()> {
        // Taken, so that after a failed write the next one rewrites the file.
        let length = self.length.take().filter(|it| *it < MOST_BYTES);
        let (before, written) = match length {
            // Appending is the usual way: replacing a file makes the file system write it
            // to disk, which takes longer than the whole rest of a call.
            Some(length) => (length, self.append(&lines(entries)?)?),
            None => (0, self.replace(&lines(&now.entries())?)?),
        };
        self.length = Some(before + written);
        Ok(())
    }

    fn append(&self, text: &[u8]) -> io::Result<usize> {
        // Fails if the file was removed, and the next write then replaces it.
        let file = OpenOptions::new().append(true).open(&self.file);
        file?.write_all(text).map(|()| text.len())
    }

    fn replace(&self, text: &[u8]) -> io::Result<usize> {
        self.file.parent().map_or(Ok(()), state_dir::make_folder)?;
        state_dir::replace_unsynced(&self.file, text).map(|()| text.len())
    }

    /// Removes the file.
    ///
    /// # Errors
    ///
    /// It exists and cannot be removed.
    pub fn remove(&mut self) -> io::Result<()> {
        self.length = None;
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn lines(entries: &[HalfDoneEntry]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut text, entry)?;
        text.push(b'\n');
    }
    Ok(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ended(id: &str, content: &str) -> HalfDoneEntry {
        let call = CallKey {
            id: ToolUseId::new(id),
            name: "bash".to_owned(),
            input: "{}".to_owned(),
        };
        HalfDoneEntry::Ended(Result::of(&call, &ToolOutcome::Failed(content.to_owned())))
    }

    /// Applies entries and writes them, as a chat does.
    fn note(journal: &mut Journal, now: &mut HalfDone, entries: &[HalfDoneEntry]) {
        for entry in entries {
            now.apply(entry.clone());
        }
        journal.write(now, entries).unwrap();
    }

    #[test]
    fn entries_are_found_for_their_chat_until_they_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (state, chat) = (folder.path().join("state"), folder.path().join("a.chat"));
        let (mut journal, mut now) = (Journal::of(&state, &chat), HalfDone::default());
        assert_eq!(journal.read(), None);
        journal.remove().unwrap();

        note(&mut journal, &mut now, &[HalfDoneEntry::Asked(2)]);
        note(&mut journal, &mut now, &[ended("t_1", "no\nway")]);
        note(
            &mut journal,
            &mut now,
            &[HalfDoneEntry::Answered("the end".to_owned())],
        );

        assert_eq!(now.answers, Some(2));
        assert_eq!(now.results[0].content, "no\nway");
        assert_eq!(Journal::of(&state, &chat).read(), Some(now));
        let other = Journal::of(&state, &folder.path().join("b.chat"));
        assert_eq!(other.read(), None);
        journal.remove().unwrap();
        assert_eq!(journal.read(), None);
    }

    #[test]
    fn half_a_line_of_a_killed_program_is_skipped_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let chat = folder.path().join("a.chat");
        let (mut journal, mut now) = (Journal::of(folder.path(), &chat), HalfDone::default());
        note(
            &mut journal,
            &mut now,
            &[HalfDoneEntry::Asked(1), ended("t_1", "one")],
        );
        journal
            .append(b"{\"ended\":{\"id\":\"t_2\",\"name\":\"\xc3")
            .unwrap();

        let mut journal = Journal::of(folder.path(), &chat);
        assert_eq!(journal.read(), Some(now.clone()));
        note(&mut journal, &mut now, &[ended("t_3", "three")]);
        assert_eq!(now.results.len(), 2);
        assert_eq!(journal.read(), Some(now));
    }

    #[test]
    fn the_file_keeps_the_newest_results_and_stays_small() {
        let folder = tempfile::tempdir().unwrap();
        let chat = folder.path().join("a.chat");
        let (mut journal, mut now) = (Journal::of(folder.path(), &chat), HalfDone::default());
        let large = "x".repeat(MOST_RESULTS / 4);
        for call in 0..100 {
            note(
                &mut journal,
                &mut now,
                &[ended(&format!("t_{call}"), &large)],
            );
        }
        let size = fs::metadata(&journal.file).unwrap().len();
        assert!(size < (MOST_BYTES + MOST_RESULTS) as u64, "{size}");
        assert_eq!(now.results.len(), 4);
        assert_eq!(journal.read(), Some(now));
    }
}
