//! Inputs that reach a run while it is in progress.
//!
//! Decides nothing; the cycle handles them.

use chat::approval::CallKey;
use chat::tool::ToolUseId;
use provider::StreamEvent;
use tokio::sync::mpsc::UnboundedSender;
use tools::Ran;

/// An input to a run.
#[derive(Debug)]
pub(crate) enum RunInput {
    /// Events of the request with this number.
    Stream(u64, Vec<StreamEvent>),
    /// The reason why the request with this number waits.
    Waiting(u64, String),
    /// Output of a running call.
    Output(ToolUseId, String),
    /// A call ended.
    Ended(CallKey, Ran),
    /// The program's decision about a call.
    Decided(CallKey, bool),
    /// A steering message.
    Steer(String),
    /// A message to send when the model is done.
    FollowUp(String),
    /// Cancel the run.
    Cancel,
}

/// A handle to steer and cancel a conversation from any task.
#[derive(Debug, Clone)]
pub struct Remote(pub(crate) UnboundedSender<RunInput>);

impl Remote {
    /// Steers the model: running calls finish, calls that have not started are skipped, and
    /// the model reads this message next.
    pub fn steer(&self, words: impl Into<String>) {
        self.send(RunInput::Steer(words.into()));
    }

    /// Queues a message that is sent when the model is done.
    pub fn follow_up(&self, words: impl Into<String>) {
        self.send(RunInput::FollowUp(words.into()));
    }

    /// Cancels the open request or the running calls; each call still gets a result. Does
    /// nothing if the conversation is idle.
    pub fn cancel(&self) {
        self.send(RunInput::Cancel);
    }

    fn send(&self, input: RunInput) {
        // If the agent was dropped, there is nothing left to do.
        drop(self.0.send(input));
    }
}
