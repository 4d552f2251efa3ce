//! Collects matching lines, bounded in number, length, and time.

use std::fs::File;
use std::io::{self, Cursor, Read, Take};

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use chat::truncate::{MAX_BYTES, floor_char_boundary};

use super::Deadline;
use crate::files::MAX_SIZE;

/// Maximum number of bytes shown of a line.
const LINE: usize = 500;
/// Maximum memory for one line; a file with a longer line is skipped (32 MB).
const HEAP: usize = 32 * 1024 * 1024;

/// A NUL in this many first bytes marks a file as binary, as for `read`.
const SNIFFED: u64 = 8 * 1024;

/// Compiles a pattern.
///
/// # Errors
///
/// The error message of the regex engine.
pub(super) fn compile(pattern: &str, ignore_case: bool) -> Result<RegexMatcher, String> {
    RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        // Each line is matched alone, so `$` must match before `\r\n` as well.
        .crlf(true)
        .multi_line(true)
        .build(pattern)
        .map_err(|error| error.to_string())
}

/// The matching lines found so far.
pub(super) struct Matches {
    matcher: RegexMatcher,
    searcher: Searcher,
    /// When the search must stop.
    pub until: Deadline,
    most: usize,
    /// The lines as `path:line:text`.
    pub lines: Vec<String>,
    bytes: usize,
    /// The number of files with matches.
    pub files: usize,
    /// The number of files that could not be read to the end.
    pub unread: usize,
    /// The number of binary files.
    pub binary: usize,
    /// Whether there may be more matches than `lines`.
    pub is_full: bool,
}

impl Matches {
    /// An empty list for at most `most` lines.
    pub(super) fn new(matcher: RegexMatcher, most: usize, until: Deadline) -> Self {
        let searcher = SearcherBuilder::new()
            // `search` detects binary files itself, by their first bytes.
            .binary_detection(BinaryDetection::none())
            .line_terminator(LineTerminator::crlf())
            .heap_limit(Some(HEAP))
            .line_number(true)
            .build();
        Self {
            matcher,
            searcher,
            until,
            most,
            lines: Vec::new(),
            bytes: 0,
            files: 0,
            unread: 0,
            binary: 0,
            is_full: false,
        }
    }

    /// Adds the matching lines of a file, shown under `name`.
    pub(super) fn search(&mut self, file: File, name: &str) {
        let before = self.lines.len();
        // Cloned, because the sink borrows `self` during the search.
        let (matcher, mut searcher) = (self.matcher.clone(), self.searcher.clone());
        let mut reader = Stoppable(file.take(MAX_SIZE), self.until.clone());
        let mut start = Vec::new();
        if (&mut reader).take(SNIFFED).read_to_end(&mut start).is_err() {
            self.unread += 1;
            return;
        }
        // UTF-16 text contains NULs, too; its byte order mark identifies it.
        if start.contains(&0) && !matches!(start[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            self.binary += 1;
            return;
        }
        let reader = Cursor::new(start).chain(reader);
        let ended = searcher.search_reader(&matcher, reader, Of(self, name));
        if ended.is_err() && !self.until.is_over() {
            self.unread += 1;
        }
        self.files += usize::from(self.lines.len() > before);
    }

    fn add(&mut self, name: &str, number: u64, line: &[u8]) -> bool {
        let line = format!("{name}:{number}:{}", as_shown(line));
        if self.lines.len() == self.most || self.bytes + line.len() > MAX_BYTES {
            self.is_full = true;
            return false;
        }
        self.bytes += line.len() + 1;
        self.lines.push(line);
        true
    }
}

/// A line as text: without its ending, shortened, and without NULs, which a buffer line can't
/// contain.
fn as_shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\n', '\r']).replace('\0', "␀");
    if text.len() <= LINE {
        return text;
    }
    let kept = &text[..floor_char_boundary(&text, LINE)];
    format!("{kept}… ({} bytes)", text.len())
}

/// Receives the matches of one file.
struct Of<'m, 'n>(&'m mut Matches, &'n str);

impl Sink for Of<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let number = found.line_number().unwrap_or_default();
        Ok(self.0.add(self.1, number, found.bytes()) && !self.0.until.is_over())
    }
}

/// Reads a file until the deadline.
struct Stoppable(Take<File>, Deadline);

impl Read for Stoppable {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.1.is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.0.read(buffer)
    }
}
