//! Events of a chat, as front ends report them: Neovim as `User` autocommands, the
//! command line as output and JSON lines.

use chat::approval::CallKey;
use serde_json::{Map, Value, json};

use crate::context::ContextReport;
use crate::protocol::{BufferId, DiffItem};

/// Something that happened in a chat.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEvent {
    /// A request goes out.
    RequestStarted {
        /// The chat's buffer.
        buffer: BufferId,
    },
    /// A request ended and its answer is written.
    RequestFinished {
        /// The chat's buffer.
        buffer: BufferId,
        /// Its outcome.
        status: RequestStatus,
    },
    /// A call starts.
    ToolStarted {
        /// The chat's buffer.
        buffer: BufferId,
        /// The call.
        call: CallKey,
        /// The tool's label.
        label: String,
    },
    /// A rule denied a call.
    ToolDenied {
        /// The chat's buffer.
        buffer: BufferId,
        /// The call.
        call: CallKey,
    },
    /// A call ended.
    ToolFinished {
        /// The chat's buffer.
        buffer: BufferId,
        /// The call.
        call: CallKey,
        /// True if it failed or was cancelled.
        failed: bool,
        /// Details that the tool reports in addition to its result.
        details: Option<Value>,
    },
    /// A summary gets its place in the chat.
    Summarized {
        /// The chat's buffer.
        buffer: BufferId,
        /// The number of messages that it replaces.
        messages: usize,
    },
    /// Everything that a key started is done.
    Rested(Rested),
    /// A command may have changed files that are open.
    FilesChanged,
    /// A piece of the model's own text. Neovim reads it in the buffer.
    AnswerText(String),
    /// The reason why the request waits. Neovim shows it beside the spinner.
    RequestNote(String),
    /// In a dry run: the request that would be sent.
    WouldSend(WouldSend),
    /// What the next request contains, for `flemma context`.
    Context(Box<ContextReport>),
    /// In a dry run: the call that would run.
    WouldRun(WouldRun),
    /// An approved call waits once more, because the file it would change is different now.
    CallShownAgain(CallKey),
    /// A remark on a call that now waits. Neovim shows it below the call.
    CallRemark(CallKey, String),
    /// The trial of a call ended. Neovim shows it below the call.
    CallTried(CallTrial),
    /// A review ended. In Neovim, its window shows that.
    ReviewEnded(ReviewOutcome),
}

/// The outcome of the trial of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallTrial {
    /// The call.
    pub call: CallKey,
    /// Its outcome and the end of its output.
    pub lines: Vec<String>,
    /// The changes that an approval applies.
    pub diff: Vec<DiffItem>,
}

/// The outcome of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewOutcome {
    /// The user approved the change without the parts that were dropped.
    Approved,
    /// The user dropped everything, so this call is rejected.
    Rejected(CallKey),
    /// The user decided nothing, or there was nothing to review.
    Undecided,
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestStatus {
    /// The answer is complete.
    Success,
    /// It failed.
    Error,
    /// The answer was cut off by its token limit.
    Limit,
    /// The user cancelled it.
    Cancelled,
}

impl RequestStatus {
    /// Returns its name in events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Limit => "limit",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Why a chat is idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rested {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// True if autopilot reached its limit of requests in a row.
    pub limit: bool,
    /// True if the model made the same failing call again and again.
    pub stuck: bool,
    /// Number of queued messages.
    pub queued: usize,
    /// The tools whose calls wait for the user.
    pub waiting: Vec<String>,
}

/// A request that a dry run does not send.
#[derive(Debug, Clone, PartialEq)]
pub struct WouldSend {
    /// The address to which it would go.
    pub url: String,
    /// Names and values; secrets are left out.
    pub headers: Vec<(String, String)>,
    /// The JSON body.
    pub body: Value,
}

/// A call that a dry run does not start.
#[derive(Debug, Clone, PartialEq)]
pub struct WouldRun {
    /// The call.
    pub call: CallKey,
    /// Its arguments.
    pub input: Value,
    /// The approver's name.
    pub by: String,
}

impl SessionEvent {
    /// Returns an event's `User` autocommand and its data; `None` for events that only the
    /// command line reports.
    pub fn autocommand(&self) -> Option<(&'static str, Value)> {
        let (name, buffer) = match self {
            Self::RequestStarted { buffer } => ("FlemmaRequestStarted", *buffer),
            Self::RequestFinished { buffer, .. } => ("FlemmaRequestFinished", *buffer),
            Self::ToolStarted { buffer, .. } => ("FlemmaToolStarted", *buffer),
            Self::ToolDenied { buffer, .. } => ("FlemmaToolDenied", *buffer),
            Self::ToolFinished { buffer, .. } => ("FlemmaToolFinished", *buffer),
            Self::Summarized { buffer, .. } => ("FlemmaSummarized", *buffer),
            Self::Rested(rested) => ("FlemmaRested", rested.buffer),
            Self::FilesChanged
            | Self::AnswerText(_)
            | Self::RequestNote(_)
            | Self::WouldSend(_)
            | Self::Context(_)
            | Self::WouldRun(_)
            | Self::CallShownAgain(_)
            | Self::CallRemark(..)
            | Self::CallTried(_)
            | Self::ReviewEnded(_) => return None,
        };
        let mut data = self.data();
        data["bufnr"] = json!(buffer);
        Some((name, data))
    }

    /// Returns the data of an event, besides its name and buffer, as a JSON object.
    pub fn data(&self) -> Value {
        match self {
            Self::RequestFinished { status, .. } => json!({"status": status.name()}),
            Self::ToolStarted { call, label, .. } => {
                json!({"tool_id": call.id.as_str(), "tool_name": call.name, "tool_label": label})
            }
            Self::ToolDenied { call, .. } => {
                json!({"tool_id": call.id.as_str(), "tool_name": call.name})
            }
            Self::ToolFinished {
                call,
                failed,
                details,
                ..
            } => finished(call, *failed, details.as_ref()),
            Self::Summarized { messages, .. } => json!({"messages": messages}),
            Self::Rested(it) => json!({
                "limit": it.limit,
                "stuck": it.stuck,
                "queued": it.queued,
                "waiting": it.waiting,
            }),
            Self::WouldSend(it) => it.data(),
            Self::WouldRun(it) => json!({
                "id": it.call.id.as_str(),
                "name": it.call.name,
                "input": it.input,
                "by": it.by,
            }),
            _ => json!({}),
        }
    }
}

impl WouldSend {
    fn data(&self) -> Value {
        let headers = self.headers.iter().cloned();
        let headers: Map<String, Value> =
            headers.map(|(name, value)| (name, value.into())).collect();
        json!({"url": self.url, "headers": headers, "body": self.body})
    }
}

/// Returns the data of a call that ended.
fn finished(call: &CallKey, failed: bool, details: Option<&Value>) -> Value {
    let status = if failed { "error" } else { "success" };
    let mut data = json!({"tool_id": call.id.as_str(), "tool_name": call.name, "status": status});
    if let Some(details) = details {
        data["details"] = details.clone();
    }
    data
}
