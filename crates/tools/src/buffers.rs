//! What tools may know about the editor: which files are open, and their text.
//!
//! An interface only. The host implements it over its channel to Neovim; without
//! an editor, [`NoBuffers`] says that nothing is open.

use std::path::Path;

use async_trait::async_trait;

/// A file as it stands in the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenText {
    /// The buffer's text, with the file's own line ends.
    pub text: String,
    /// Whether it differs from the file on disk.
    pub modified: bool,
}

/// The files that are open in the editor.
#[async_trait]
pub trait OpenBuffers: Send + Sync {
    /// The text of `path`, or `None` when it is not open.
    async fn text(&self, path: &Path) -> Option<OpenText>;

    /// Replaces the whole text if it still equals `expected`, as one undo step.
    /// Writes the file when the buffer had no unsaved changes before; the answer
    /// is whether it did.
    ///
    /// # Errors
    ///
    /// A sentence when the text is another by now or the buffer cannot be changed.
    async fn replace(&self, path: &Path, expected: &str, text: &str) -> Result<bool, String>;
}

/// No editor: no file is open.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBuffers;

#[async_trait]
impl OpenBuffers for NoBuffers {
    async fn text(&self, _path: &Path) -> Option<OpenText> {
        None
    }

    async fn replace(&self, path: &Path, _expected: &str, _text: &str) -> Result<bool, String> {
        Err(format!("{} is not open in an editor.", path.display()))
    }
}
