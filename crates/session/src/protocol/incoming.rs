//! Messages from the plugin to the host.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::{
    Attach, BufferId, Changed, Detached, Directory, EditorCommand, EditorReply, Lookup, Query,
    RegisteredTools, Renamed, Resolvers, Saved, Snapshot, ToolCommand, ToolReturned, Viewport,
};

/// A message from the plugin. Its name is the variant in snake case.
#[derive(Debug)]
pub enum FromEditor {
    /// The first message; [`Welcome`] answers it.
    Hello(Hello),
    /// The options of `setup()`.
    Configure(Configure),
    /// The approval resolvers that are registered in Lua.
    Resolvers(Resolvers),
    /// A chat buffer; its text follows.
    Attach(Attach),
    /// A piece of a buffer's text.
    Snapshot(Snapshot),
    /// Lines changed.
    Changed(Changed),
    /// The file contains the buffer's text.
    Saved(Saved),
    /// A buffer has another name.
    Renamed(Renamed),
    /// A buffer was closed.
    Detached(Detached),
    /// A key or a command.
    Command(EditorCommand),
    /// Other lines are visible.
    Viewport(Viewport),
    /// The outcome of an edit.
    Applied(Applied),
    /// The tools that are registered in Lua.
    Tools(RegisteredTools),
    /// A result of one of them.
    ToolReturned(ToolReturned),
    /// One of them wants a command to run.
    ToolCommand(ToolCommand),
    /// The open files.
    OpenFiles(OpenFiles),
    /// The user saved a file.
    FileSaved(FileSaved),
    /// The working directory of a chat changed.
    Directory(Directory),
    /// A question about a place in a chat.
    Lookup(Lookup),
    /// A question that concerns no place in a chat.
    Query(Query),
    /// The reply to the question with this number.
    Replied(u64, EditorReply),
}

/// The plugin that connects.
#[derive(Debug, Deserialize)]
pub struct Hello {
    /// See [`VERSION`].
    pub protocol: u64,
    /// The plugin's version.
    pub version: String,
    /// Path of the log file.
    #[serde(default)]
    pub log: Option<String>,
}

/// The options of `setup()`.
#[derive(Debug, Deserialize)]
pub struct Configure {
    /// As given. A function is `{"function": id}`, and a number that JSON cannot hold is
    /// `{"not_finite": "inf"}`.
    pub options: Value,
    /// The configuration file that they are from; `None` for `setup()`.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// Options that the command line sets, which a project does not change.
    #[serde(skip)]
    pub fixed: Vec<&'static str>,
    /// True if an earlier host has reported their problems.
    #[serde(default)]
    pub reported: bool,
    /// The line that called `setup()`, as `file:line`.
    #[serde(default)]
    pub caller: Option<String>,
    /// The resolvers that belong to these options.
    #[serde(default)]
    pub resolvers: Resolvers,
}

/// The editor's answer to an edit.
#[derive(Debug, Deserialize)]
pub struct Applied {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Number of the edit.
    pub edit: u64,
    /// The outcome of the edit.
    pub outcome: EditOutcome,
    /// Sequence number of the text now.
    pub seq: u64,
    /// Why it failed.
    #[serde(default)]
    pub message: Option<String>,
    /// Line where an appended text began.
    #[serde(default)]
    pub at_row: Option<usize>,
    /// Byte column where it began.
    #[serde(default)]
    pub at_column: Option<usize>,
}

/// The outcome of an edit.
// Deserialized from its name, because rmpv cannot read enums from strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum EditOutcome {
    /// The buffer contains it.
    Applied,
    /// The text had changed, so nothing was written.
    Stale,
    /// The anchor's text is gone.
    Lost,
    /// The text before the anchor has changed.
    Moved,
    /// Neovim refused.
    Failed,
}

impl TryFrom<String> for EditOutcome {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "applied" => Ok(Self::Applied),
            "stale" => Ok(Self::Stale),
            "lost" => Ok(Self::Lost),
            "moved" => Ok(Self::Moved),
            "failed" => Ok(Self::Failed),
            _ => Err(format!("no outcome is named {name:?}")),
        }
    }
}

/// A file that the user saved.
#[derive(Debug, Deserialize)]
pub struct FileSaved {
    /// Absolute; links are not resolved.
    pub path: PathBuf,
}

/// The open files; sent whenever they change, and before the user can change the text of a
/// file that was just opened.
#[derive(Debug, Default, Deserialize)]
pub struct OpenFiles {
    /// Absolute names of loaded buffers; links are not resolved.
    #[serde(default)]
    pub paths: Vec<String>,
}
