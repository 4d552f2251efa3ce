//! The chat on disk: its file, the right to work on it, and what is kept beside it.

use std::path::PathBuf;

use super::chat_lock::ChatLock;
use super::cut::Cut;
use super::kept::Kept;

/// The chat's file and what belongs to it.
pub(super) struct Disk {
    /// Absolute; none for a buffer without a name.
    pub(super) path: Option<PathBuf>,
    /// The working directory of the window that shows it.
    pub(super) cwd: PathBuf,
    pub(super) lock: ChatLock,
    /// The user's words that the chat does not hold yet.
    pub(super) kept: Kept,
    /// What is half done, until the file holds it.
    pub(super) cut: Cut,
}

impl Default for Disk {
    fn default() -> Self {
        Self {
            path: None,
            cwd: PathBuf::from("/"),
            lock: ChatLock::default(),
            kept: Kept::default(),
            cut: Cut::default(),
        }
    }
}
