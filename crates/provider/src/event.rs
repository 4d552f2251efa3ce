//! What a stream says, in no provider's spelling.
//!
//! Knows no bytes and no buffer: where an event's text goes is decided by the
//! document.

use chat::Problem;

/// One step of an answer.
///
/// A stream ends with exactly one [`Stop`](Self::Stop) or [`Error`](Self::Error).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// More of the answer's text, never empty.
    Text(String),
    /// More of what the model thinks, never empty.
    Thinking(String),
    /// Closes the thinking block that was streamed, before anything else is said.
    /// It may come without text when the provider shows only the signature.
    ThinkingEnd {
        /// The provider's proof, when the block has one and arrived whole.
        signature: Option<String>,
    },
    /// A thinking block of opaque bytes, whole.
    RedactedThinking(String),
    /// A call has begun; its [`ToolUse`](Self::ToolUse) follows unless the answer
    /// is cut off inside it.
    ToolUseStart {
        /// The tool's name.
        name: String,
    },
    /// A call that arrived whole.
    ToolUse(ToolUse),
    /// What the answer has cost so far: each figure replaces an earlier one.
    Usage(Usage),
    /// The answer is complete.
    Stop(StopReason),
    /// The answer broke off; what came before it is all there is.
    Error(Problem),
}

impl StreamEvent {
    /// Whether nothing follows.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Stop(_) | Self::Error(_))
    }
}

/// A call as the provider sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// The provider's id, distinct within the answer; `call_<n>` if it sent none.
    /// Nothing here knows whether an earlier answer used the same.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments' text as it was sent, `{}` if there was none. It need not be
    /// JSON: the document decides what becomes of a call that is not.
    pub input: String,
}

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Read by the model, without those from or into a cache.
    pub input: Option<u64>,
    /// Written by the model, thinking included.
    pub output: Option<u64>,
    /// Of `output`, spent on thinking.
    pub thoughts: Option<u64>,
    /// Read from the provider's cache.
    pub cache_read: Option<u64>,
    /// Written into the provider's cache.
    pub cache_creation: Option<u64>,
}

impl Usage {
    /// Takes newer figures over; those that it does not name stay.
    pub fn replace(&mut self, newer: Self) {
        self.input = newer.input.or(self.input);
        self.output = newer.output.or(self.output);
        self.thoughts = newer.thoughts.or(self.thoughts);
        self.cache_read = newer.cache_read.or(self.cache_read);
        self.cache_creation = newer.cache_creation.or(self.cache_creation);
    }
}

/// Why an answer is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The model has said what it wanted to say.
    EndTurn,
    /// The model waits for the results of its calls.
    ToolUse,
    /// The answer reached its token limit; a call being written was dropped.
    MaxTokens,
    /// Question and answer fill the model's context; a call being written was dropped.
    ContextFull,
    /// The model or the provider declined to go on.
    Refusal,
    /// Another reason, in the provider's word.
    Other(String),
}
