//! Tools that are registered in Lua: what both sides say about them and their calls.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::Value;

use super::BufferId;

/// A message about a call of a tool that is registered in Lua.
#[derive(Debug, Clone, PartialEq)]
pub enum LuaMessage {
    /// Run a tool.
    Call(Box<ToolCall>),
    /// Stop a call.
    Stop(ToolStop),
    /// A command of a call ended.
    CommandEnded(CommandEnded),
}

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
    /// The id of the function that is told when the user refuses a call.
    #[serde(default)]
    pub rejected: Option<u64>,
    /// Whether the end of a long output says more than its start.
    #[serde(default)]
    pub tail: bool,
    /// Whether its calls wait unless a rule approves it by name.
    #[serde(default)]
    pub requires_approval: bool,
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

/// A command that a call wants to run.
#[derive(Debug, Deserialize)]
pub struct ToolCommand {
    /// Which call.
    pub call: u64,
    /// Comes back in [`CommandEnded`].
    pub command: u64,
    /// A program and its arguments.
    pub argv: Vec<String>,
}

/// `command_ended`: how a command of a call ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommandEnded {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Which call.
    pub call: u64,
    /// Which command, by its number in [`ToolCommand`].
    pub command: u64,
    /// Its exit code; absent when a signal ended it.
    pub code: Option<i32>,
    /// The lines it wrote.
    pub stdout: Vec<String>,
    /// Likewise, on standard error.
    pub stderr: Vec<String>,
    /// Why it could not run.
    pub problem: Option<String>,
}

/// `known_tools`: all tools that there are, wherever they come from.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct KnownTools {
    /// Sorted by name.
    pub items: Vec<KnownTool>,
}

/// One of [`KnownTools`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownTool {
    /// What the model calls.
    pub name: String,
    /// Where it comes from.
    pub source: String,
    /// The beginning of its description.
    pub about: String,
}

/// `tool_call`: run a registered tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCall {
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
    pub tool: String,
    /// The arguments.
    pub input: Value,
    /// Where it runs.
    pub cwd: String,
    /// The chat's file, or empty.
    pub path: String,
    /// Seconds that a call may take by default.
    pub timeout: f64,
    /// What it may do to the machine; absent when nothing is held.
    pub sandbox: Option<Held>,
}

/// What a call may do to the machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Held {
    /// Folders below which files may be written.
    pub writable: Vec<String>,
    /// What stands before the words of a command.
    pub prefix: Vec<String>,
    /// Why no command may run.
    pub problem: Option<String>,
}

/// `tool_stop`: nobody waits for a call any more.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolStop {
    /// Which, by its number in [`ToolCall`].
    pub call: u64,
}
