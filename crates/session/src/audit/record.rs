//! One line of the log: its fields, and how it is written and read.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use chat::approval::CallKey;
use chat::cycle::{Decided, Ruling};
use chat::tool::ToolOutcome;
use policy::sha256;
use serde::{Deserialize, Serialize};

/// Maximum characters of a stored name. IDs and names come from models and servers.
const MAX_NAME: usize = 256;
/// Maximum characters of a stored path, the limit of Linux.
const MAX_PATH: usize = 4096;

/// One record. Lines of earlier versions have further fields, which are ignored:
/// `number`, `before`, and `hash`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Milliseconds since 1970.
    pub time: u64,
    /// The chat's path; absent if the buffer had no name.
    pub document: Option<String>,
    /// The call's ID.
    pub call: String,
    /// The tool's name.
    pub tool: String,
    /// SHA-256 of the canonical JSON of the arguments.
    pub input: String,
    /// The event.
    #[serde(flatten)]
    pub act: Act,
}

/// The event that a record describes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Act {
    /// A resolver or the user decided about the call.
    Decided {
        /// The decision.
        decision: Word,
        /// The resolver's name, or the user's act.
        by: String,
        /// The reason, if it does not follow from `by`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The call was tried.
    Tried {
        /// The user's act, or the rule.
        by: String,
    },
    /// The tool started.
    Started {
        /// Name of the sandbox it runs in.
        sandbox: String,
    },
    /// The call changed files.
    Changed {
        /// Number of added lines.
        added: usize,
        /// Number of removed lines.
        removed: usize,
        /// SHA-256 of the diff, which is its name; absent if the diff was not kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
    },
    /// The tool ended.
    Ended {
        /// Success, failure, or cancellation.
        outcome: CallEnd,
        /// Length of the result, in bytes.
        bytes: u64,
        /// SHA-256 of the result.
        result: String,
    },
    /// The background job of the call ended.
    JobEnded {
        /// The job's name.
        job: String,
        /// How it ended, a clause.
        how: String,
    },
}

/// A decision as the log spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// The call may run.
    Approved,
    /// The call waits for the user.
    Waits,
    /// A policy refused the call.
    Denied,
    /// The user refused the call.
    Rejected,
    /// The user wrote the result by hand.
    Answered,
    /// The call cannot run, whatever is decided.
    Unfit,
    /// The user cancelled the call.
    Cancelled,
}

impl From<Ruling> for Word {
    fn from(ruling: Ruling) -> Self {
        match ruling {
            Ruling::Approved => Word::Approved,
            Ruling::Waits => Word::Waits,
            Ruling::Denied => Word::Denied,
            Ruling::Rejected => Word::Rejected,
            Ruling::Answered => Word::Answered,
            Ruling::Unfit => Word::Unfit,
            Ruling::Cancelled => Word::Cancelled,
        }
    }
}

/// Describes a decision.
pub(super) fn decision(decided: &Decided) -> Act {
    Act::Decided {
        decision: decided.ruling.into(),
        by: short(&decided.by),
        reason: decided.reason.map(str::to_owned),
    }
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    /// With a result.
    Done,
    /// With an error, or a command's failure.
    Failed,
    /// The user cancelled it.
    Cancelled,
}

/// Describes how a call ended.
pub(super) fn end(outcome: &ToolOutcome) -> Act {
    let (outcome, content) = match outcome {
        ToolOutcome::Done {
            content,
            marked_failed: false,
        } => (CallEnd::Done, content),
        ToolOutcome::Done { content, .. } | ToolOutcome::Failed(content) => {
            (CallEnd::Failed, content)
        }
        ToolOutcome::Cancelled(content) => (CallEnd::Cancelled, content),
    };
    Act::Ended {
        outcome,
        bytes: content.len() as u64,
        result: sha256(content.as_bytes()),
    }
}

impl Record {
    /// Creates a record of this moment.
    pub(super) fn new(document: Option<&Path>, call: &CallKey, act: Act) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let path = document.map(|path| path.to_string_lossy());
        Self {
            time: now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(0)),
            document: path.map(|path| path.chars().take(MAX_PATH).collect()),
            call: short(call.id.as_str()),
            tool: short(&call.name),
            input: sha256(call.input.as_bytes()),
            act,
        }
    }

    /// Returns true if both records describe the same call of the same chat.
    pub(super) fn is_of_the_call_of(&self, other: &Self) -> bool {
        fn about(it: &Record) -> (&Option<String>, [&str; 3]) {
            (&it.document, [&it.call, &it.tool, &it.input])
        }
        about(self) == about(other)
    }

    /// Reads one line; `None` if the line is not a record.
    pub(super) fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

/// Shortens a name to the length that the log stores.
pub(super) fn short(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}
