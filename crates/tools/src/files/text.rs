//! The text of a file, with its encoding.

use super::Encoding;

/// The text of a file when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileText {
    /// The text with line endings and byte order mark.
    pub text: String,
    /// How it is stored. The editor decides for an open file.
    pub(super) encoding: Encoding,
}

impl FileText {
    /// A text stored as UTF-8.
    pub(crate) fn utf8(text: String) -> Self {
        Self {
            text,
            encoding: Encoding::Utf8,
        }
    }

    /// The bytes of the text in its encoding, if that can hold it.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        self.encoding.encode(&self.text).ok()
    }

    /// Another text in the same encoding.
    pub(crate) fn with(&self, text: String) -> Self {
        Self {
            text,
            encoding: self.encoding,
        }
    }
}

/// The content of a file before a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Before {
    /// The file does not exist.
    Absent,
    /// Its text.
    Text(FileText),
    /// It exists, but has no text that could be shown.
    Other(Unshown),
}

impl Before {
    /// The text, if there is one.
    pub(crate) fn text(&self) -> Option<&FileText> {
        match self {
            Self::Text(text) => Some(text),
            Self::Absent | Self::Other(_) => None,
        }
    }
}

/// What a file must be for a new text to be stored in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Anything. The text is stored as UTF-8.
    Any,
    /// It does not exist.
    Absent,
    /// It has this text. The new one is stored as UTF-8.
    Replaced(FileText),
    /// It has this text, and keeps its encoding.
    Changed(FileText),
}

impl Expected {
    /// The text that an open buffer must have.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Any => None,
            // A buffer of a file that does not exist is empty.
            Self::Absent => Some(""),
            Self::Replaced(text) | Self::Changed(text) => Some(&text.text),
        }
    }

    /// The encoding of the new text; `None` for UTF-8, whatever the old one is.
    pub(super) fn encoding(&self) -> Option<Encoding> {
        match self {
            Self::Changed(text) => Some(text.encoding),
            Self::Any | Self::Absent | Self::Replaced(_) => None,
        }
    }
}

/// Why an existing file has no text that could be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unshown {
    /// It is binary.
    Binary,
    /// It is larger than a tool reads.
    TooLarge,
    /// It cannot be read.
    Unreadable,
}
