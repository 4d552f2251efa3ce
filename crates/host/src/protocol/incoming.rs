//! What the plugin says.

use std::collections::HashMap;
use std::path::PathBuf;

use chat::origin::ChangeSource;
use serde::Deserialize;
use serde_bytes::ByteBuf;
use serde_json::Value;

use super::{BufferId, Prompted, RegisteredTools, ToolCommand, ToolReturned, WindowId};

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
    /// What the user's functions answered.
    Answered(Answered),
    /// The tools that are registered in Lua.
    Tools(RegisteredTools),
    /// What one of them said.
    ToolReturned(ToolReturned),
    /// One of them wants a command to run.
    ToolCommand(ToolCommand),
    /// What is known of an open file.
    BuffersAnswered(BuffersAnswered),
    /// Which files are open.
    OpenFiles(OpenFiles),
    /// The working directory of a chat is another one.
    Directory(Directory),
    /// What the user said to a question.
    Prompted(Prompted),
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
    /// As given; a function is `{"function": id}`.
    pub options: Value,
    /// The configuration file they are from; those of `setup()` have none.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// Whether `setup()` has told already what does not fit the options.
    #[serde(default)]
    pub checked: bool,
    /// Who has a say with these options.
    #[serde(default)]
    pub resolvers: Resolvers,
}

/// Who else has a say about calls; comes anew whenever that changes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Resolvers {
    /// The functions.
    #[serde(default)]
    pub items: Vec<RegisteredResolver>,
    /// Names of our own resolvers that the user took away.
    #[serde(default)]
    pub without: Vec<String>,
    /// Whether shell commands that only read are approved once nobody else decided.
    #[serde(default)]
    pub reads: bool,
}

/// A function that the user or a plugin registered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RegisteredResolver {
    /// Unique.
    pub name: String,
    /// Higher is asked first.
    pub priority: i32,
    /// Its id.
    pub function: u64,
    /// Whether it denies when it fails; else it passes.
    #[serde(default)]
    pub closed: bool,
    /// Whether it is a module named in `tools.auto_approve`.
    #[serde(default)]
    pub from_options: bool,
}

/// A buffer has another name; its text is the same.
#[derive(Debug, Deserialize)]
pub struct Renamed {
    /// Which buffer.
    pub buffer: BufferId,
    /// Absolute, or empty.
    pub path: String,
    /// Whether it has changes that its file does not have.
    pub modified: bool,
}

/// A chat buffer.
#[derive(Debug, Deserialize)]
pub struct Attach {
    /// Which.
    pub buffer: BufferId,
    /// Absolute, or empty.
    pub path: String,
    /// Neovim's working directory.
    pub cwd: String,
    /// Neovim's process.
    #[serde(default)]
    pub process: u32,
    /// Columns of text in a window that shows it.
    pub width: usize,
    /// `open`, `reload` or `restart`.
    #[serde(default)]
    pub reason: String,
    /// Ids of calls that ran when the former host died.
    #[serde(default)]
    pub interrupted: Vec<String>,
    /// Whether an answer was streaming then.
    #[serde(default)]
    pub streaming: bool,
    /// What the user had said then that was not in the chat yet.
    #[serde(default)]
    pub queued: Vec<String>,
    /// What its text was when it was read.
    pub came: Came,
    /// Whether it has changes that its file has not.
    pub modified: bool,
}

/// What a text is, compared with what its file held when it was read.
// By way of its name, because rmpv reads no enums from strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Came {
    /// There was nothing: all was written here.
    Empty,
    /// It is what was read.
    Read,
    /// It was changed since.
    Changed,
}

impl TryFrom<String> for Came {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "empty" => Ok(Self::Empty),
            "read" => Ok(Self::Read),
            "changed" => Ok(Self::Changed),
            _ => Err(format!("no text came as {name:?}")),
        }
    }
}

/// A piece of a buffer's text.
#[derive(Debug, Deserialize)]
pub struct Snapshot {
    /// Which.
    pub buffer: BufferId,
    /// The text's number.
    pub seq: u64,
    /// Lines joined by LF: one value is read much faster than hundreds.
    #[serde(default)]
    pub text: Option<ByteBuf>,
    /// The lines one by one where LF, which is Neovim's NUL, stands in one of them.
    #[serde(default)]
    pub lines: Vec<ByteBuf>,
    /// Whether this is the last piece.
    pub done: bool,
}

/// Lines changed.
#[derive(Debug, Deserialize)]
pub struct Changed {
    /// Which buffer.
    pub buffer: BufferId,
    /// The number of the text after the change.
    pub seq: u64,
    /// First line that went.
    pub first: usize,
    /// Line behind the last that went.
    pub last: usize,
    /// The lines that came.
    pub lines: Vec<ByteBuf>,
    /// Whether another piece of the same change follows.
    #[serde(default)]
    pub more: bool,
    /// Bytes of text that keys typed in Insert or Replace mode since the change before;
    /// absent when no key was pressed since then.
    #[serde(default)]
    pub typed: Option<usize>,
    /// Whether it is an undo or a redo. Said only of changes that wrote a status.
    #[serde(default)]
    pub undone: bool,
}

