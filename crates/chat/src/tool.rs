//! Types of a call: ID, definition, outcome.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// ID of a call: the provider's `tool_use.id` or `call_id`, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolUseId(Arc<str>);

impl ToolUseId {
    /// Wraps an ID as written in the document or sent by the provider.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// Returns the ID's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolUseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Name of a call that a model wrote as text and that could not be parsed. Its arguments
/// are `why` and `text`. It always ends in an error result.
pub const MALFORMED_CALL: &str = "malformed_call";

/// Definition of a tool for the model: the common form of providers, MCP, and the prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// The name the model uses, unique in a registry.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the arguments, for an object.
    pub input_schema: Value,
    /// True if the schema meets OpenAI's strict mode, so that it is sent with `strict:
    /// true`.
    pub strict: bool,
    /// Additional words that find this tool in a search; not sent to providers.
    pub keywords: Vec<String>,
}

/// Outcome of a call.
///
/// A failure is a result for the model, not an error in Flemma.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolOutcome {
    /// The tool ran; `content` goes to the model.
    Done {
        /// The result's text.
        content: String,
        /// True if the user sees a failure, as for a command that exits non-zero. The model
        /// reads the reason in `content`.
        marked_failed: bool,
    },
    /// The tool failed or could not run; the model gets this as an error result.
    Failed(String),
    /// The user cancelled the call; the text is the error result.
    Cancelled(String),
}
