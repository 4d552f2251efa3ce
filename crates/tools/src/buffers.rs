//! The interface to files open in the editor.
//!
//! The session implements it; [`NoBuffers`] is used without an editor.

use std::path::Path;

use async_trait::async_trait;
use platform::files::FileId;

/// The text of a file that is open in the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenText {
    /// The text of the buffer, with the file's own line endings and byte order mark.
    pub text: String,
    /// True if it differs from the file on disk. If false, the two have just been compared.
    pub modified: bool,
}

/// A new text for a file that is open in the editor.
#[derive(Debug, Clone, Copy)]
pub struct Replacement<'a> {
    /// The text that the buffer must have now; `None` for any.
    pub expected: Option<&'a str>,
    /// The new text, with line endings and byte order mark.
    pub text: &'a str,
    /// True if it is stored as UTF-8. Otherwise the file's encoding is kept.
    pub as_utf8: bool,
    /// Which file the resolved one is; `None` if it does not exist yet.
    pub file: Option<FileId>,
}

/// The result of a [`Replacement`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replaced {
    /// True if the file was written. If false, the buffer had unsaved changes before, so only
    /// the buffer has the new text.
    pub saved: bool,
    /// Size in bytes: of the file if it was written, of the text otherwise.
    pub bytes: u64,
    /// The changes that autocommands made while saving, as a diff.
    pub difference: Option<String>,
    /// The text including these changes.
    pub text: Option<String>,
    /// True if the file on disk has changed while the buffer had unsaved changes.
    pub conflict: bool,
}

/// Access to files open in the editor.
#[async_trait]
pub trait OpenBuffers: Send + Sync {
    /// The text of `path`, or `None` if it is not open. Reloads an unmodified buffer whose file
    /// has changed.
    async fn text(&self, path: &Path) -> Option<OpenText>;

    /// Replaces the whole text as one undo step. Writes the file unless the buffer had unsaved
    /// changes before.
    ///
    /// # Errors
    ///
    /// A sentence with the reason. The buffer and the file are unchanged then.
    async fn replace(&self, path: &Path, new: Replacement<'_>) -> Result<Replaced, String>;

    /// Reloads open files that a call may have changed on disk.
    fn check(&self) {}
}

/// An environment without an editor.
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
