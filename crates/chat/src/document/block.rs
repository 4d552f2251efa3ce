//! The blocks of a message and the lines they cover.
//!
//! Does not hold the text of those lines; `parse` recognizes them.

use std::sync::Arc;

use crate::status::Status;
use crate::text::Lines;
use crate::tool::ToolUseId;

/// A block of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text, blank lines included.
    Prose(Lines),
    /// A call, in an `@Assistant:` message only.
    ToolUse(ToolUseBlock),
    /// An answer to a call, in a `@You:` message only.
    ToolResult(ToolResultBlock),
    /// Thinking, in an `@Assistant:` message only.
    Thinking(ThinkingBlock),
    /// The comment between two texts that the provider sent as separate parts of one answer,
    /// in an `@Assistant:` message only.
    TextBreak(Lines),
    /// The comment of an answer that was cut off, in an `@Assistant:` message only.
    Aborted(Aborted),
}

impl Block {
    /// Returns the lines the block covers.
    pub fn lines(&self) -> Lines {
        match self {
            Block::Prose(lines) | Block::TextBreak(lines) => lines.clone(),
            Block::ToolUse(it) => it.lines.clone(),
            Block::ToolResult(it) => it.lines.clone(),
            Block::Thinking(it) => it.lines.clone(),
            Block::Aborted(it) => it.lines.clone(),
        }
    }
}

/// A `**Tool Use:**` block whose fence is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUseBlock {
    /// ID that results refer to; need not be unique.
    pub id: ToolUseId,
    /// The tool's name, shared by all calls of a tool.
    pub name: Arc<str>,
    /// The fence's language if it is neither absent nor `json`; the call is then invalid.
    pub other_language: Option<Box<str>>,
    /// Header through closing fence.
    pub lines: Lines,
    /// The lines inside the fence.
    pub body: Lines,
}

/// A `**Tool Result:**` block whose fence is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResultBlock {
    /// The call this block answers.
    pub tool_use_id: ToolUseId,
    /// Whether it is a placeholder or a result.
    pub kind: ResultKind,
    /// Header through closing fence.
    pub lines: Lines,
    /// The lines inside the fence.
    pub body: Lines,
}

/// Contents of a tool result's fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultKind {
    /// A `flemma:tool` fence: the call has a status but no result yet.
    Placeholder(Status),
    /// A real result, which the model will see.
    Final {
        /// Whether the header ends in `(error)`.
        is_error: bool,
    },
}

/// A thinking block, tags included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThinkingBlock {
    /// Opening tag through closing tag.
    pub lines: Lines,
    /// The lines between the tags; empty if self-closing.
    pub body: Lines,
    /// The provider that signed it and its signature.
    pub signature: Option<(String, String)>,
    /// Whether the body is a provider's opaque data.
    pub redacted: bool,
}

/// The comment at the end of an answer that was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aborted {
    /// One line.
    pub lines: Lines,
    /// The reason, without `-->`.
    pub reason: String,
}
