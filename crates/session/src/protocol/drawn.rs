//! What the host has the plugin draw in a chat and beside it. The name that a message is
//! sent under stands first in its description.

use serde::Serialize;

use super::{
    BufferId, Choices, Cursor, Folds, KnownTools, Lock, Open, Report, Taken, Unfold, UsageNote,
    Welcome,
};

/// What a front end shows. Each replaces what was shown of its kind before.
#[derive(Debug, Clone, PartialEq)]
pub enum Display {
    /// Which host this is.
    Welcome(Welcome),
    /// What commands can be completed with.
    Choices(Choices),
    /// The tools that there are.
    KnownTools(KnownTools),
    /// Lines in a window.
    Report(Report),
    /// A new chat.
    Open(Open),
    /// States and previews beside calls.
    Marks(Marks),
    /// Highlights.
    Spans(Spans),
    /// Problems of the text.
    Diagnostics(Diagnostics),
    /// Folds.
    Folds(Folds),
    /// Folds to open.
    Unfold(Unfold),
    /// Tasks and queued messages.
    Queued(Queued),
    /// What the open request is doing.
    Request(Request),
    /// The status line's text.
    Statusline(Statusline),
    /// What an answer took and cost.
    Usage(Box<UsageNote>),
    /// Whether the user may change the text.
    Lock(Lock),
    /// Whether another program works on the chat.
    Taken(Taken),
    /// Where the cursor goes.
    Cursor(Cursor),
}

/// What is shown beside one call.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MarkItem {
    /// Unique in the buffer.
    pub id: String,
    /// The opening fence, under which the preview hangs.
    pub line: usize,
    /// The call's own header, of one that waits: a key is not about what is folded away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_line: Option<usize>,
    /// The result's header, behind which the state stands.
    pub header_line: usize,
    /// What the call would do. A hundred calls may wait: what is not there is not
    /// spelled out for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// `pending`, `running`, `asking`, `done` or `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// What stands beside the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What stands behind the label, less prominent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Counts, in one buffer, the times that a call had to be shown again because its file
    /// changed: a key is about what was on the screen when it was pressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<u64>,
    /// How long it has been running, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// The last lines of its output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<String>,
}

/// `marks`: all of a buffer's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Marks {
    /// Which buffer.
    pub buffer: BufferId,
    /// Every one; those that are missing vanish.
    pub items: Vec<MarkItem>,
}

/// `request`: what the open request is doing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// Which buffer.
    pub buffer: BufferId,
    /// `idle`, `waiting`, `thinking`, `streaming` or `stalled`.
    pub state: &'static str,
    /// What stands beside the spinner.
    pub label: Option<String>,
    /// For how long that has been so, in milliseconds, when it began before now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
}

/// Something the user said that is not in the chat yet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueuedItem {
    /// As it was typed.
    pub text: String,
    /// When it is said: `next`, as soon as that is possible, or `later`, when the
    /// model is done.
    pub when: &'static str,
}

/// `queued`: what is shown below the end of the chat: the model's tasks, and all that the
/// user said and that is not in the chat yet. Should this host end, the next one gets
/// the latter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Queued {
    /// Which buffer.
    pub buffer: BufferId,
    /// The line below which it is shown: the last.
    pub line: usize,
    /// In the order in which it is said.
    pub items: Vec<QueuedItem>,
    /// The model's tasks, above that.
    pub tasks: Vec<TaskItem>,
}

/// A line of the model's list of tasks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskItem {
    /// The task, or how many others there are.
    pub text: String,
    /// How far it is.
    pub status: tools::TaskStatus,
}

/// `spans`: highlights of the visible lines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spans {
    /// Which buffer.
    pub buffer: BufferId,
    /// The text that they were computed for.
    pub seq: u64,
    /// First line.
    pub first: usize,
    /// Line behind the last.
    pub last: usize,
    /// For each line: first byte, byte behind the last (-1: the whole line), group.
    pub lines: Vec<Vec<(usize, i64, &'static str)>>,
}

/// A remark on some lines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiagnosticItem {
    /// First line.
    pub line: usize,
    /// Line behind the last.
    pub end_line: usize,
    /// A sentence.
    pub message: String,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// What would mend it.
    pub fix: Option<String>,
}

/// `diagnostics`: all of a buffer's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnostics {
    /// Which buffer.
    pub buffer: BufferId,
    /// Every one.
    pub items: Vec<DiagnosticItem>,
}

/// `statusline`: its text for a buffer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statusline {
    /// Which buffer.
    pub buffer: BufferId,
    /// Plain text.
    pub text: String,
}
