//! What tools may know about the editor: which files are open, and their text.
//!
//! An interface only. The host implements it over its channel to Neovim; without
//! an editor, [`NoBuffers`] says that nothing is open.

use std::path::Path;

use async_trait::async_trait;

/// The text of a file that is open in the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenText {
    /// The buffer's text, with the file's own line ends and byte order mark.
    pub text: String,
    /// Whether it differs from the file on disk. If it does not, the two were compared
    /// for this answer.
    pub modified: bool,
}

/// A new text for a file that is open.
#[derive(Debug, Clone, Copy)]
pub struct Replacement<'a> {
    /// What the text must be now; `None` for anything.
    pub expected: Option<&'a str>,
    /// The new text, with line ends and byte order mark.
    pub text: &'a str,
    /// Whether it is stored as UTF-8; otherwise the encoding of the file stays.
    pub as_utf8: bool,
    /// Device and inode of the file that was found; `None` when there is no file.
    pub file: Option<(u64, u64)>,
}

/// What became of a [`Replacement`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replaced {
    /// Whether the file holds the text; otherwise only the buffer does, as it had
    /// unsaved changes before.
    pub saved: bool,
    /// Size in bytes: of the file if it was saved, of the text otherwise.
    pub bytes: u64,
    /// What the user's autocommands changed while it was saved, as a diff.
    pub difference: Option<String>,
    /// The text with these changes.
    pub text: Option<String>,
    /// Whether the file changed on disk under the unsaved changes.
    pub conflict: bool,
}

/// The files that are open in the editor.
#[async_trait]
pub trait OpenBuffers: Send + Sync {
    /// The text of `path`, or `None` when it is not open. An unmodified buffer whose
    /// file differs is reloaded first.
    async fn text(&self, path: &Path) -> Option<OpenText>;

    /// Replaces the whole text, as one undo step, and writes the file unless the buffer
    /// had unsaved changes before.
    ///
    /// # Errors
    ///
    /// A sentence when it cannot be done; buffer and file are then as they were.
    async fn replace(&self, path: &Path, new: Replacement<'_>) -> Result<Replaced, String>;

    /// Has open files read again that a call may have changed on disk.
    fn check(&self) {}
}

/// No editor: no file is open.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBuffers;

#[async_trait]
impl OpenBuffers for NoBuffers {
    async fn text(&self, _path: &Path) -> Option<OpenText> {
        None
    }

    async fn replace(&self, path: &Path, _new: Replacement<'_>) -> Result<Replaced, String> {
        Err(format!("{} is not open in an editor.", path.display()))
    }
}
