//! Selects lines from a stream of any length in bounded memory.

use std::io::{self, Read};

use crate::schema::count;
use chat::truncate::{Limit, MAX_BYTES, MAX_LINES};
use tokio_util::sync::CancellationToken;

/// Bytes read at once.
const CHUNK: usize = 256 * 1024;
/// A NUL in this many first bytes marks a file as binary.
const SNIFFED: usize = 8 * 1024;
/// Once the window is full, lines are still counted for this many bytes (64 MB).
const COUNTED: u64 = 64 * 1024 * 1024;

/// The lines that a call requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineRange {
    /// The first line, counted from 1.
    pub offset: usize,
    /// The number of lines, or `None` for as many as fit.
    pub limit: Option<usize>,
}

impl LineRange {
    /// Rounds down; both values are at least 1.
    pub(super) fn new(offset: Option<f64>, limit: Option<f64>) -> Self {
        Self {
            offset: count(offset, 1, usize::MAX),
            limit: limit.map(|it| count(Some(it), 1, usize::MAX)),
        }
    }
}

/// The selected lines, and what is known about the rest.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    /// The lines with their own line endings, without the last ending.
    pub bytes: Vec<u8>,
    /// The number of lines in `bytes`.
    pub lines: usize,
    /// The limit that ended the window, if it was not the call's own.
    pub limited_by: Option<Limit>,
    /// The number of lines seen in the whole stream.
    pub total_lines: usize,
    /// True if the stream may have more lines than `total_lines`.
    pub is_total_open: bool,
    /// The length of the first requested line, if that line alone exceeds the limit.
    pub oversized_line: Option<u64>,
    /// True if the stream is binary. The other fields are empty then.
    pub is_binary: bool,
}

impl Window {
    fn binary() -> Self {
        Self {
            is_binary: true,
            ..Self::default()
        }
    }
}

/// Reads the requested lines from `source`. Stops early after a cancel.
///
/// # Errors
///
/// Any error of `source`.
pub(super) fn read(
    mut source: impl Read,
    asked: LineRange,
    cancel: &CancellationToken,
) -> io::Result<Window> {
    let mut scan = Scan::new(asked);
    let mut chunk = vec![0; CHUNK];
    let mut is_first = true;
    // Whether lines end in carriage returns alone, judged by the first chunk.
    let mut returns = false;
    loop {
        let length = read_some(&mut source, &mut chunk)?;
        if length == 0 {
            break;
        }
        let piece = &mut chunk[..length];
        if is_first {
            if piece.iter().take(SNIFFED).any(|byte| *byte == 0) {
                return Ok(Window::binary());
            }
            returns = piece.contains(&b'\r') && !piece.contains(&b'\n');
            is_first = false;
        }
        if returns {
            // The rest of the code only knows `\n`.
            end_lines_with_newlines(piece);
        }
        scan.take(piece);
        // Counting the lines of gigabytes would delay the result.
        if scan.is_counted_enough() || cancel.is_cancelled() {
            scan.window.is_total_open = true;
            break;
        }
    }
    Ok(scan.finish())
}

