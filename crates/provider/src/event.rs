//! Stream events, independent of the provider.
//!
//! The document decides where an event's text goes.
//!
//! The words with which servers end an answer (finish reasons, stop reasons, and statuses) are
//! in one table for all protocols, because gateways pass on the words of the server behind them.
//! A word that is not in it never lets a call run.

use chat::Problem;
use chat::server_tools::{ExactBlock, ServerToolUse};
use chat::summary::SignedSummary;
use serde_json_borrow::Value;

/// One step of an answer.
///
/// A stream ends with exactly one [`Stop`](Self::Stop), [`Error`](Self::Error), or
/// [`Paused`](Self::Paused).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// A piece of the answer's text, never empty.
    Text(String),
    /// Ends the text so far: text that follows is another part of the answer, and is sent
    /// back as one.
    TextEnd,
    /// All text since the last event of another kind was thinking. Some models begin inside
    /// their thinking, so only the tag that closes it shows what the text was.
    TextWasThinking,
    /// A piece of the model's thinking, never empty.
    Thinking(String),
    /// Ends the streamed thinking block before any other event. Comes without text if the
    /// provider shows only the signature.
    ThinkingEnd {
        /// The provider's signature, if there is one and the block is complete.
        signature: Option<String>,
    },
    /// A complete thinking block of opaque data.
    RedactedThinking(String),
    /// The summary that the request asked for, not blank.
    Summary(SignedSummary),
    /// A call began; its [`ToolUse`](Self::ToolUse) follows unless the answer is cut off
    /// inside it.
    ToolUseStart {
        /// The tool's name.
        name: String,
    },
    /// A complete call.
    ToolUse(ToolUse),
    /// The provider runs one of its own tools; its [`ServerTool`](Self::ServerTool) follows.
    ServerToolStart {
        /// The tool's name.
        name: String,
        /// The query or the address.
        asked: String,
    },
    /// A use of one of the provider's own tools, with its results.
    ServerTool(ServerToolUse),
    /// The answer so far in the provider's own form, without what an earlier such event had.
    /// Comes before the end of an answer that must go back in this form.
    Exact(Vec<ExactBlock>),
    /// The provider paused the answer. A request that ends with what came continues it.
    Paused,
    /// Token usage so far; each figure replaces an earlier one.
    Usage(Usage),
    /// A sentence for the user about the answer or its request, which is not part of either.
    Remark(String),
    /// The provider refuses the signed thinking of the conversation, so that the request fails;
    /// without it, the next one succeeds.
    ThinkingRefused,
    /// The answer is complete.
    Stop(StopReason),
    /// The answer failed; nothing follows.
    Error(Problem),
}

impl StreamEvent {
    /// Returns true for the last event of a stream.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Stop(_) | Self::Error(_) | Self::Paused)
    }
}

/// A call as the provider sent it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolUse {
    /// The provider's ID, unique in the answer; `call_<n>` if it sent none. Earlier answers
    /// may have used the same ID.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as sent, or `{}`. Not necessarily JSON: the document decides what
    /// happens to an invalid call.
    pub input: String,
}

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Input tokens, excluding cache reads and writes.
    pub input: Option<u64>,
    /// Output tokens, including thinking.
    pub output: Option<u64>,
    /// Tokens of `output` spent on thinking.
    pub thoughts: Option<u64>,
    /// Tokens read from the provider's cache.
    pub cache_read: Option<u64>,
    /// Tokens written to the provider's cache.
    pub cache_creation: Option<u64>,
    /// Searches of the provider's own tool.
    pub searches: Option<u64>,
}

impl Usage {
    /// Returns the tokens of the prompt and of the answer, which a model's context has to hold.
    pub fn context(&self) -> u64 {
        let parts = [
            self.input,
            self.output,
            self.cache_read,
            self.cache_creation,
        ];
        parts.into_iter().flatten().sum()
    }

