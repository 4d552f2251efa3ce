//! Line-based text, as in Neovim's API.
//!
//! Stored as contiguous bytes with an index of line starts, because the whole text is
//! scanned after every change. Knows nothing about encodings or the `.chat` format.

use std::borrow::Cow;
use std::ops::Range;

/// Buffer lines, zero-based and end-exclusive, as in `nvim_buf_get_lines()`.
pub type Lines = Range<usize>;

/// UTF-8 with U+FFFD for invalid bytes, like [`String::from_utf8_lossy`], which reads byte by byte and takes
/// several times as long for valid text.
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Lines of bytes, separated by LF; always at least one, as in a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    bytes: Vec<u8>,
    /// Byte offset at which each line starts.
    starts: Vec<usize>,
}

impl Default for Text {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            starts: vec![0],
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::from_bytes(text.as_bytes())
    }
}

impl Text {
    /// Splits at LF. After a final LF there is an empty last line, so that [`Text::bytes`]
    /// always returns the given bytes.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', &bytes).map(|at| at + 1));
        Self { bytes, starts }
    }

    /// Joins lines with LF. Without lines, the text is one empty line.
    pub fn from_lines<L: AsRef<[u8]>>(lines: impl IntoIterator<Item = L>) -> Self {
        let mut text = Self::default();
        for (at, line) in lines.into_iter().enumerate() {
            if at > 0 {
                text.bytes.push(b'\n');
                text.starts.push(text.bytes.len());
            }
            push_line(&mut text.bytes, line.as_ref());
        }
        text
    }

    /// Returns the whole text.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the number of lines, at least one.
    pub fn line_count(&self) -> usize {
        self.starts.len()
    }

    /// Returns each line from `line` on with its first byte; LF or none for an empty line.
    pub fn first_bytes(&self, line: usize) -> impl Iterator<Item = (usize, Option<u8>)> {
        let starts = self.starts.iter().enumerate().skip(line);
        starts.map(|(line, start)| (line, self.bytes.get(*start).copied()))
    }

    /// Returns a line without its LF; empty past the end.
    pub fn line(&self, line: usize) -> &[u8] {
        match self.starts.get(line) {
            Some(&start) => &self.bytes[start..self.line_end(line)],
            None => &[],
        }
    }

    /// Returns a line as UTF-8, with U+FFFD for invalid bytes.
    pub fn line_str(&self, line: usize) -> Cow<'_, str> {
        lossy(self.line(line))
    }

    /// Returns lines joined by LF, without a final one; empty if `lines` is empty.
    pub fn slice(&self, lines: Lines) -> &[u8] {
        if lines.start >= lines.end || lines.start >= self.line_count() {
            return &[];
        }
        &self.bytes[self.starts[lines.start]..self.line_end(lines.end.min(self.line_count()) - 1)]
    }

    /// Replaces `lines` with `new`, as `nvim_buf_set_lines()` does. Removing all lines
    /// leaves an empty one, as in a buffer.
    pub fn splice<L: AsRef<[u8]>>(&mut self, lines: Lines, new: &[L]) {
        let count = self.line_count();
        let first = lines.start.min(count);
        let last = lines.end.clamp(first, count);
        let at_end = last == count;
        let mut bytes = Vec::new();
        let mut starts = Vec::with_capacity(new.len());
        let start_of = |line: usize| self.starts.get(line).copied();
        let mut from = start_of(first).unwrap_or(self.bytes.len());
        let to = start_of(last).unwrap_or(self.bytes.len());
        // At the end of the text, the separator precedes the line; elsewhere it follows it.
        let before = at_end && first > 0;
        // The separator before the first removed line goes with it.
        if before && (first == count || new.is_empty()) {
            from = if first == count { from } else { from - 1 };
        }
        for (at, line) in new.iter().enumerate() {
            if at_end && (at > 0 || first == count) {
                bytes.push(b'\n');
            }
            starts.push(from + bytes.len());
            push_line(&mut bytes, line.as_ref());
            if !at_end {
                bytes.push(b'\n');
            }
        }
        // As in a buffer, the last line cannot be removed, only emptied.
        if at_end && first == 0 && new.is_empty() {
            starts.push(0);
        }
        // The casts are exact, because no `Vec` is longer than `isize::MAX`.
        let shift = bytes.len() as isize - (to - from) as isize;
        let added = starts.len();
        self.bytes.splice(from..to, bytes);
        self.starts.splice(first..last, starts);
        for start in &mut self.starts[first + added..] {
            *start = start.wrapping_add_signed(shift);
        }
    }

    fn line_end(&self, line: usize) -> usize {
        self.starts
            .get(line + 1)
            .map_or(self.bytes.len(), |next| next - 1)
    }
}

/// Appends a line. Neovim represents NUL as LF inside a line, which must not split it here.
fn push_line(bytes: &mut Vec<u8>, line: &[u8]) {
    let from = bytes.len();
    bytes.extend_from_slice(line);
    for at in memchr::memchr_iter(b'\n', line) {
        bytes[from + at] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines_of(text: &Text) -> Vec<Vec<u8>> {
        (0..text.line_count())
            .map(|at| text.line(at).to_vec())
            .collect()
    }

    #[test]
    fn a_text_without_lines_has_an_empty_one() {
        let mut text = Text::from("a\nb");
        text.splice(0..2, &[] as &[&str]);
        assert_eq!(lines_of(&text), [b""]);
        text.splice(0..1, &["x"]);
        assert_eq!(text.bytes(), b"x");
    }

    proptest! {
        #[test]
        fn bytes_are_preserved(bytes: Vec<u8>) {
            let text = Text::from_bytes(bytes.clone());
            prop_assert_eq!(text.bytes(), &bytes[..]);
        }

        #[test]
        fn splice_equals_splicing_a_list_of_lines(
            old in prop::collection::vec("[a-c]{0,3}", 1..8),
            new in prop::collection::vec("[x-z]{0,3}", 0..5),
            a in 0usize..9, b in 0usize..9,
        ) {
            let (first, last) = (a.min(b).min(old.len()), a.max(b).min(old.len()));
            let mut text = Text::from_lines(&old);
            text.splice(first..last, &new);
            let mut expected = old.clone();
            expected.splice(first..last, new);
            if expected.is_empty() {
                expected.push(String::new());
            }
            let expected: Vec<Vec<u8>> = expected.into_iter().map(String::into_bytes).collect();
            prop_assert_eq!(lines_of(&text), expected.clone());
            prop_assert_eq!(text, Text::from_lines(expected));
        }
    }
}
