//! Messages that make a front end draw in a chat or next to it. The first word of each doc comment
//! is the name of the message.

use std::sync::Arc;

use serde::Serialize;

use super::{
    BufferId, BufferLock, Choices, Cursor, FoldAbove, Folds, Open, Rename, Report, Taken, Unfold,
    UsageNote, Welcome,
};
use crate::usage::Sums;

/// Content that a front end shows. Each message replaces the last one of its kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Display {
    /// The host's version.
    Welcome(Welcome),
    /// Completions of commands.
    Choices(Choices),
    /// Lines in a window.
    Report(Report),
    /// A new chat.
    Open(Open),
    /// Another name of a chat's file.
    Rename(Rename),
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
    /// See [`FoldAbove`].
    FoldAbove(FoldAbove),
    /// Tasks and queued messages.
    Queued(Queued),
    /// References that were sent.
    Sent(SentItems),
    /// The state of the open request.
    Request(RequestDisplay),
    /// The status line's text.
    Statusline(Box<Statusline>),
    /// Tokens and cost of an answer.
    Usage(Box<UsageNote>),
    /// Locks or unlocks the text for the user.
    Lock(BufferLock),
    /// Says if another program works on the chat.
    Taken(Taken),
    /// An answer or a result that is not in the file.
    Save(Save),
    /// The place to which the cursor goes.
    Cursor(Cursor),
    /// A pending call in a window of its own.
    Decision(Decision),
    /// The end of a review.
    ReviewClosed(ReviewClosed),
    /// A page that the user asked for.
    Visit(Visit),
}

/// `visit`: open the page of a login in the browser.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Visit {
    /// Its address.
    pub url: String,
}

/// `decision`: show a pending call in a window of its own, in which keys decide about it. What
/// they do comes as `decide`, with the window's number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// The id of the call's mark.
    pub id: String,
    /// The number of the window.
    pub number: u64,
    /// How long it must be on the screen before a key decides, in milliseconds.
    pub least_ms: u64,
    /// True if it is shown only if the window of the call is still open.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub refresh: bool,
    /// Its text.
    pub lines: Vec<DecisionLine>,
}

/// A line of a decision's window: `title`, `asks`, `remark`, `name`, or `value`, and the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisionLine(pub &'static str, pub String);

/// `review_closed`: a review is over, because its call was decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReviewClosed {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// The call's id.
    pub call: String,
}

/// `save`: the text has an answer or a result that its file lacks. Sent only while the host has
/// the chat lock.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Save {
    /// The chat's buffer.
    pub buffer: BufferId,
}

/// Virtual text beside one call.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MarkItem {
    /// Unique in the buffer.
    pub id: String,
    /// Line of the opening fence; the preview is drawn below it.
    pub line: usize,
    /// The lines of a pending call itself, from its header to its arguments: a key must not decide
    /// about a folded call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<(usize, usize)>,
    /// Line of the result's header; the state is drawn after it.
    pub header_line: usize,
    /// The preview of the call. Absent fields are not sent, because a hundred calls may be
    /// pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// The arguments of a call that has its result, above `diff`.
    #[serde(skip_serializing_if = "has_none")]
    pub fields: Arc<[FieldItem]>,
    /// The lines of these arguments' JSON with its fence, which 'conceallevel' 2 hides: the
    /// first, and the line after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<(usize, usize)>,
    /// The changes that the call makes, by file.
    #[serde(skip_serializing_if = "has_none")]
    pub diff: Arc<[DiffItem]>,
    /// `pending`, `running`, `asking`, `done`, or `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// Text after the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Text after the label, less prominent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Why a pending call waits, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// True if the call can be tried.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tries: bool,
    /// Counter of calls that were shown again because their files changed: a key decides
    /// about what was on the screen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<u64>,
    /// Time since it started, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// The last lines of its output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<String>,
}

fn has_none<T>(items: &Arc<[T]>) -> bool {
    items.is_empty()
}

/// A row of an argument: its name, or as many blanks; a part of its value; and whether that is
/// a remark about the value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldItem(pub String, pub String, pub bool);

/// The change that a call makes in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DiffItem {
    /// The file as the call names it; empty if `labels` says why the call would fail.
    pub name: String,
    /// Numbers of added and removed lines: `+12 −3`.
    pub counts: String,
    /// Remarks on one line, or empty.
    pub labels: String,
    /// The columns that it was made for.
    pub width: usize,
    /// Columns of the line numbers.
    pub digits: usize,
    /// The shown lines, wrapped.
    pub rows: Vec<DiffRow>,
    /// Number of lines that are left out.
    pub more: usize,
}