    /// Replaces the figures that are set in `newer`.
    pub fn replace(&mut self, newer: Self) {
        self.input = newer.input.or(self.input);
        self.output = newer.output.or(self.output);
        self.thoughts = newer.thoughts.or(self.thoughts);
        self.cache_read = newer.cache_read.or(self.cache_read);
        self.cache_creation = newer.cache_creation.or(self.cache_creation);
        self.searches = newer.searches.or(self.searches);
    }
}

/// Why an answer is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The model completed its answer.
    EndTurn,
    /// The model waits for the results of its calls.
    ToolUse,
    /// The answer reached its token limit; a call being written was dropped.
    MaxTokens,
    /// Prompt and answer fill the model's context; a call being written was dropped.
    ContextFull,
    /// The model or the provider refused to continue.
    Refusal,
    /// Another reason, in the provider's terms.
    Other(String),
}

/// The meaning of a known word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The answer is complete.
    Complete,
    /// It reached its token limit.
    TokenLimit,
    /// Prompt and answer fill the model's context.
    ContextFull,
    /// The model or the provider declined to continue.
    Refused,
}

/// A word, its meaning, and who uses it (collected in November 2026).
const WORDS: &[(&str, Meaning, &str)] = &[
    (
        "stop",
        Meaning::Complete,
        "OpenAI, Mistral, DeepSeek, Ollama",
    ),
    ("tool_calls", Meaning::Complete, "OpenAI"),
    ("tool_call", Meaning::Complete, "Hugging Face router"),
    ("function_call", Meaning::Complete, "OpenAI, before tools"),
    ("eos", Meaning::Complete, "Together"),
    ("eos_token", Meaning::Complete, "Text Generation Inference"),
    (
        "stop_sequence",
        Meaning::Complete,
        "Anthropic, Text Generation Inference",
    ),
    ("end_turn", Meaning::Complete, "Anthropic"),
    ("tool_use", Meaning::Complete, "Anthropic"),
    (
        "compaction",
        Meaning::Complete,
        "Anthropic, after a summary",
    ),
    ("complete", Meaning::Complete, "Cohere"),
    ("completed", Meaning::Complete, "OpenAI's Responses"),
    ("COMPLETE", Meaning::Complete, "Cohere"),
    ("TOOL_CALL", Meaning::Complete, "Cohere"),
    ("STOP_SEQUENCE", Meaning::Complete, "Cohere"),
    ("STOP", Meaning::Complete, "Google"),
    (
        "FUNCTION_CALL",
        Meaning::Complete,
        "servers compatible with Google",
    ),
    ("length", Meaning::TokenLimit, "OpenAI"),
    ("max_tokens", Meaning::TokenLimit, "Anthropic"),
    (
        "max_output_tokens",
        Meaning::TokenLimit,
        "OpenAI's Responses",
    ),
    ("max_completion_tokens", Meaning::TokenLimit, "OpenAI"),
    ("MAX_TOKENS", Meaning::TokenLimit, "Google, Cohere"),
    ("model_length", Meaning::ContextFull, "Mistral"),
    (
        "model_context_window_exceeded",
        Meaning::ContextFull,
        "Anthropic",
    ),
    ("ERROR_LIMIT", Meaning::ContextFull, "Cohere"),
    ("content_filter", Meaning::Refused, "OpenAI"),
    ("refusal", Meaning::Refused, "Anthropic"),
    ("sensitive", Meaning::Refused, "Z.ai"),
    ("SAFETY", Meaning::Refused, "Google"),
    ("ERROR_TOXIC", Meaning::Refused, "Cohere"),
];

/// Returns the meaning of a word; `None` if it is not known.
pub(crate) fn meaning(word: &str) -> Option<Meaning> {
    let row = WORDS.iter().find(|row| row.0 == word)?;
    Some(row.1)
}

/// Returns the word in a field, such as a stop reason; `None` if it is absent.
///
/// A value of another type is returned as JSON, so that it isn't taken for an absent one.
pub(crate) fn word(field: &Value<'_>) -> Option<String> {
    let word = match field {
        Value::Null => return None,
        Value::Str(word) => word.trim().to_owned(),
        other => other.to_string(),
    };
    (!word.is_empty()).then_some(word)
}
