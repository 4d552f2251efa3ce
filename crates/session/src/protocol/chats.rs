//! Messages of the plugin about a chat: its buffer, its text, and where it is shown.

use std::path::PathBuf;

use chat::origin::ChangeSource;
use serde::Deserialize;
use serde_bytes::ByteBuf;

use super::BufferId;

/// The new name of a buffer with the same text.
#[derive(Debug, Deserialize)]
pub struct Renamed {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Absolute, or empty.
    pub path: String,
    /// True if it has changes that are not in its file.
    pub modified: bool,
}

/// A chat buffer.
#[derive(Debug, Deserialize)]
pub struct Attach {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Absolute, or empty.
    pub path: String,
    /// Neovim's working directory.
    pub cwd: String,
    /// Process id of Neovim.
    #[serde(default)]
    pub process: u32,
    /// Columns of text in a window that shows it.
    pub width: usize,
    /// Why it is attached.
    pub reason: AttachReason,
    /// Ids of calls that ran when the last host ended.
    #[serde(default)]
    pub interrupted: Vec<String>,
    /// True if an answer was arriving then.
    #[serde(default)]
    pub streaming: bool,
    /// Messages that the chat did not contain yet then.
    #[serde(default)]
    pub queued: Vec<String>,
    /// The origin of its text.
    pub came: Came,
    /// True if it has changes that are not in its file.
    pub modified: bool,
}

/// Why a buffer is attached to a host.
// Deserialized from its name, because rmpv cannot read enums from strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum AttachReason {
    /// It was opened.
    Open,
    /// Its text was replaced, as by `:edit!`.
    Reload,
    /// The host is new.
    Restart,
}

impl TryFrom<String> for AttachReason {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "open" => Ok(Self::Open),
            "reload" => Ok(Self::Reload),
            "restart" => Ok(Self::Restart),
            _ => Err(format!("a buffer cannot be attached because of {name:?}")),
        }
    }
}

/// A buffer's text, compared with its file when that was read.
// Deserialized from its name, because rmpv cannot read enums from strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Came {
    /// There was no file: the user wrote everything here.
    Empty,
    /// It is the file's text.
    Read,
    /// It has changed since.
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
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Sequence number of the text.
    pub seq: u64,
    /// Lines joined by LF: one value is decoded much faster than hundreds.
    #[serde(default)]
    pub text: Option<ByteBuf>,
    /// The lines one by one, if one of them contains LF, which means NUL.
    #[serde(default)]
    pub lines: Vec<ByteBuf>,
    /// True for the last piece.
    pub done: bool,
}

/// A change of lines.
#[derive(Debug, Deserialize)]
pub struct Changed {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Sequence number of the text after the change.
    pub seq: u64,
    /// First line that was replaced.
    pub first: usize,
    /// Line after the last that was replaced.
    pub last: usize,
    /// The new lines.
    pub lines: Vec<ByteBuf>,
    /// True if another piece of the same change follows.
    #[serde(default)]
    pub more: bool,
    /// Bytes that keys typed in Insert or Replace mode since the change before; absent if
    /// no key was pressed since then.
    #[serde(default)]
    pub typed: Option<usize>,
    /// True for an undo or a redo. Sent only with changes that wrote a status.
    #[serde(default)]
    pub undone: bool,
}

impl Changed {
    /// The source of the change.
    pub fn source(&self) -> ChangeSource {
        if self.undone {
            ChangeSource::Undo
        } else {
            ChangeSource::Editor { typed: self.typed }
        }
    }
}

/// The file contains the buffer's text.
#[derive(Debug, Deserialize)]
pub struct Saved {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Sequence number of that text.
    pub seq: u64,
    /// The file.
    pub path: PathBuf,
}

/// A buffer was closed.
#[derive(Debug, Deserialize)]
pub struct Detached {
    /// The chat's buffer.
    pub buffer: BufferId,
}

/// Visible lines of a buffer, in all its windows.
#[derive(Debug, Deserialize)]
pub struct Viewport {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// First visible line.
    pub first: usize,
    /// Line after the last.
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
