//! Questions to the front end, and its replies. Neovim gets a question as the message whose
//! name begins its description, and repeats the question's number, `ask`, in its reply.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::Value;

use super::BufferId;

/// A question to the front end.
#[derive(Debug, Clone, PartialEq)]
pub enum EditorQuestion {
    /// Call the user's functions. The reply is [`EditorReply::Functions`].
    Functions(FunctionCalls),
    /// Get the text of an open file. The reply is [`EditorReply::Buffers`].
    OpenText(GetOpenText),
    /// Change an open file. The reply is [`EditorReply::Buffers`].
    ReplaceText(ReplaceText),
    /// Find the problems of a changed file. The reply is [`EditorReply::Problems`].
    FindProblems(FindProblems),
    /// Get what a reference names. The reply is [`EditorReply::Reference`].
    Reference(ReferenceQuestion),
    /// Have the user edit what a call would change. The reply is [`EditorReply::Reviewed`].
    Review(ReviewQuestion),
    /// Ask the user. The reply is [`EditorReply::Prompted`].
    Prompt(InputPrompt),
}

/// The reply to an [`EditorQuestion`].
#[derive(Debug)]
pub enum EditorReply {
    /// From the user's functions.
    Functions(Answered),
    /// About an open file.
    Buffers(BuffersAnswered),
    /// The problems of a changed file.
    Problems(ProblemsFound),
    /// About a reference.
    Reference(ReferenceAnswer),
    /// From a review.
    Reviewed(ReviewAnswer),
    /// From the user.
    Prompted(Prompted),
}

/// `ask`: call the user's functions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionCalls {
    /// The calls.
    pub calls: Vec<FunctionCall>,
}

/// A call of the user's functions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionCall {
    /// The functions, which are called in this order until one returns something: ids from
    /// [`Configure`](super::Configure) and [`Resolvers`](super::Resolvers).
    pub functions: Vec<u64>,
    /// The arguments of each.
    pub arguments: Vec<Value>,
}

/// `open_text`: get the text and state of an open file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GetOpenText {
    /// Absolute.
    pub path: String,
}

/// `replace_text`: change an open file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplaceText {
    /// Absolute.
    pub path: String,
    /// The file that was found there; `None` if there was no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileIdentity>,
    /// The text that it must have now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The new text.
    pub text: String,
    /// The new encoding; `None` keeps the old one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<&'static str>,
}

/// `find_problems`: find what parsers and language servers say about a file that a call changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindProblems {
    /// Absolute.
    pub path: String,
    /// The text before the change; `None` if the file is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The text after it.
    pub after: String,
}

/// The problems of a file before and after a change.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ProblemsFound {
    /// Those in the text before.
    pub before: Vec<ProblemItem>,
    /// Those in the text after.
    pub after: Vec<ProblemItem>,
}

/// A problem of a file.
#[derive(Debug, Clone, Deserialize)]
pub struct ProblemItem {
    /// `syntax`, `error`, or `warning`.
    pub kind: String,
    /// The line.
    pub line: usize,
    /// The beginning of that line, in any encoding.
    pub text: ByteBuf,
    /// The beginning of the message, in any encoding.
    pub message: ByteBuf,
}

/// Identifies a file across renames and links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FileIdentity {
    /// Number of the device.
    pub device: u64,
    /// Number of the file on the device.
    pub inode: u64,
}

/// `reference`: get what a reference in a chat names in the editor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReferenceQuestion {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// `diagnostics`, `quickfix`, `symbols`, `buffer`, or `buffers`: all that can be named.
    pub kind: &'static str,
    /// The name of a buffer, otherwise empty.
    pub name: String,
    /// The folder that the chat's relative paths start from.
    pub folder: String,
}

/// The content of a reference, as the editor returns it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ReferenceAnswer {
    /// Why there is nothing: the rest of a sentence that begins with the reference.
    #[serde(default)]
    pub problem: Option<String>,
    /// Diagnostics, entries of the quickfix list, symbols, or buffers.
    #[serde(default)]
    pub items: Vec<ReferenceItem>,
    /// Number of items that exist, which may be more.
    #[serde(default)]
    pub total: usize,
    /// The title of the quickfix list.
    #[serde(default)]
    pub title: String,
    /// The text of a buffer.
    #[serde(default)]
    pub text: String,
    /// The file of a buffer.
    #[serde(default)]
    pub path: Option<String>,
    /// The name of a buffer.
    #[serde(default)]
    pub name: String,
    /// The file type of a buffer.
    #[serde(default)]
    pub language: String,
    /// True if a buffer's text is not in its file.
    #[serde(default)]
    pub modified: bool,
}

