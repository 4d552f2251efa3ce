//! What a run tells whoever reads it, in the order in which it happens.

use chat::Problem;
use chat::prompt::PromptMessage;
use chat::tool::ToolUseId;
use provider::Usage;
use serde_json::Value;

/// Something that happened while a prompt was answered.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A message of the conversation stands as it will be sent: the user's, with the
    /// results of tools first, or the model's.
    Message(PromptMessage),
    /// The model is asked.
    RequestStarted {
        /// Its number in this run, from 1.
        number: u32,
    },
    /// The request waits before its answer begins, such as for an overloaded server.
    Waiting(String),
    /// More of the answer's text.
    Text(String),
    /// More of what the model thinks.
    Thinking(String),
    /// The model calls a tool. Whether it runs is decided when the answer is complete.
    ToolUse(Call),
    /// The answer ended.
    RequestFinished {
        /// What it took, as far as the provider says.
        usage: Usage,
    },
    /// A call is approved and runs now.
    ToolStarted {
        /// The call.
        call: Call,
        /// The tool's name for people.
        label: String,
    },
    /// A call that runs has written something.
    ToolOutput {
        /// The call's id.
        id: ToolUseId,
        /// What is new.
        text: String,
    },
    /// A call that ran has ended.
    ToolFinished {
        /// The call's id.
        id: ToolUseId,
        /// The tool's name.
        name: String,
        /// The tool's name for people.
        label: String,
        /// What the model reads.
        content: String,
        /// Whether the model is told that it failed.
        is_error: bool,
        /// What the tool has to say beyond that; no provider gets it.
        details: Option<Value>,
    },
    /// A call did not run: nobody approved it, it makes no sense, or the user had
    /// something to say first.
    ToolNotRun {
        /// The call's id.
        id: ToolUseId,
        /// The tool's name.
        name: String,
        /// What the model is told.
        why: String,
    },
    /// The model was asked as often as it may be without a new prompt; the results of
    /// its last calls wait for one.
    TurnLimit {
        /// How often.
        requests: u32,
    },
    /// Nothing goes on any more. The last event of a run.
    Finished(Ended),
}

/// A call of a model's.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its id.
    pub id: ToolUseId,
    /// The tool's name.
    pub name: String,
    /// The arguments; text where they are no JSON.
    pub input: Value,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The model has said what it wanted to say.
    Done,
    /// The limit of requests was reached, see [`Event::TurnLimit`].
    TurnLimit,
    /// It was cancelled.
    Cancelled,
    /// The request failed, or nothing could be sent.
    Failed(Problem),
}
