//! Messages about tools that are registered in Lua, and about their calls.

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

/// The tools that are registered in Lua; sent whenever they change.
#[derive(Debug, Default, Deserialize)]
pub struct RegisteredTools {
    /// The tools.
    #[serde(default)]
    pub items: Vec<RegisteredTool>,
    /// True while more are loading, for which keys wait.
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
    /// Schema of its arguments; a Lua table has no order of keys.
    #[serde(default)]
    pub input_schema: Value,
    /// Schema of its result.
    #[serde(default)]
    pub output_schema: Option<Value>,
    /// True if its schema meets strict mode.
    #[serde(default)]
    pub strict: bool,
    /// True if it is offered to models by default.
    pub enabled: bool,
    /// True if it calls back; absent if it does not say.
    #[serde(default, rename = "async")]
    pub is_async: Option<bool>,
    /// Longest time of a call, in seconds.
    #[serde(default)]
    pub timeout: Option<f64>,
    /// Id of the function that runs it.
    #[serde(default)]
    pub execute: Option<u64>,
    /// Id of the function that makes its preview.
    #[serde(default)]
    pub preview: Option<u64>,
    /// Id of the function that is called when the user rejects a call.
    #[serde(default)]
    pub rejected: Option<u64>,
    /// True if the end of a long output is kept instead of its start.
    #[serde(default)]
    pub tail: bool,
    /// True if its calls wait unless a rule approves the tool by name.
    #[serde(default)]
    pub requires_approval: bool,
}

/// The result of a call, or a piece of it.
#[derive(Debug, Deserialize)]
pub struct ToolReturned {
    /// Number of the call.
    pub call: u64,
    /// True if it succeeded.
    pub ok: bool,
    /// A piece of the output or error.
    #[serde(default)]
    pub text: Option<ByteBuf>,
    /// An output that is not text.
    #[serde(default)]
    pub value: Option<Value>,
    /// True if another piece follows.
    #[serde(default)]
    pub more: bool,
}

/// A command that a call runs.
#[derive(Debug, Deserialize)]
pub struct ToolCommand {
    /// Number of the call.
    pub call: u64,
    /// Number of the command, which [`CommandEnded`] repeats.
    pub command: u64,
    /// A program and its arguments.
    pub argv: Vec<String>,
}

/// `command_ended`: how a command of a call ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommandEnded {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Number of the call.
    pub call: u64,
    /// Number of the command.
    pub command: u64,
    /// Exit code; absent if a signal ended it.
    pub code: Option<i32>,
    /// Lines on standard output.
    pub stdout: Vec<String>,
    /// Lines on standard error.
    pub stderr: Vec<String>,
    /// Why it could not run.
    pub problem: Option<String>,
}

/// A tool as lists and completion show it.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownTool {
    /// Its name.
    pub name: String,
    /// Its source.
    pub source: String,
    /// The beginning of its description.
    pub about: String,
}

/// `tool_call`: run a registered tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCall {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Number of the call, which [`ToolReturned`] repeats.
    pub call: u64,
    /// Id of the function from [`RegisteredTools`].
    pub function: u64,
    /// True if it calls back; absent if it does not say.
    #[serde(rename = "async")]
    pub is_async: Option<bool>,
    /// The tool's name.
    pub tool: String,
    /// The arguments.
    pub input: Value,
    /// Its working directory.
    pub cwd: String,
    /// The chat's file, or empty.
    pub path: String,
    /// The folder that relative paths start from.
    pub folder: String,
    /// Default timeout, in seconds.
    pub timeout: f64,
    /// Limits of its commands; absent without a sandbox.
    pub sandbox: Option<CommandSandbox>,
}

/// The sandbox of a call's commands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommandSandbox {
    /// Folders in which files may be written.
    pub writable: Vec<String>,
    /// Words before those of a command.
    pub prefix: Vec<String>,
    /// Why no command may run.
    pub problem: Option<String>,
}

/// `tool_stop`: stop a call whose result is no longer needed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolStop {
    /// Number of the call.
    pub call: u64,
}
