//! What the host says. The name that a message is sent under stands first in its
//! description.

use serde::Serialize;
use serde_json::Value;

use super::{BufferId, WindowId};
use crate::usage::Sums;

/// `welcome`: who answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Welcome {
    /// See [`VERSION`].
    pub protocol: u64,
    /// The host's version.
    pub version: &'static str,
}

/// One of the changes of a [`BufferEdit`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// First line that goes.
    pub first: usize,
    /// Line behind the last that goes.
    pub last: usize,
    /// The lines that come.
    pub lines: Vec<String>,
}

/// `apply`: change the text, all or nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BufferEdit {
    /// Which buffer.
    pub buffer: BufferId,
    /// Comes back in [`Applied`].
    pub edit: u64,
    /// The text that the changes were computed for.
    pub seq: u64,
    /// Sorted and disjoint.
    pub changes: Vec<Change>,
    /// Where an answer will grow, in the text that they make.
    pub anchor: Option<Anchor>,
    /// Whether it continues the undo step of our last change.
    pub join: bool,
    /// Whether it must be in the swap file at once: what it says is about to be done.
    pub keep: bool,
    /// Whether the user may change the text again with it: the last result and the
    /// end of the lock are seen together.
    pub unlock: bool,
}

/// `append`: insert text at an anchor, which moves behind it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerChunk {
    /// Which buffer.
    pub buffer: BufferId,
    /// Comes back in [`Applied`].
    pub edit: u64,
    /// Which anchor.
    pub anchor: u64,
    /// What must stand before the anchor.
    pub expect: Option<Expect>,
    /// The first continues the anchor's line.
    pub lines: Vec<String>,
    /// Whether it continues the undo step of our last change.
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

/// Where a text will grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Anchor {
    /// Which anchor.
    pub anchor: u64,
    /// Its line.
    pub line: usize,
    /// Its byte column.
    pub column: usize,
}

/// `release_anchor`: nothing grows there any more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReleaseAnchor {
    /// Which buffer.
    pub buffer: BufferId,
    /// Which anchor.
    pub anchor: u64,
}

/// `lock`: whether the user may change the text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lock {
    /// Which buffer.
    pub buffer: BufferId,
    /// Whether it is locked.
    pub locked: bool,
}

/// `taken`: whether another program works on the chat's file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Taken {
    /// Which buffer.
    pub buffer: BufferId,
    /// Whether one does.
    pub elsewhere: bool,
}

/// `cursor`: move it, in one window, if that is at the end of the chat.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cursor {
    /// Which buffer.
    pub buffer: BufferId,
    /// The line.
    pub line: usize,
    /// The byte column.
    pub column: usize,
    /// Which window.
    pub window: Option<WindowId>,
    /// Whether to go into Insert mode.
    pub insert: bool,
    /// Whether it is the direct answer to a key. Then a cursor that has not left the
    /// key's line is moved too.
    pub asked: bool,
    /// A cursor on this line or below counts as one at the end.
    pub from: Option<usize>,
    /// A line below that must be seen as well.
    pub to: Option<usize>,
}

/// `notify`: a message to the user.
#[derive(Debug, Serialize)]
pub struct Notify<'a> {
    /// The chat that it concerns, if it concerns one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<BufferId>,
    /// `info`, `warn` or `error`.
    pub level: &'static str,
    /// Full sentences.
    pub message: &'a str,
}

/// `event`: a `User` autocommand.
#[derive(Debug, Serialize)]
pub struct UserEvent<'a> {
    /// The autocommand's pattern.
    pub name: &'a str,
    /// What it gets as `data`.
    pub data: Value,
}

/// `choices`: what `:Flemma switch` and `:Flemma run` take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choices {
    /// Whether the user is asked what to switch to.
    pub ask: bool,
    /// Whether the choice is for every chat and not for the current one.
    pub all: bool,
    /// What can be switched to, presets first.
    pub items: Vec<Choice>,
    /// Folders of commands; one that is not absolute is in the working directory.
    pub commands: Vec<String>,
}

/// A preset or a provider.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// Its name.
    pub name: String,
    /// The models that are known of it; of a preset none.
    pub models: Vec<String>,
    /// Its parameters, each with `=` and, where there are few, a value.
    pub parameters: Vec<String>,
}

/// `usage`: what an answer took and cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageNote {
    /// Which buffer.
    pub buffer: BufferId,
    /// What is shown for a moment.
    pub lines: Vec<String>,
    /// For how many seconds; 0 is not at all.
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

/// `check_files`: read open files again that a command may have changed.
#[derive(Debug, Serialize)]
pub struct CheckFiles {}

/// `report`: show lines in a window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The window's name.
    pub title: &'static str,
    /// What it shows.
    pub lines: Vec<String>,
}

/// `open`: a new chat.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Open {
    /// The buffer's name.
    pub name: String,
    /// Its text.
    pub lines: Vec<String>,
    /// Whether Ctrl-] is pressed in it at once.
    pub advance: bool,
}
