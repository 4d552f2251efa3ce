//! What a chat may lack after a kill: that an answer was arriving, and results of calls
//! that ended. Kept in the state folder, one file a chat, until the chat's file holds it.
//!
//! Only the holder of the chat's lease writes or reads it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chat::approval::CallKey;
use chat::tool::{ToolOutcome, ToolUseId};
use serde::{Deserialize, Serialize};

use crate::digest::sha256;
use crate::{lease, private};

/// Where the files are, in the state folder.
const FOLDER: &str = "half-done";

/// What is not known to be in a chat's file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HalfDone {
    /// How many answers there were before the last request; `None` without one.
    pub answers: Option<usize>,
    /// The last words of its answer, once that is complete or marked as cut off.
    pub tail: Option<String>,
    /// Calls that ended since.
    pub results: Vec<Result>,
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
    /// The result of a call that ended in this way.
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

    /// Whether both are results of the same call.
    pub fn is_of_the_call_of(&self, other: &Self) -> bool {
        (&self.id, &self.name, &self.input) == (&other.id, &other.name, &other.input)
    }

    /// The call and how it ended, as far as a result block tells it.
    pub fn ended(&self) -> (CallKey, ToolOutcome) {
        let call = CallKey {
            id: ToolUseId::new(self.id.as_str()),
            name: self.name.clone(),
            input: self.input.clone(),
        };
        let content = self.content.clone();
        let outcome = match self.is_error {
            true => ToolOutcome::Failed(content),
            false => ToolOutcome::Done {
                content,
                marked_failed: false,
            },
        };
        (call, outcome)
    }
}

/// Keeps the record of the chat at `path`; `None` removes it. It survives the end of every
/// process, but is not synced to disk: nothing waits for it. `state` is the state folder.
///
/// # Errors
///
/// The file cannot be written or removed.
pub fn keep(state: &Path, path: &Path, record: Option<&HalfDone>) -> io::Result<()> {
    let file = file(state, path);
    let Some(record) = record else {
        return match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    };
    private::make_folder(&state.join(FOLDER))?;
    private::replace_unsynced(&file, &serde_json::to_vec(record)?)
}

/// The record of the chat at `path`; none when it cannot be read.
pub fn find(state: &Path, path: &Path) -> Option<HalfDone> {
    let text = fs::read(file(state, path)).ok()?;
    serde_json::from_slice(&text).ok()
}

fn file(state: &Path, path: &Path) -> PathBuf {
    let name = sha256(lease::real(path).as_os_str().as_encoded_bytes());
    state.join(FOLDER).join(format!("{name}.json"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_found_for_its_chat_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (state, chat) = (folder.path().join("state"), folder.path().join("a.chat"));
        assert_eq!(find(&state, &chat), None);
        keep(&state, &chat, None).unwrap();
        let call = CallKey {
            id: ToolUseId::new("t_1"),
            name: "bash".to_owned(),
            input: "{}".to_owned(),
        };
        let failed = ToolOutcome::Failed("no\nway".to_owned());
        let record = HalfDone {
            answers: Some(2),
            tail: Some("the end".to_owned()),
            results: vec![Result::of(&call, &failed)],
        };
        keep(&state, &chat, Some(&record)).unwrap();
        assert_eq!(find(&state, &chat), Some(record.clone()));
        assert_eq!(record.results[0].ended(), (call, failed));
        assert_eq!(find(&state, &folder.path().join("b.chat")), None);
        keep(&state, &chat, None).unwrap();
        assert_eq!(find(&state, &chat), None);
    }
}
