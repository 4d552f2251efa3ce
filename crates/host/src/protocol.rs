//! The words that plugin and host exchange, version 1; `lua/flemma/protocol.lua`
//! is the other side's copy, and a test compares the two lists of names.
//!
//! Types only. Lines are zero-based and end-exclusive, columns are bytes. `seq`
//! counts the text changes of one buffer; it is the only clock both sides share.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::Value;

/// Compared by `hello` and `welcome` before anything else is said.
pub const VERSION: u64 = 1;

/// Neovim's number of a buffer.
pub type BufferId = i64;
/// Neovim's number of a window.
pub type WindowId = i64;

/// What the plugin says. The name of a message is its variant in snake case.
#[derive(Debug)]
pub enum FromEditor {
    /// First of all; answered with [`Welcome`].
    Hello(Hello),
    /// The options of `setup()`.
    Configure(Configure),
    /// A chat buffer; its text follows.
    Attach(Attach),
    /// A piece of a buffer's text.
    Snapshot(Snapshot),
    /// Lines changed.
    Changed(Changed),
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
    /// What is known of an open file.
    BuffersAnswered(BuffersAnswered),
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
    /// Columns of text in a window that shows it.
    pub width: usize,
    /// Ids of calls that ran when the former host died.
    #[serde(default)]
    pub interrupted: Vec<String>,
    /// Whether an answer was streaming then.
    #[serde(default)]
    pub streaming: bool,
}

/// A piece of a buffer's text.
#[derive(Debug, Deserialize)]
pub struct Snapshot {
    /// Which.
    pub buffer: BufferId,
    /// The text's number.
    pub seq: u64,
    /// The lines.
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
}

/// A buffer is gone.
#[derive(Debug, Deserialize)]
pub struct Detached {
    /// Which.
    pub buffer: BufferId,
}

/// The user wants something.
#[derive(Debug, Deserialize)]
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
    /// One for each call, in order.
    pub values: Vec<FunctionAnswer>,
}

/// What one function answered.
#[derive(Debug, Deserialize)]
pub struct FunctionAnswer {
    /// Whether it returned.
    pub ok: bool,
    /// What it returned.
    #[serde(default)]
    pub value: Value,
    /// The error it raised.
    #[serde(default)]
    pub message: Option<String>,
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
    /// Why not.
    #[serde(default)]
    pub message: Option<String>,
}

/// `welcome`: who answers.
#[derive(Debug, Serialize)]
pub struct Welcome {
    /// See [`VERSION`].
    pub protocol: u64,
    /// The host's version.
    pub version: &'static str,
}

/// One of the changes of [`Apply`].
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// First line that goes.
    pub first: usize,
    /// Line behind the last that goes.
    pub last: usize,
    /// The lines that come.
    pub lines: Vec<String>,
}

/// `apply`: change the text, all or nothing.
#[derive(Debug, Serialize)]
pub struct Apply<'a> {
    /// Which buffer.
    pub buffer: BufferId,
    /// Comes back in [`Applied`].
    pub edit: u64,
    /// The text that the changes were computed for.
    pub seq: u64,
    /// Sorted and disjoint.
    pub changes: &'a [Change],
    /// Whether it continues the undo step of our last change.
    pub join: bool,
    /// Whether windows whose cursor is on the last line stay there.
    pub follow: bool,
}

/// `append`: insert text at an anchor, which moves behind it.
#[derive(Debug, Serialize)]
pub struct Append<'a> {
    /// Which buffer.
    pub buffer: BufferId,
    /// Comes back in [`Applied`].
    pub edit: u64,
    /// Which anchor.
    pub anchor: u64,
    /// What must stand before the anchor.
    pub expect: Option<Expect<'a>>,
    /// The first continues the anchor's line.
    pub lines: &'a [&'a str],
    /// Whether it continues the undo step of our last change.
    pub join: bool,
}

/// The text before an anchor.
#[derive(Debug, Serialize)]
pub struct Expect<'a> {
    /// The anchor's byte column.
    pub column: usize,
    /// The last bytes before it, at most 64.
    pub tail: &'a str,
}

