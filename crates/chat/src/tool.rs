//! The nouns that calls are made of: ids, definitions, outcomes.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// Names one call; the provider's `tool_use.id` or `call_id`, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolUseId(Arc<str>);

impl ToolUseId {
    /// Wraps an id as it stands in the document or on the wire.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The id's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolUseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a call that a model wrote in words and that could not be read. Its
/// arguments are `why` and `text`; it ends in an error result, whatever the tools are.
pub const MALFORMED_CALL: &str = "malformed_call";

/// What the model may call: the shape that providers, MCP and the prompt share.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// The name the model uses, unique in a registry.
    pub name: String,
    /// What the tool does, for the model.
    pub description: String,
    /// JSON Schema of the arguments, an object schema.
    pub input_schema: Value,
    /// Whether the schema meets OpenAI's strict mode and is to be sent with
    /// `strict: true`.
    pub strict: bool,
    /// Words that somebody who looks for such a tool may use; no provider gets them.
    pub keywords: Vec<String>,
}

/// How a call ended, as a runner reports it.
///
/// A failure is a result for the model, not an error of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolOutcome {
    /// The tool ran; `content` goes to the model.
    Done {
        /// The result's text.
        content: String,
        /// Whether the user should see a cross all the same, as for a command
        /// that exited non-zero. The model reads the reason in `content`.
        marked_failed: bool,
    },
    /// The tool failed or could not run; the model gets this as an error result.
    Failed(String),
    /// The user cancelled the call; the text is the error result.
    Cancelled(String),
}