impl Changed {
    /// What made the change.
    pub fn source(&self) -> ChangeSource {
        match self.undone {
            true => ChangeSource::Undo,
            false => ChangeSource::Editor { typed: self.typed },
        }
    }
}

/// The file holds all that the buffer holds.
#[derive(Debug, Deserialize)]
pub struct Saved {
    /// Which.
    pub buffer: BufferId,
    /// The text that it is said of.
    pub seq: u64,
}

/// A buffer is gone.
#[derive(Debug, Deserialize)]
pub struct Detached {
    /// Which.
    pub buffer: BufferId,
}

/// The user wants something.
#[derive(Debug, Clone, Deserialize)]
pub struct Command {
    /// Where.
    pub buffer: BufferId,
    /// A key's name, or what stands after `:Flemma`.
    pub name: String,
    /// The cursor's line.
    pub line: usize,
    /// The window it was pressed in.
    pub window: WindowId,
    /// What else was said.
    #[serde(default)]
    pub arguments: Value,
    /// The last call that was shown again and is on the screen; absent when there is none.
    #[serde(default)]
    pub shown: Option<ShownAgain>,
    /// The marks of calls that wait and are folded away in that window.
    #[serde(default)]
    pub hidden: Vec<String>,
    /// For how long each call that waits has been on the screen, in milliseconds, by the
    /// id of its mark; one that was not drawn yet is absent.
    #[serde(default)]
    pub drawn_ms: HashMap<String, u64>,
}

/// See [`MarkItem::again`](super::MarkItem::again).
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct ShownAgain {
    /// Which time.
    pub again: u64,
    /// For how long it has been on the screen, in milliseconds.
    pub for_ms: u64,
}

impl Command {
    /// Whether it may have something sent or run.
    pub fn works(&self) -> bool {
        let name = self.name.as_str();
        let speaks = matches!(name, "steer" | "queue") && self.words().is_some();
        let decides = matches!(name, "resolve" | "tool:execute" | "approve" | "reject");
        speaks || decides || matches!(name, "advance" | "send")
    }

    /// Whether calls that wait may be decided about.
    pub fn decides(&self) -> bool {
        matches!(
            self.name.as_str(),
            "advance" | "resolve" | "tool:execute" | "approve"
        )
    }

    /// What the user says with it, as it was typed.
    pub fn words(&self) -> Option<&str> {
        self.arguments.get("text").and_then(Value::as_str)
    }
}

/// Visible lines of a buffer, over all its windows.
#[derive(Debug, Deserialize)]
pub struct Viewport {
    /// Which buffer.
    pub buffer: BufferId,
    /// First visible line.
    pub first: usize,
    /// Line behind the last.
    pub last: usize,
    /// Columns of text.
    pub width: usize,
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

/// What the user's functions answered.
#[derive(Debug, Deserialize)]
pub struct Answered {
    /// The question.
    pub ask: u64,
    /// For each call, in order: what those that were asked answered, in order.
    pub values: Vec<Vec<FunctionAnswer>>,
}

/// What one function answered.
#[derive(Debug, Deserialize)]
pub struct FunctionAnswer {
    /// Whether it returned.
    pub ok: bool,
    /// What it returned, unless that was a table or the like.
    #[serde(default)]
    pub value: Value,
    /// The type of what it returned; `gone` when there is no such function.
    #[serde(default)]
    pub kind: String,
    /// The error it raised.
    #[serde(default)]
    pub message: Option<String>,
}

/// Which files are open; comes anew whenever that changes, before anybody can change
/// the text of one that is new.
#[derive(Debug, Default, Deserialize)]
pub struct OpenFiles {
    /// Names of loaded buffers, absolute, links in them not followed.
    #[serde(default)]
    pub paths: Vec<String>,
}

/// The working directory of the window that shows a chat.
#[derive(Debug, Deserialize)]
pub struct Directory {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Absolute.
    pub cwd: String,
}

/// What is known of an open file.
#[derive(Debug, Default, Deserialize)]
pub struct BuffersAnswered {
    /// The question.
    pub ask: u64,
    /// Whether a buffer holds the file.
    #[serde(default)]
    pub open: bool,
    /// Its text.
    #[serde(default)]
    pub text: Option<String>,
    /// Whether it has unsaved changes.
    #[serde(default)]
    pub modified: bool,
    /// Whether the text was replaced.
    #[serde(default)]
    pub ok: bool,
    /// Whether the file was written.
    #[serde(default)]
    pub saved: bool,
    /// The size of the text, or of the file once it is written.
    #[serde(default)]
    pub bytes: u64,
    /// What the user's autocommands changed while it was written, as a diff.
    #[serde(default)]
    pub difference: Option<String>,
    /// Whether the file of a buffer with unsaved changes changed on disk.
    #[serde(default)]
    pub conflict: bool,
    /// Why not.
    #[serde(default)]
    pub message: Option<String>,
}