/// A diagnostic, an entry of the quickfix list, a symbol, or a buffer.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ReferenceItem {
    /// Its file.
    #[serde(default)]
    pub path: Option<String>,
    /// The user's name for its buffer; empty for an entry without a place.
    pub name: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The byte column, counted from 1; 0 if it is not known.
    pub column: usize,
    /// The severity, or the kind of a symbol; may be empty.
    pub kind: String,
    /// The message, or the name of a symbol.
    pub text: String,
}

/// `prompt`: ask the user for a line of text or, with `items`, for one of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InputPrompt {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// The question, on one line.
    pub title: String,
    /// The items to choose from.
    pub items: Option<Vec<String>>,
    /// The text in the line at first.
    pub initial: Option<String>,
}

/// `review`: have the user edit a diff, which is a text of its own. Replaces the last one with
/// the same id.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReviewQuestion {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// The call's id, or one for the review of a turn. A call has none with a colon.
    pub call: String,
    /// The subject of the diff.
    pub subject: ReviewSubject,
    /// The diff.
    pub text: String,
    /// A message about it for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Lines of it that cannot be applied.
    pub problems: Vec<ReviewLine>,
}

/// The subject of a diff that the user edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewSubject {
    /// The changes of a pending call.
    Call,
    /// The changes since a message.
    Turn,
    /// A summary of the chat, which is text and no diff.
    Summary,
}

/// A line of a diff that cannot be applied.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReviewLine {
    /// The line.
    pub line: usize,
    /// Why, and what to do.
    pub message: String,
}

/// The diff as the user approved it; absent if they decided nothing.
#[derive(Debug, Default, Deserialize)]
pub struct ReviewAnswer {
    /// The text.
    #[serde(default)]
    pub text: Option<ByteBuf>,
}

/// The user's answer; both fields are absent if they left the prompt.
#[derive(Debug, Default, Deserialize)]
pub struct Prompted {
    /// The line that was typed.
    #[serde(default)]
    pub text: Option<String>,
    /// Index of the chosen item.
    #[serde(default)]
    pub item: Option<usize>,
}

/// The answers of the user's functions.
#[derive(Debug, Default, Deserialize)]
pub struct Answered {
    /// For each call, in order: the answers of the functions that were asked, in order.
    pub values: Vec<Vec<FunctionAnswer>>,
}

/// The answer of one function.
#[derive(Debug, Clone, Deserialize)]
pub struct FunctionAnswer {
    /// True if it returned without an error.
    pub ok: bool,
    /// The value that it returned, unless that was a table, a function, or similar.
    #[serde(default)]
    pub value: Value,
    /// The type of that value; `gone` if the function no longer exists.
    #[serde(default)]
    pub kind: String,
    /// Its error message.
    #[serde(default)]
    pub message: Option<String>,
}

/// The state of an open file.
#[derive(Debug, Default, Deserialize)]
pub struct BuffersAnswered {
    /// True if a buffer contains the file.
    #[serde(default)]
    pub open: bool,
    /// The buffer's text.
    #[serde(default)]
    pub text: Option<String>,
    /// True if it has unsaved changes.
    #[serde(default)]
    pub modified: bool,
    /// True if the text was replaced.
    #[serde(default)]
    pub ok: bool,
    /// True if the file was written.
    #[serde(default)]
    pub saved: bool,
    /// Size of the text, or of the file if it was written.
    #[serde(default)]
    pub bytes: u64,
    /// Changes that the user's autocommands made while it was written, as a diff.
    #[serde(default)]
    pub difference: Option<String>,
    /// True if the buffer has unsaved changes and its file changed on disk.
    #[serde(default)]
    pub conflict: bool,
    /// Why the change failed.
    #[serde(default)]
    pub message: Option<String>,
}
