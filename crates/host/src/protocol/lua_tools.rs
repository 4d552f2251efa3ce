//! Tools that are registered in Lua: what both sides say about them and their calls.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::Value;

use super::BufferId;

/// The tools that are registered in Lua; comes anew whenever that changes.
#[derive(Debug, Default, Deserialize)]
pub struct RegisteredTools {
    /// The tools.
    #[serde(default)]
    pub items: Vec<RegisteredTool>,
    /// Whether more are being found, which are waited for.
    #[serde(default)]
    pub loading: bool,
}

/// A tool that the user or a plugin registered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RegisteredTool {
    /// Unique.
    pub name: String,
    /// For the model.
    pub description: String,
    /// As the Lua table came: without an order of its keys.
    #[serde(default)]
    pub input_schema: Value,
    /// Likewise, of what it returns.
    #[serde(default)]
    pub output_schema: Option<Value>,
    /// Whether its schema meets strict mode.
    #[serde(default)]
    pub strict: bool,
    /// Whether models are offered it by default.
    pub enabled: bool,
    /// Whether it calls back, if it says so.
    #[serde(default, rename = "async")]
    pub is_async: Option<bool>,
    /// Seconds that a call may take.
    #[serde(default)]
    pub timeout: Option<f64>,
    /// The id of the function that does it.
    #[serde(default)]
    pub execute: Option<u64>,
    /// The id of the function that words its preview.
    #[serde(default)]
    pub preview: Option<u64>,
}

/// What a call of a registered tool came to, or a piece of it.
#[derive(Debug, Deserialize)]
pub struct ToolReturned {
    /// Which call.
    pub call: u64,
    /// Whether it worked.
    pub ok: bool,
    /// A piece of its output, or of why it failed.
    #[serde(default)]
    pub text: Option<ByteBuf>,
    /// An output that is no text.
    #[serde(default)]
    pub value: Option<Value>,
    /// Whether another piece follows.
    #[serde(default)]
    pub more: bool,
}

/// `tool_call`: run a registered tool.
#[derive(Debug, Serialize)]
pub struct ToolCall<'a> {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Comes back in [`ToolReturned`].
    pub call: u64,
    /// Its id from [`RegisteredTools`].
    pub function: u64,
    /// Whether it calls back, if it said so.
    #[serde(rename = "async")]
    pub is_async: Option<bool>,
    /// The tool's name.
    pub tool: &'a str,
    /// The arguments.
    pub input: Value,
    /// Where it runs.
    pub cwd: String,
    /// The chat's file, or empty.
    pub path: String,
    /// Seconds that a call may take by default.
    pub timeout: f64,
}

/// `tool_stop`: nobody waits for a call any more.
#[derive(Debug, Serialize)]
pub struct ToolStop {
    /// Which, by its number in [`ToolCall`].
    pub call: u64,
}
