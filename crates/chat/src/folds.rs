//! Folds of a document and the text of closed folds.
//!
//! Folds are: each message; thinking, calls, and results inside it; and the frontmatter.
//! Incomplete parts have no fold: the last message, which may still grow, anything that reaches
//! the end of the text, and calls without a result, unless their arguments are shown elsewhere. Does not know which folds are
//! closed.

mod text;

use crate::document::{Block, Document, Message, ResultKind, Role, ToolUseBlock};
use crate::outcome;
use crate::text::Lines;

pub use text::{FoldText, fold_text};

/// Kind of a fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldKind {
    /// The options of the chat.
    Frontmatter,
    /// A system prompt.
    System,
    /// Another whole message.
    Message,
    /// A model's thinking.
    Thinking,
    /// A call.
    ToolUse,
    /// A result.
    ToolResult,
}

impl FoldKind {
    /// Name used in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frontmatter => "frontmatter",
            Self::System => "system",
            Self::Message => "message",
            Self::Thinking => "thinking",
            Self::ToolUse => "tool_use",
            Self::ToolResult => "tool_result",
        }
    }

    /// Returns true for a fold inside a message.
    pub fn is_inner(self) -> bool {
        !matches!(self, Self::Frontmatter | Self::System | Self::Message)
    }
}

/// A fold of at least two lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    /// Kind of the fold.
    pub kind: FoldKind,
    /// Lines of the fold.
    pub lines: Lines,
    /// Whether it contains something the user must see: an error, an answer that was cut
    /// off, or a pending call.
    pub must_show: bool,
}

/// A range of lines and the folds that start in it, outer ones first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedPart {
    /// All lines, whether they can be folded or not.
    pub lines: Lines,
    /// Folds, none of which extends beyond `lines`.
    pub folds: Vec<Fold>,
}

/// Number of parts: the lines before the first message, and each message.
pub fn part_count(document: &Document<'_>) -> usize {
    document.messages.len() + 1
}

/// Returns all folds of the document, outer ones before those in them.
pub fn folds(document: &Document<'_>) -> Vec<Fold> {
    let parts = (0..part_count(document)).map(|at| part(document, at, &[]));
    parts.flat_map(|part| part.folds).collect()
}

/// Returns the part that contains a line.
pub fn part_at(document: &Document<'_>, line: usize) -> usize {
    let messages = &document.messages;
    messages.partition_point(|message| message.lines.start <= line)
}

/// Returns a part of the document; empty if out of range. `shown` are the opening fences of calls
/// whose arguments are shown elsewhere, so that nothing is lost in a fold.
pub fn part(document: &Document<'_>, part: usize, shown: &[usize]) -> FoldedPart {
    let messages = &document.messages;
    let end = document.text().line_count();
    let Some(at) = part.checked_sub(1) else {
        return FoldedPart {
            lines: 0..messages.first().map_or(end, |first| first.lines.start),
            folds: frontmatter(document).into_iter().collect(),
        };
    };
    let Some(message) = messages.get(at) else {
        return FoldedPart {
            lines: end..end,
            folds: Vec::new(),
        };
    };
    let blocks = document.blocks_of(message);
    let unanswered = unanswered_calls(document, at);
    // The last message may still grow.
    let is_last = at + 1 == messages.len();
    let whole = (!is_last && message.lines.len() > 1).then(|| Fold {
        kind: match message.role {
            Role::System => FoldKind::System,
            _ => FoldKind::Message,
        },
        lines: message.lines.clone(),
        must_show: !unanswered.is_empty() || blocks.iter().any(|block| must_show(document, block)),
    });
    let inner = blocks.iter();
    let inner = inner.filter_map(|block| {
        inner_fold(document, message, block, |call| {
            !unanswered.contains(&call.lines.start)
                || shown.contains(&call.body.start.saturating_sub(1))
        })
    });
    FoldedPart {
        lines: message.lines.clone(),
        folds: whole.into_iter().chain(inner).collect(),
    }
}

/// Returns the first lines of the calls of a message that have no result yet.
fn unanswered_calls(document: &Document<'_>, message: usize) -> Vec<usize> {
    // The list is sorted, because messages are parsed in order. It is short, so a turn is paired
    // only where a call is pending.
    let has_some = document.unanswered.binary_search(&message).is_ok();
    let turn = has_some.then(|| document.turn(message)).flatten();
    let calls = turn.into_iter().flat_map(|turn| turn.calls);
    let calls = calls.filter(|call| !call.is_answered());
    calls.map(|call| call.tool_use.lines.start).collect()
}

fn frontmatter(document: &Document<'_>) -> Option<Fold> {
    let frontmatter = document.frontmatter.as_ref()?;
    // A frontmatter that reaches the end of the text may be incomplete.
    let below = frontmatter.lines.end < document.text().line_count();
    (below && frontmatter.lines.len() > 1).then(|| Fold {
        kind: FoldKind::Frontmatter,
        lines: frontmatter.lines.clone(),
        must_show: frontmatter.problem.is_some(),
    })
}

fn must_show(document: &Document<'_>, block: &Block) -> bool {
    match block {
        Block::ToolResult(result) => {
            let is_fine = result.kind == ResultKind::Final { is_error: false };
            // The result of a command that failed is not marked as an error.
            !is_fine || outcome::exit(document, result).is_some()
        }
        Block::Aborted(_) => true,
        _ => false,
    }
}

/// Returns the fold of a block. A block that starts on the marker line covers the whole
/// message, so it needs no fold.
fn inner_fold(
    document: &Document<'_>,
    message: &Message,
    block: &Block,
    folds: impl Fn(&ToolUseBlock) -> bool,
) -> Option<Fold> {
    let kind = match block {
        Block::Thinking(_) => FoldKind::Thinking,
        Block::ToolUse(call) if folds(call) => FoldKind::ToolUse,
        Block::ToolResult(result) if matches!(result.kind, ResultKind::Final { .. }) => {
            FoldKind::ToolResult
        }
        _ => return None,
    };
    let lines = block.lines();
    // A block at the end of the text may still grow.
    let is_whole = lines.start > message.lines.start && lines.end < document.text().line_count();
    (is_whole && lines.len() > 1).then(|| Fold {
        kind,
        lines,
        must_show: must_show(document, block),
    })
}
