//! Messages about folds. Each description begins with the name of the message.

use serde::Serialize;

use super::BufferId;

/// One fold: first line, line behind the last, whether it is inside a message, whether
/// it is closed when it is made, the highlight group of its label, its label, and its text.
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

/// Lines, and all folds that begin in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoldPart {
    /// First line.
    pub first: usize,
    /// Line behind the last.
    pub last: usize,
    /// The outer one first.
    pub items: Vec<FoldItem>,
}

/// `folds`: what can be folded, where that differs from what was sent before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Folds {
    /// Which buffer.
    pub buffer: BufferId,
    /// The text that the lines are of.
    pub seq: u64,
    /// Whether there are folds at all; otherwise all are deleted.
    pub enabled: bool,
    /// Whether all folds of the text are being sent, piece by piece: the editor may have
    /// others, and makes these anew.
    pub opening: bool,
    /// In order.
    pub parts: Vec<FoldPart>,
}

/// `unfold`: open every fold around these lines, in every window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unfold {
    /// Which buffer.
    pub buffer: BufferId,
    /// Which lines.
    pub lines: Vec<usize>,
}
