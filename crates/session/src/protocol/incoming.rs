//! What the plugin says.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::{
    Attach, BufferId, Changed, Command, Detached, Directory, EditorReply, RegisteredTools, Renamed,
    Resolvers, Saved, Snapshot, ToolCommand, ToolReturned, Viewport,
};

/// What the plugin says. The name of a message is its variant in snake case.
#[derive(Debug)]
pub enum FromEditor {
    /// First of all; answered with [`Welcome`].
    Hello(Hello),
    /// The options of `setup()`.
    Configure(Configure),
    /// Who else has a say about calls.
    Resolvers(Resolvers),
    /// A chat buffer; its text follows.
    Attach(Attach),
    /// A piece of a buffer's text.
    Snapshot(Snapshot),
    /// Lines changed.
    Changed(Changed),
    /// The file holds all that the buffer holds.
    Saved(Saved),
    /// A buffer has another name.
    Renamed(Renamed),
    /// A buffer is gone.
    Detached(Detached),
    /// The user wants something.
    Command(Command),
    /// Other lines are visible.
    Viewport(Viewport),
    /// What became of an edit.
    Applied(Applied),
    /// The tools that are registered in Lua.
    Tools(RegisteredTools),
    /// What one of them said.
    ToolReturned(ToolReturned),
    /// One of them wants a command to run.
    ToolCommand(ToolCommand),
    /// Which files are open.
    OpenFiles(OpenFiles),
    /// The working directory of a chat is another one.
    Directory(Directory),
    /// The reply to the question of this number.
    Replied(u64, EditorReply),
}

/// Who asks.
#[derive(Debug, Deserialize)]
pub struct Hello {
    /// See [`VERSION`].
    pub protocol: u64,
    /// The plugin's version.
    pub version: String,
    /// Where to log.
    #[serde(default)]
    pub log: Option<String>,
}

/// The options of `setup()`.
#[derive(Debug, Deserialize)]
pub struct Configure {
    /// As given. A function is `{"function": id}`, and a number that JSON cannot hold is
    /// `{"not_finite": "inf"}`.
    pub options: Value,
    /// The configuration file they are from; those of `setup()` have none.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// True if an earlier host has reported what is wrong with them.
    #[serde(default)]
    pub reported: bool,
    /// The line that called `setup()`, as `file:line`.
    #[serde(default)]
    pub caller: Option<String>,
    /// Who has a say with these options.
    #[serde(default)]
    pub resolvers: Resolvers,
}

/// What became of an edit.
#[derive(Debug, Deserialize)]
pub struct Applied {
    /// Which buffer.
    pub buffer: BufferId,
    /// Which edit.
    pub edit: u64,
    /// What became of it.
    pub outcome: Outcome,
    /// The text's number now.
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

/// What became of an edit.
// By way of its name, because rmpv reads no enums from strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Outcome {
    /// The buffer has it.
    Applied,
    /// The text was another by then.
    Stale,
    /// The anchor's text is gone.
    Lost,
    /// The text before the anchor is another.
    Moved,
    /// Neovim refused.
    Failed,
}

impl TryFrom<String> for Outcome {
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

/// Which files are open; comes anew whenever that changes, before anybody can change
/// the text of one that is new.
#[derive(Debug, Default, Deserialize)]
pub struct OpenFiles {
    /// Names of loaded buffers, absolute, links in them not followed.
    #[serde(default)]
    pub paths: Vec<String>,
}
