//! Messages about folds. The first word of each doc comment is the name of the message.

use serde::Serialize;

use super::BufferId;

/// One fold: first line, line after the last, whether it is inside a message, whether it is
/// closed at first, the highlight group of its label, its label, and its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoldItem(
    pub usize,
    pub usize,
    pub bool,
    pub bool,
    pub &'static str,
    pub String,
    pub String,
);

/// Some lines, and all folds that begin in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoldPart {
    /// First line.
    pub first: usize,
    /// Line after the last.
    pub last: usize,
    /// Outer folds come before those inside them.
    pub items: Vec<FoldItem>,
}

/// `folds`: all folds, as far as they differ from those that were sent before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Folds {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Sequence number of the text that they were computed for.
    pub seq: u64,
    /// True if there are folds at all; otherwise all are deleted.
    pub enabled: bool,
    /// True if all folds of the text are being sent, piece by piece: the editor may have
    /// folds of its own then, and replaces them.
    pub opening: bool,
    /// Sorted by line.
    pub parts: Vec<FoldPart>,
}

/// `fold_above`: close every fold above a line, in every window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoldAbove {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// The line.
    pub line: usize,
}

/// `unfold`: open every fold around these lines, in every window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unfold {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// The lines.
    pub lines: Vec<usize>,
}