/// Reads into `chunk`, and returns 0 at the end of `source`.
fn read_some(source: &mut impl Read, chunk: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(chunk) {
            // A signal interrupted the system call before it read anything.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Replaces each carriage return with a newline.
fn end_lines_with_newlines(piece: &mut [u8]) {
    for byte in piece.iter_mut().filter(|it| **it == b'\r') {
        *byte = b'\n';
    }
}

/// The state while reading.
struct Scan {
    asked: LineRange,
    window: Window,
    /// The current line, as far as it may be kept.
    line: Vec<u8>,
    line_bytes: u64,
    is_full: bool,
    after_full: u64,
}

impl Scan {
    fn new(asked: LineRange) -> Self {
        Self {
            asked,
            window: Window::default(),
            line: Vec::new(),
            line_bytes: 0,
            is_full: false,
            after_full: 0,
        }
    }

    fn take(&mut self, mut chunk: &[u8]) {
        if self.is_full {
            self.after_full += chunk.len() as u64;
        }
        while let Some(end) = chunk.iter().position(|&byte| byte == b'\n') {
            self.grow_line(&chunk[..end]);
            self.end_line();
            chunk = &chunk[end + 1..];
        }
        self.grow_line(chunk);
    }

    fn grow_line(&mut self, bytes: &[u8]) {
        self.line_bytes += bytes.len() as u64;
        let is_wanted = !self.is_full && self.window.total_lines + 1 >= self.asked.offset;
        // The first bytes beyond the limit are enough to show that the line is too long.
        if is_wanted && self.line.len() <= MAX_BYTES {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) {
        self.window.total_lines += 1;
        if !self.is_full && self.window.total_lines >= self.asked.offset {
            self.keep_line();
        }
        self.line.clear();
        self.line_bytes = 0;
    }

    /// Adds the line to the window, or marks the window as full.
    fn keep_line(&mut self) {
        let window = &mut self.window;
        let separator = usize::from(window.lines > 0);
        if self.asked.limit.is_some_and(|limit| window.lines >= limit) {
            self.is_full = true;
        } else if window.lines >= MAX_LINES {
            self.is_full = true;
            window.limited_by = Some(Limit::Lines);
        } else if window.bytes.len() + separator + self.line.len() > MAX_BYTES {
            self.is_full = true;
            window.limited_by = Some(Limit::Bytes);
            window.oversized_line = (window.lines == 0).then_some(self.line_bytes);
        } else {
            if separator > 0 {
                window.bytes.push(b'\n');
            }
            window.bytes.append(&mut self.line);
            window.lines += 1;
        }
    }

    fn is_counted_enough(&self) -> bool {
        self.after_full > COUNTED
    }

    fn finish(mut self) -> Window {
        // The last line may lack a newline, unless counting stopped in the middle of it.
        if self.line_bytes > 0 && !self.window.is_total_open {
            self.end_line();
        }
        self.window
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn window(text: &str, offset: usize, limit: Option<usize>) -> Window {
        read(
            text.as_bytes(),
            LineRange { offset, limit },
            &CancellationToken::new(),
        )
        .unwrap()
    }

    #[test]
    fn fractions_and_negative_numbers_become_lines() {
        let asked = LineRange::new(Some(2.9), Some(-5.0));

        assert_eq!(
            asked,
            LineRange {
                offset: 2,
                limit: Some(1)
            }
        );
        assert_eq!(LineRange::new(Some(f64::NAN), None).offset, 1);
    }

    #[test]
    fn a_limit_of_ours_is_told_and_the_users_is_not() {
        let text = "x\n".repeat(3000);

        assert_eq!(window(&text, 1, None).limited_by, Some(Limit::Lines));
        assert_eq!(window(&text, 1, Some(5)).limited_by, None);
        assert_eq!(window(&text, 1, Some(5)).lines, 5);
    }

    #[test]
    fn an_oversized_line_is_measured_but_not_kept() {
        let text = format!("{}\nb\n", "a".repeat(500_000));

        let found = window(&text, 1, None);

        assert_eq!((found.oversized_line, found.lines), (Some(500_000), 0));
        assert_eq!(found.total_lines, 2);
    }

    #[test]
    fn an_endless_file_is_not_read_to_its_end() {
        let endless = io::repeat(b'\n');

        let found = read(
            endless,
            LineRange {
                offset: 1,
                limit: Some(1),
            },
            &CancellationToken::new(),
        );

        assert!(found.unwrap().is_total_open);
    }

    #[test]
    fn a_cancel_ends_a_search_for_a_line_far_away() {
        let cancel = CancellationToken::new();
        cancel.cancel();

        let found = read(
            io::repeat(b'a'),
            LineRange {
                offset: 2,
                limit: None,
            },
            &cancel,
        )
        .unwrap();

        assert!(found.is_total_open);
    }

    proptest! {
        #[test]
        fn the_window_is_exactly_the_wanted_lines(
            text in "([a-z]{0,4}|\r?\n){0,30}", offset in 1usize..9, limit in 1usize..9,
        ) {
            let stripped = text.strip_suffix('\n').unwrap_or(&text);
            let all: Vec<&str> = if text.is_empty() { vec![] } else { stripped.split('\n').collect() };
            let expected: Vec<&str> = all.iter().copied().skip(offset - 1).take(limit).collect();

            let found = window(&text, offset, Some(limit));

            prop_assert_eq!(found.bytes, expected.join("\n").into_bytes());
            prop_assert_eq!((found.lines, found.total_lines), (expected.len(), all.len()));
        }
    }
}
