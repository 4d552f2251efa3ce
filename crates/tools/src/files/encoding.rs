//! Text encodings of files: UTF-8, UTF-16 with a byte order mark, and Latin-1.
//!
//! Pure. Neovim detects the same three, so an open file has the same text as on disk. The byte
//! order mark is the first character of the text.

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
    use super::*;
    use proptest::prelude::*;

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
