//! What the plugin says about a chat: its buffer, its text, and where it is shown.

use chat::origin::ChangeSource;
use serde::Deserialize;
use serde_bytes::ByteBuf;

use super::BufferId;

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
    /// The lines one by one where LF, which is Neovim's NUL, is in one of them.
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

/// The working directory of the window that shows a chat.
#[derive(Debug, Deserialize)]
pub struct Directory {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Absolute.
    pub cwd: String,
}
