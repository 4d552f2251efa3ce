//! One line of the log: what it says and how it is spelled.

use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use chat::approval::CallKey;
use chat::cycle::{Decided, Ruling};
use chat::tool::ToolOutcome;
use serde::{Deserialize, Serialize};

use crate::digest::sha256;

/// Longest name that is kept, in characters: ids and names come from outside.
const MAX_NAME: usize = 256;
/// Longest path, in characters; Linux has none that is longer.
const MAX_PATH: usize = 4096;
/// What stands before the digest at the end of a line.
const SEAL: &str = ",\"hash\":\"";

/// One record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Counts from 1, over all files.
    pub number: u64,
    /// Milliseconds since 1970.
    pub time: u64,
    /// Digest of the record before; empty in the first one.
    pub before: String,
    /// The chat; absent when it had no name.
    pub document: Option<String>,
    /// The call's id.
    pub call: String,
    /// The tool's name.
    pub tool: String,
    /// SHA-256 of the arguments in canonical spelling.
    pub input: String,
    /// What happened.
    #[serde(flatten)]
    pub act: Act,
}

/// What a record tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Act {
    /// Somebody decided.
    Decided {
        /// What.
        decision: Word,
        /// The resolver's name, or the user's act.
        by: String,
        /// Why, where that does not follow from who.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The tool started.
    Started {
        /// What holds it.
        sandbox: String,
    },
    /// The tool ended.
    Ended {
        /// How.
        outcome: Outcome,
        /// Length of the result, in bytes.
        bytes: u64,
        /// SHA-256 of the result.
        result: String,
    },
}

/// A decision as the log says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// It may run.
    Approved,
    /// It waits for the user.
    Waits,
    /// A policy refused it.
    Denied,
    /// The user refused it.
    Rejected,
    /// The user wrote the result by hand.
    Answered,
    /// It cannot run, whatever anybody decides.
    Unfit,
    /// The user stopped it.
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

/// The record of a decision.
pub(super) fn decision(decided: &Decided) -> Act {
    Act::Decided {
        decision: decided.ruling.into(),
        by: short(&decided.by),
        reason: decided.reason.map(str::to_owned),
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With a result.
    Done,
    /// With an error, or a command's failure.
    Failed,
    /// The user stopped it.
    Cancelled,
}

/// The record of an end.
pub(super) fn end(outcome: &ToolOutcome) -> Act {
    let (outcome, content) = match outcome {
        ToolOutcome::Done {
            content,
            marked_failed: false,
        } => (Outcome::Done, content),
        ToolOutcome::Done { content, .. } | ToolOutcome::Failed(content) => {
            (Outcome::Failed, content)
        }
        ToolOutcome::Cancelled(content) => (Outcome::Cancelled, content),
    };
    Act::Ended {
        outcome,
        bytes: content.len() as u64,
        result: sha256(content.as_bytes()),
    }
}

impl Record {
    pub(super) fn new(
        number: u64,
        before: String,
        document: Option<&Path>,
        call: &CallKey,
        act: Act,
    ) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let path = document.map(|path| path.to_string_lossy());
        Self {
            number,
            time: now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(0)),
            before,
            document: path.map(|path| path.chars().take(MAX_PATH).collect()),
            call: short(call.id.as_str()),
            tool: short(&call.name),
            input: sha256(call.input.as_bytes()),
            act,
        }
    }

    /// Whether both are about the same call of the same chat.
    pub(super) fn is_of_the_call_of(&self, other: &Self) -> bool {
        fn about(it: &Record) -> (&Option<String>, [&str; 3]) {
            (&it.document, [&it.call, &it.tool, &it.input])
        }
        about(self) == about(other)
    }

    /// The record as a line, with its digest and its line end; and the digest.
    pub(super) fn line(&self) -> io::Result<(String, String)> {
        let body = serde_json::to_string(self)?;
        let open = body.strip_suffix('}').unwrap_or(&body);
        let digest = sha256(body.as_bytes());
        Ok((format!("{open}{SEAL}{digest}\"}}\n"), digest))
    }

    /// Reads a line without its line end: the record and its digest. Nothing when
    /// it was not written so.
    pub(super) fn read(line: &str) -> Option<(Self, String)> {
        let (open, hash) = line.strip_suffix("\"}")?.rsplit_once(SEAL)?;
        let body = format!("{open}}}");
        if sha256(body.as_bytes()) != hash {
            return None;
        }
        Some((serde_json::from_str(&body).ok()?, hash.to_owned()))
    }
}

/// As much of a name as is kept.
pub(super) fn short(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}
