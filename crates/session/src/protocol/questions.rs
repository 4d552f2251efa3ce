//! Questions to the front end, and its replies. Neovim gets a question as the message
//! that its description begins with, and adds the question's number, `ask`, to its reply.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::BufferId;

/// A question to the front end.
#[derive(Debug, Clone, PartialEq)]
pub enum EditorQuestion {
    /// What the user's functions return. Replied by [`EditorReply::Functions`].
    Functions(FunctionCalls),
    /// The text of an open file. Replied by [`EditorReply::Buffers`].
    OpenText(OpenText),
    /// Whether an open file could be changed. Replied by [`EditorReply::Buffers`].
    ReplaceText(ReplaceText),
    /// What the user says. Replied by [`EditorReply::Prompted`].
    Prompt(Prompt),
}

/// The reply to an [`EditorQuestion`].
#[derive(Debug)]
pub enum EditorReply {
    /// From the user's functions.
    Functions(Answered),
    /// About an open file.
    Buffers(BuffersAnswered),
    /// From the user.
    Prompted(Prompted),
}

/// `ask`: call the user's functions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionCalls {
    /// The calls.
    pub calls: Vec<FunctionCall>,
}

/// A question to the user's functions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionCall {
    /// Which functions to call, in this order, until one returns something: ids from
    /// [`Configure`](super::Configure) and [`Resolvers`](super::Resolvers).
    pub functions: Vec<u64>,
    /// What each gets.
    pub arguments: Vec<Value>,
}

/// `open_text`: what is known of an open file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenText {
    /// Absolute.
    pub path: String,
}

/// `replace_text`: change an open file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplaceText {
    /// Absolute.
    pub path: String,
    /// The file that was found there; none when there is no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileIdentity>,
    /// The text it must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The text it gets.
    pub text: String,
    /// The encoding it gets; it keeps its own without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<&'static str>,
}

/// A file, as it can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FileIdentity {
    /// The number of the device.
    pub device: u64,
    /// The number on the device.
    pub inode: u64,
}

/// `prompt`: ask the user one thing, with a line to type or, with `items`, a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prompt {
    /// The chat it is about.
    pub buffer: BufferId,
    /// What is asked, on one line.
    pub title: String,
    /// What there is to choose from.
    pub items: Option<Vec<String>>,
    /// What the line holds at first.
    pub initial: Option<String>,
}

/// What the user said; neither when they left.
#[derive(Debug, Default, Deserialize)]
pub struct Prompted {
    /// What was typed.
    #[serde(default)]
    pub text: Option<String>,
    /// What was chosen, counted from zero.
    #[serde(default)]
    pub item: Option<usize>,
}

/// What the user's functions answered.
#[derive(Debug, Default, Deserialize)]
pub struct Answered {
    /// For each call, in order: what those that were asked answered, in order.
    pub values: Vec<Vec<FunctionAnswer>>,
}

/// What one function answered.
#[derive(Debug, Clone, Deserialize)]
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

/// What is known of an open file.
#[derive(Debug, Default, Deserialize)]
pub struct BuffersAnswered {
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
