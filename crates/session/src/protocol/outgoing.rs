//! Messages from the host to the plugin. The first word of each doc comment is the name
//! of the message.

use serde::Serialize;
use serde_json::Value;

use super::{BufferId, WindowId};
use crate::usage::Sums;

/// `welcome`: the answer to `hello`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Welcome {
    /// See [`VERSION`].
    pub protocol: u64,
    /// The host's version.
    pub version: &'static str,
}

/// One of the changes of a [`BufferEdit`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineChange {
    /// First line that is replaced.
    pub first: usize,
    /// Line after the last that is replaced.
    pub last: usize,
    /// The new lines.
    pub lines: Vec<String>,
}

/// `apply`: change the text, all or nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BufferEdit {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Number of the edit, which [`Applied`] repeats.
    pub edit: u64,
    /// Sequence number of the text that the changes were computed for.
    pub seq: u64,
    /// Sorted and disjoint.
    pub changes: Vec<LineChange>,
    /// The place in the changed text at which an answer will grow.
    pub anchor: Option<Anchor>,
    /// True if it continues the undo step of the host's last change.
    pub join: bool,
    /// True if it must be in the swap file at once, because an approved call starts next.
    pub keep: bool,
    /// True if it unlocks the text: the last result and the end of the lock are drawn
    /// together.
    pub unlock: bool,
}

/// `append`: insert text at an anchor, which moves to the end of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerChunk {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Number of the edit, which [`Applied`] repeats.
    pub edit: u64,
    /// Number of the anchor.
    pub anchor: u64,
    /// The text that must be before the anchor.
    pub expect: Option<Expect>,
    /// The first continues the anchor's line.
    pub lines: Vec<String>,
    /// True if it continues the undo step of the host's last change.
    pub join: bool,
}

/// The text before an anchor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expect {
    /// The anchor's byte column.
    pub column: usize,
    /// The last bytes before it, at most 64.
    pub tail: String,
}

/// A position where text will grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Anchor {
    /// Number of the anchor.
    pub anchor: u64,
    /// Its line.
    pub line: usize,
    /// Its byte column.
    pub column: usize,
}

/// `release_anchor`: no more text will be inserted there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReleaseAnchor {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Number of the anchor.
    pub anchor: u64,
}

/// `lock`: lock or unlock the text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BufferLock {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// True if the user cannot change the text.
    pub locked: bool,
}

/// `taken`: whether another program works on the chat's file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Taken {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// True if another program does.
    pub elsewhere: bool,
}

/// `cursor`: move the cursor of a window that is at the end of the chat.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cursor {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// The line.
    pub line: usize,
    /// The byte column.
    pub column: usize,
    /// The window.
    pub window: Option<WindowId>,
    /// True to start Insert mode.
    pub insert: bool,
    /// True if it answers a key directly. Then a cursor that is still on the key's line
    /// moves too.
    pub asked: bool,
    /// A cursor on this line or below counts as one at the end.
    pub from: Option<usize>,
    /// A line below that must be visible too.
    pub to: Option<usize>,
}

/// `notify`: a message to the user.
#[derive(Debug, Serialize)]
pub struct Notify<'a> {
    /// The chat's buffer, if it concerns one chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<BufferId>,
    /// `info`, `warn`, or `error`.
    pub level: &'static str,
    /// Full sentences.
    pub message: &'a str,
}

/// `event`: a `User` autocommand.
#[derive(Debug, Serialize)]
pub struct UserEvent<'a> {
    /// The autocommand's pattern.
    pub name: &'a str,
    /// Its `data`.
    pub data: Value,
}

/// `choices`: completions of `:Flemma switch` and `:Flemma run`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choices {
    /// True if the user is asked what to switch to.
    pub ask: bool,
    /// True if the choice is for all chats, not for the current one.
    pub all: bool,
    /// Presets, then providers.
    pub items: Vec<PickerItem>,
    /// Folders of commands; relative ones are in the working directory.
    pub commands: Vec<String>,
}

/// A preset or a provider.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PickerItem {
    /// Its name.
    pub name: String,
    /// A note to read before it is chosen; may be empty.
    pub note: String,
    /// Its known models; none for a preset.
    pub models: Vec<ModelItem>,
    /// Its parameters, each with `=` and, if there are few, a value.
    pub parameters: Vec<String>,
}

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelItem {
    /// Its name at the provider.
    pub name: String,
    /// Its context and prices, as far as they are known.
    pub note: String,
}

/// `usage`: tokens and cost of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageNote {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Lines that are shown for a moment.
    pub lines: Vec<String>,
    /// Seconds that they are shown; 0 for not at all.
    pub seconds: u64,
    /// The request itself.
    pub request: UsageEntry,
    /// Sums of all requests of this host.
    pub session: Sums,
}

/// One request of a [`UsageNote`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageEntry {
    /// The provider's name.
    pub provider: String,
    /// The model's name.
    pub model: String,
    /// The chat's file.
    pub path: Option<String>,
    /// When it was sent, in milliseconds since 1970.
    pub started_at: u64,
    /// When it ended.
    pub completed_at: u64,
    /// Dollars, if the prices are known.
    pub cost: Option<f64>,
    /// Its figures.
    #[serde(flatten)]
    pub sums: Sums,
}

/// `check_files`: reload open files that a command may have changed.
#[derive(Debug, Serialize)]
pub struct CheckFiles {}

/// `report`: show lines in a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// The window's name.
    pub title: &'static str,
    /// The lines.
    pub lines: Vec<String>,
    /// Files that belong to lines: the number of the line, from 0, and the path.
    pub files: Vec<(usize, String)>,
    /// Background jobs that belong to lines: the number of the line, from 0, and the name.
    pub jobs: Vec<(usize, String)>,
    /// The chat that it is about.
    pub buffer: Option<BufferId>,
    /// Lines of this chat that belong to lines: the numbers of both, from 0.
    pub places: Vec<(usize, usize)>,
    /// True if it replaces a report that is open, and is not shown otherwise.
    pub is_update: bool,
}

/// `rename`: rename a chat's file, unless there is a file with the new name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rename {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// The new path.
    pub path: String,
}

/// `open`: a new chat, or a chat as Markdown or HTML.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Open {
    /// The buffer's name.
    pub name: String,
    /// Its text.
    pub lines: Vec<String>,
    /// True if Ctrl-] is pressed in it at once.
    pub advance: bool,
}
