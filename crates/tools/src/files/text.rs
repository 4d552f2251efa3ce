//! The text of a file, with its encoding.

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

/// The state that a file must have for a new text to be stored in it.
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

// Text encodings of files: UTF-8, UTF-16 with a byte order mark, and Latin-1.
//
// Pure. Neovim detects the same three, so an open file has the same text as on disk. The byte
// order mark is the first character of the text.

/// An encoding of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Encoding {
    /// UTF-8.
    #[default]
    Utf8,
    /// UTF-16, little-endian.
    Utf16Le,
    /// UTF-16, big-endian.
    Utf16Be,
    /// ISO 8859-1, in which all bytes are valid.
    Latin1,
}

impl Encoding {
    /// Decodes a file. Returns `None` for a binary file, which is not UTF-8 and contains a NUL.
    pub(crate) fn decode(bytes: Vec<u8>) -> Option<(String, Self)> {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => return Some((text, Self::Utf8)),
            Err(error) => error.into_bytes(),
        };
        let wide = match &bytes[..] {
            [0xff, 0xfe, ..] => Some((Self::Utf16Le, u16::from_le_bytes as fn([u8; 2]) -> u16)),
            [0xfe, 0xff, ..] => Some((Self::Utf16Be, u16::from_be_bytes as fn([u8; 2]) -> u16)),
            _ => None,
        };
        if let Some((encoding, unit)) = wide {
            let (units, rest) = bytes.as_chunks::<2>();
            let units: Vec<u16> = units.iter().map(|it| unit(*it)).collect();
            // A lone surrogate could not be stored again as it was.
            let text = String::from_utf16(&units).ok()?;
            // Half a character at the end would be lost.
            return rest.is_empty().then_some((text, encoding));
        }
        let text = || bytes.iter().copied().map(char::from).collect();
        // Every byte is valid in Latin-1, so only a NUL tells binary files apart.
        (!bytes.contains(&0)).then(|| (text(), Self::Latin1))
    }

    /// Encodes a text.
    ///
    /// # Errors
    ///
    /// The first character that the encoding can't represent.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        match self {
            Self::Utf8 => Ok(text.as_bytes().to_vec()),
            Self::Utf16Le => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Self::Utf16Be => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::Latin1 => text
                .chars()
                .map(|it| u8::try_from(u32::from(it)).map_err(|_| it))
                .collect(),
        }
    }

    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le | Self::Utf16Be => "UTF-16",
            Self::Latin1 => "Latin-1",
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_text_is_recognized() {
        for (bytes, text, encoding) in [
            (&b"a\xc3\xa9"[..], "a\u{e9}", Encoding::Utf8),
            (b"\xef\xbb\xbfa", "\u{feff}a", Encoding::Utf8),
            (b"a\xe9", "a\u{e9}", Encoding::Latin1),
            (b"\xff\xfea\0\xe9\0", "\u{feff}a\u{e9}", Encoding::Utf16Le),
            (b"\xfe\xff\0a", "\u{feff}a", Encoding::Utf16Be),
        ] {
            let decoded = Encoding::decode(bytes.to_vec());
            assert_eq!(decoded, Some((text.to_owned(), encoding)));
        }
        for binary in [&b"\xff\0"[..], b"\xff\xfea\0b", b"\xff\xfe\0\xd8"] {
            assert_eq!(Encoding::decode(binary.to_vec()), None);
        }
        assert_eq!(Encoding::Latin1.encode("a\u{20ac}"), Err('\u{20ac}'));
    }

    proptest! {
        #[test]
        fn what_is_decoded_is_stored_as_the_same_bytes(bytes: Vec<u8>, mark in 0usize..3) {
            let mark: &[u8] = [&b""[..], b"\xff\xfe", b"\xfe\xff"][mark];
            let bytes = [mark, &bytes].concat();
            if let Some((text, encoding)) = Encoding::decode(bytes.clone()) {
                prop_assert_eq!(encoding.encode(&text), Ok(bytes));
            }
        }
    }
}
