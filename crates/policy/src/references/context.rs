//! Texts of references to the editor and the Git repository, such as `@diff`. The caller
//! collects them before the references are resolved.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chat::references::ContextSource;

/// The text of each reference to the editor or the repository, or a sentence that follows the
/// reference and says why it cannot be sent.
pub type Contexts = BTreeMap<ContextSource, Result<ContextText, String>>;

/// The text of a reference to the editor or the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextText {
    /// The text.
    pub text: String,
    /// The language of its fence; empty if it is not known.
    pub language: String,
    /// The file that a buffer holds. The rules of files apply to it.
    pub file: Option<BufferFile>,
}

/// The file of a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferFile {
    /// Its absolute path.
    pub path: PathBuf,
    /// True if the buffer's text is not written to it.
    pub is_modified: bool,
}
