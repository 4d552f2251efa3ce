//! Lines of files that a pattern matches: bounded in number, in length and in time.
//!
//! Knows the engine, not the call: which files are searched and what is said of the
//! result is the business of `grep`.

use std::fs::File;
use std::io::{self, Cursor, Read, Take};

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use chat::truncate::{MAX_BYTES, floor_char_boundary};

use super::Deadline;
use crate::files::MAX_SIZE;

/// Most bytes of a line that are shown.
const LINE: usize = 500;
/// Most memory that one line may take before its file is left out (32 MB).
const HEAP: usize = 32 * 1024 * 1024;

/// A NUL among so many first bytes means that it is not text, as for `read`.
const SNIFFED: u64 = 8 * 1024;

/// A pattern, compiled.
///
/// # Errors
///
/// What is wrong with it, as the engine says it.
pub(super) fn compile(pattern: &str, ignore_case: bool) -> Result<RegexMatcher, String> {
    RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        // A line is what is matched, so a line break in a pattern could never match; `$` is
        // before the end of a line, whichever it is.
        .crlf(true)
        .multi_line(true)
        .build(pattern)
        .map_err(|error| error.to_string())
}

/// Lines that matched so far.
pub(super) struct Matches {
    matcher: RegexMatcher,
    searcher: Searcher,
    /// When the search has to end.
    pub until: Deadline,
    most: usize,
    /// Each as `path:line:text`.
    pub lines: Vec<String>,
    bytes: usize,
    /// How many files they are of.
    pub files: usize,
    /// Files that could not be read to their end.
    pub unread: usize,
    /// Files that are no text.
    pub binary: usize,
    /// Whether there may be more than `lines`.
    pub is_full: bool,
}

impl Matches {
    /// None yet, and at most `most`.
    pub(super) fn new(matcher: RegexMatcher, most: usize, until: Deadline) -> Self {
        let searcher = SearcherBuilder::new()
            // Whether a file is binary is decided by its beginning.
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

    /// Adds the lines of a file, which is called `name`.
    pub(super) fn search(&mut self, file: File, name: &str) {
        let before = self.lines.len();
        let (matcher, mut searcher) = (self.matcher.clone(), self.searcher.clone());
        let mut reader = Stoppable(file.take(MAX_SIZE), self.until.clone());
        let mut start = Vec::new();
        if (&mut reader).take(SNIFFED).read_to_end(&mut start).is_err() {
            self.unread += 1;
            return;
        }
        // UTF-16 is full of NULs and recognized by its mark.
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

/// A line as text: without its end, not longer than can be read, and without what a
/// buffer line cannot hold.
fn as_shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\n', '\r']).replace('\0', "␀");
    if text.len() <= LINE {
        return text;
    }
    let kept = &text[..floor_char_boundary(&text, LINE)];
    format!("{kept}… ({} bytes)", text.len())
}

/// The lines of one file.
struct Of<'m, 'n>(&'m mut Matches, &'n str);

impl Sink for Of<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let number = found.line_number().unwrap_or_default();
        Ok(self.0.add(self.1, number, found.bytes()) && !self.0.until.is_over())
    }
}

/// A file of any length, until there is no more time for it.
struct Stoppable(Take<File>, Deadline);

impl Read for Stoppable {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.1.is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.0.read(buffer)
    }
}