/// `anchor` and `release_anchor`: where a text will grow.
#[derive(Debug, Serialize)]
pub struct Anchor {
    /// Which buffer.
    pub buffer: BufferId,
    /// Which anchor.
    pub anchor: u64,
    /// Its line.
    pub line: usize,
    /// Its byte column.
    pub column: usize,
}

/// `lock`: whether the user may change the text.
#[derive(Debug, Serialize)]
pub struct Lock {
    /// Which buffer.
    pub buffer: BufferId,
    /// Whether it is locked.
    pub locked: bool,
}

/// `cursor`: move it, in one window.
#[derive(Debug, Serialize)]
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
    /// Only when the cursor is on this line or below.
    pub from: Option<usize>,
    /// A line below that must be seen as well.
    pub to: Option<usize>,
}

/// What is shown beside one call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MarkItem {
    /// Unique in the buffer.
    pub id: String,
    /// The opening fence, under which the preview hangs.
    pub line: usize,
    /// The result's header, behind which the state stands.
    pub header_line: usize,
    /// What the call would do.
    pub preview: Option<String>,
    /// `pending`, `running`, `done` or `failed`.
    pub state: Option<&'static str>,
    /// What stands beside the state.
    pub label: Option<String>,
    /// How long it has been running, in milliseconds.
    pub elapsed_ms: Option<u64>,
    /// The last lines of its output.
    pub output: Vec<String>,
}

/// `marks`: all of a buffer's.
#[derive(Debug, Serialize)]
pub struct Marks<'a> {
    /// Which buffer.
    pub buffer: BufferId,
    /// Every one; those that are missing vanish.
    pub items: &'a [MarkItem],
}

/// `request`: what the open request is doing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// Which buffer.
    pub buffer: BufferId,
    /// `idle`, `waiting`, `thinking` or `streaming`.
    pub state: &'static str,
    /// What stands beside the spinner.
    pub label: Option<String>,
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
#[derive(Debug, Serialize)]
pub struct Diagnostics<'a> {
    /// Which buffer.
    pub buffer: BufferId,
    /// Every one.
    pub items: &'a [DiagnosticItem],
}

/// `notify`: a message to the user.
#[derive(Debug, Serialize)]
pub struct Notify<'a> {
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

/// `statusline`: what stands there for a buffer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statusline {
    /// Which buffer.
    pub buffer: BufferId,
    /// Plain text.
    pub text: String,
}

/// `ask`: call the user's functions.
#[derive(Debug, Serialize)]
pub struct Ask {
    /// Comes back in [`Answered`].
    pub ask: u64,
    /// The calls.
    pub calls: Vec<FunctionCall>,
}

/// A call of a user's function.
#[derive(Debug, Serialize)]
pub struct FunctionCall {
    /// Its id, from [`Configure`].
    pub function: u64,
    /// What it gets.
    pub arguments: Vec<Value>,
}

/// `open_text`: what is known of an open file.
#[derive(Debug, Serialize)]
pub struct OpenText<'a> {
    /// Comes back in [`BuffersAnswered`].
    pub ask: u64,
    /// Absolute.
    pub path: &'a str,
}

/// `replace_text`: change an open file.
#[derive(Debug, Serialize)]
pub struct ReplaceText<'a> {
    /// Comes back in [`BuffersAnswered`].
    pub ask: u64,
    /// Absolute.
    pub path: &'a str,
    /// The text it must have.
    pub expected: &'a str,
    /// The text it gets.
    pub text: &'a str,
}

/// `report`: show lines in a window.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    /// The window's name.
    pub title: &'a str,
    /// What it shows.
    pub lines: Vec<String>,
}

/// `open`: a new chat.
#[derive(Debug, Serialize)]
pub struct Open<'a> {
    /// The buffer's name.
    pub name: &'a str,
    /// Its text.
    pub lines: Vec<&'a str>,
}