/// A row of a [`DiffItem`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DiffRow {
    /// `context`, `add`, `delete`, or `remark`.
    pub kind: &'static str,
    /// The number of the line; 0 if the row continues the one above, or is not a line.
    pub number: usize,
    /// The text, with invisible characters spelled out.
    pub text: String,
    /// First byte and byte after the last of each changed range of the text.
    pub changed: Vec<usize>,
}

/// `marks`: all marks of a buffer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Marks {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// All marks; missing ones are removed.
    pub items: Vec<MarkItem>,
}

/// `request`: what the open request is doing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestDisplay {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// `idle`, `waiting`, `thinking`, `streaming`, or `stalled`.
    pub state: &'static str,
    /// Text beside the spinner.
    pub label: Option<String>,
    /// Time since the state began, in milliseconds, if it did not begin now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
}

/// A line with references, and what was sent of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SentItem {
    /// The line.
    pub line: usize,
    /// Size of what was sent, in bytes.
    pub bytes: u64,
    /// When it was sent, in seconds since 1970; `None` for a result that is sent shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
}

/// `sent`: all references that were sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SentItems {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// In the order of the lines.
    pub items: Vec<SentItem>,
}

/// A message that the chat does not contain yet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueuedItem {
    /// As it was typed.
    pub text: String,
    /// When it is sent: `next`, as soon as possible, or `later`, when the model is done.
    pub when: &'static str,
}

/// `queued`: the model's tasks and the queued messages, shown below the end of the chat.
/// If this host ends, the plugin passes the messages to the next one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Queued {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// The last line, below which it is shown.
    pub line: usize,
    /// Messages in the order in which they are sent.
    pub items: Vec<QueuedItem>,
    /// The model's tasks, above the messages.
    pub tasks: Vec<TaskItem>,
}

/// A line of the model's list of tasks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskItem {
    /// The task, or the number of others.
    pub text: String,
    /// Its status.
    pub status: tools::TaskStatus,
}

/// `spans`: highlights of the visible lines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spans {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Sequence number of the text that they were computed for.
    pub seq: u64,
    /// First line.
    pub first: usize,
    /// Line after the last.
    pub last: usize,
    /// For each line: first byte, byte after the last (-1 for the whole line), group.
    pub lines: Vec<Vec<(usize, i64, &'static str)>>,
    /// Parts with a syntax, whole even if only some of their lines are visible: first line,
    /// line after the last, `markdown`, `language`, `file`, `thinking`, or `plain`, and the
    /// name of the language or file.
    pub regions: Vec<(usize, usize, &'static str, String)>,
}

/// A problem of some lines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiagnosticItem {
    /// First line.
    pub line: usize,
    /// Line after the last.
    pub end_line: usize,
    /// A sentence.
    pub message: String,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// Title of its fix.
    pub fix: Option<String>,
}

/// `diagnostics`: all diagnostics of a buffer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnostics {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// All diagnostics.
    pub items: Vec<DiagnosticItem>,
}

/// The activity of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing.
    #[default]
    Idle,
    /// A key waits until the tools are loaded.
    Loading,
    /// A request was sent, and nothing has arrived.
    Sending,
    /// The request failed, and is sent again in so many seconds.
    Retrying(#[serde(skip)] u64),
    /// The model thinks.
    Thinking,
    /// The model writes a call.
    Calling,
    /// Text arrives.
    Streaming,
    /// An answer has begun, and no more of it arrives.
    Stalled,
    /// Calls run.
    Running,
    /// Calls wait for the user.
    Approval,
}

/// `statusline`: the state of a chat, for its winbar and for status lines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statusline {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// The state as one plain text.
    pub text: String,
    /// The provider's name; empty if it is not known before a request.
    pub provider: String,
    /// The model's name, or empty.
    pub model: String,
    /// The activity of the chat.
    pub phase: Phase,
    /// Seconds until the next attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_in: Option<u64>,
    /// Number of running calls.
    pub running: usize,
    /// Number of calls that wait for the user.
    pub waiting: usize,
    /// Number of queued messages.
    pub queued: usize,
    /// Milliseconds since the key that began what is happening now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// Sums of the chat's requests since the host started.
    pub sums: Sums,
    /// Their tokens as a text; empty without requests.
    pub tokens: String,
    /// Their cost as a text; empty if it is not known.
    pub cost: String,
    /// Tokens of the last request and its answer: what the model has to remember.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// Maximum tokens of a prompt and its answer, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_limit: Option<u64>,
    /// True if the chat is in plan mode.
    pub plan: bool,
    /// True if the chat is open in another program.
    pub elsewhere: bool,
}
