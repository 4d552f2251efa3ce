//! What the host says of folds. The name that a message is sent under stands first in
//! its description.

use serde::Serialize;

use super::BufferId;

/// One fold: first line, line behind the last, whether it is inside a message, whether
/// it is closed when it is made, the highlight group of its label, its label, and its
/// first words.
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
    /// Whether there may be others that are not known, which are taken away.
    pub anew: bool,
    /// The outer one first.
    pub items: Vec<FoldItem>,
}

/// `folds`: what can be folded, where that differs from what was said before.
#[derive(Debug, Serialize)]
pub struct Folds {
    /// Which buffer.
    pub buffer: BufferId,
    /// The text that they were computed for.
    pub seq: u64,
    /// Whether there are any; else all are taken away.
    pub enabled: bool,
    /// Whether nothing said before counts any more.
    pub reset: bool,
    /// Whether the chat is being opened: its folds come piece by piece, and what the user
    /// closed of them counts for those that follow.
    pub opening: bool,
    /// In order.
    pub parts: Vec<FoldPart>,
}

/// `unfold`: open every fold round these lines, in every window.
#[derive(Debug, Serialize)]
pub struct Unfold<'a> {
    /// Which buffer.
    pub buffer: BufferId,
    /// Which lines.
    pub lines: &'a [usize],
}
