//! Events of a run, in the order in which they happen.

use chat::Problem;
use chat::prompt::PromptMessage;
use chat::tool::ToolUseId;
use provider::Usage;
use serde_json::Value;

/// Something that happened while a prompt was answered.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A message of the conversation in its final form: the user's, with tool results
    /// first, or the model's.
    Message(PromptMessage),
    /// A request was sent.
    RequestStarted {
        /// Its number in this run, from 1.
        number: u32,
    },
    /// The request is waiting, for example for an overloaded server.
    Waiting(String),
    /// A piece of the answer's text.
    Text(String),
    /// All text since the last event of another kind was thinking.
    TextWasThinking,
    /// A sentence about the answer or its request, for the user.
    Remark(String),
    /// A piece of the model's thinking.
    Thinking(String),
    /// The model called a tool. Whether it runs is decided when the answer is complete.
    ToolUse(Call),
    /// The answer ended.
    RequestFinished {
        /// Token usage, as far as the provider reports it.
        usage: Usage,
    },
    /// A call was approved and started.
    ToolStarted {
        /// The call.
        call: Call,
        /// The tool's display name.
        label: String,
    },
    /// Output of a running call.
    ToolOutput {
        /// The call's ID.
        id: ToolUseId,
        /// The new output.
        text: String,
    },
    /// A running call ended.
    ToolFinished {
        /// The call's ID.
        id: ToolUseId,
        /// The tool's name.
        name: String,
        /// The tool's display name.
        label: String,
        /// The result for the model.
        content: String,
        /// Whether the result is an error.
        is_error: bool,
        /// Details that are not sent to the provider.
        details: Option<Value>,
    },
    /// A call did not run: it was not approved, was invalid, or was skipped by steering.
    ToolNotRun {
        /// The call's ID.
        id: ToolUseId,
        /// The tool's name.
        name: String,
        /// The result for the model.
        why: String,
    },
    /// The request limit was reached; the results of the last calls are sent with the next
    /// prompt.
    TurnLimit {
        /// Number of requests.
        requests: u32,
    },
    /// The run ended. This is its last event.
    Finished(Ended),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The call's ID.
    pub id: ToolUseId,
    /// The tool's name.
    pub name: String,
    /// The arguments; a string if they are not valid JSON.
    pub input: Value,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The model completed its answer.
    Done,
    /// The limit of requests was reached, see [`Event::TurnLimit`].
    TurnLimit,
    /// It was cancelled.
    Cancelled,
    /// A request failed or could not be sent.
    Failed(Problem),
}
