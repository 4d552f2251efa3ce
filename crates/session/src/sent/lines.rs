//! Places in a chat, and the lines that were sent.
//!
//! Blank lines and the frontmatter do not count: neither is sent. Of the messages that a summary
//! replaces, only the instructions are sent; `first` is the message of the summary, or 0.
//!
//! Each message continues from the digest of everything above it. The ledger keeps that digest for a
//! summary, so that later changes above it move no place below it.

use std::iter::{Enumerate, Peekable};
use std::{slice, vec};

use chat::document::{Document, Message, Role};
use tools::objects::{Hash, Hasher};

/// Computes the hashes of places from the beginning of a chat to its end.
pub struct Places<'d> {
    document: &'d Document<'d>,
    /// The message that is being hashed, after the digest of everything above it.
    hasher: Hasher,
    /// The messages from the next one on. Summaries do not count, so one changes no place below it.
    messages: Peekable<Enumerate<slice::Iter<'d, Message>>>,
    /// Summaries, and the digests of what was above them when they were placed.
    starts: Peekable<vec::IntoIter<(usize, Hash)>>,
    /// True in a summary.
    skips: bool,
    /// The next line to be hashed.
    line: usize,
    /// References so far on the line that `place` returned last.
    count: u64,
}

impl<'d> Places<'d> {
    /// Starts at the first message. `starts` are summaries, by their messages, and the digests of what
    /// was above them when they were placed.
    pub fn new(document: &'d Document<'d>, starts: Vec<(usize, Hash)>) -> Self {
        Self {
            document,
            hasher: Hasher::default(),
            messages: document.messages.iter().enumerate().peekable(),
            starts: starts.into_iter().peekable(),
            skips: false,
            line: first_line(document),
            count: 0,
        }
    }

    /// Returns the place of a reference on a line. Lines must not decrease.
    pub fn reference(&mut self, line: usize, written: &str) -> Hash {
        if line > self.line {
            self.count = 0;
        }
        self.advance(line);
        self.count += 1;
        let mut hasher = self.hasher.clone();
        hasher.update(&self.count.to_le_bytes());
        hasher.update(written.as_bytes());
        hasher.finish()
    }

    /// Returns the place above a line. Lines must not decrease.
    pub fn above(&mut self, line: usize) -> Hash {
        self.advance(line);
        self.hasher.finish()
    }

    fn advance(&mut self, line: usize) {
        let text = self.document.text();
        while self.line < line {
            let begins = |(_, it): &(usize, &Message)| it.lines.start <= self.line;
            if let Some((index, message)) = self.messages.next_if(begins) {
                self.begin(index, message);
            }
            let bytes = text.line(self.line);
            if !is_blank(bytes) && !self.skips {
                self.hasher.update(bytes);
                self.hasher.update(b"\n");
            }
            self.line += 1;
        }
    }

    /// Begins a message.
    fn begin(&mut self, index: usize, message: &Message) {
        self.skips = message.is_summary;
        if self.skips {
            return;
        }
        let mut above = self.hasher.finish();
        while let Some((_, start)) = self.starts.next_if(|(summary, _)| *summary < index) {
            above = start;
        }
        self.hasher = Hasher::default();
        self.hasher.update(String::from(above).as_bytes());
    }
}

/// Computes the hash of an answer's text. Blanks at the ends of lines and of the message do not count,
/// because editors remove them.
#[derive(Default)]
pub struct AnswerHasher {
    hasher: Hasher,
    /// The last line, which is incomplete.
    line: Vec<u8>,
    /// Blank lines since the last other one.
    blank: usize,
    begun: bool,
}

impl AnswerHasher {
    /// Adds a piece of the text.
    pub fn update(&mut self, text: &[u8]) {
        let mut lines = text.split(|byte| *byte == b'\n');
        self.line.extend(lines.next().unwrap_or_default());
        for line in lines {
            self.end_line();
            self.line.extend(line);
        }
    }

    fn end_line(&mut self) {
        let line = self.line.trim_ascii_end();
        if line.is_empty() {
            self.blank += usize::from(self.begun);
        } else {
            for _ in 0..std::mem::take(&mut self.blank) {
                self.hasher.update(b"\n");
            }
            self.begun = true;
            self.hasher.update(line);
            self.hasher.update(b"\n");
        }
        self.line.clear();
    }

    /// Returns the hash of the whole text.
    pub fn finish(mut self) -> Hash {
        self.end_line();
        self.hasher.finish()
    }
}

/// Returns the hash of the text of an answer in a chat, see [`AnswerHasher`].
pub fn answer_hash(document: &Document<'_>, message: &Message) -> Hash {
    let mut hasher = AnswerHasher::default();
    for line in message.lines.clone() {
        hasher.update(document.text().line(line));
        hasher.end_line();
    }
    hasher.finish()
}

/// The lines of a request's chat, by their checksums.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SentText {
    /// CRC-32 of each line.
    lines: Vec<u32>,
    /// Bytes of all lines.
    bytes: u64,
}

/// The first line that differs from what was sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edited {
    /// The line, from zero.
    pub line: usize,
    /// The part of what was sent that is at or below it, from 0 to 1.
    pub share: f64,
}

impl SentText {
    /// Returns the lines of a chat that are sent.
    pub fn of(document: &Document<'_>, first: usize) -> Self {
        let mut sent = Self::default();
        for (_, line) in lines(document, first) {
            sent.lines.push(crc32fast::hash(line));
            sent.bytes += line.len() as u64;
        }
        sent
    }

    /// Returns the lines of a chat above `end`, of those that were sent.
    #[must_use]
    pub(super) fn above(&self, document: &Document<'_>, first: usize, end: usize) -> Self {
        let mut above = Self::default();
        let known = lines(document, first).take_while(|(at, _)| *at < end);
        for ((_, line), sent) in known.zip(&self.lines) {
            above.lines.push(*sent);
            above.bytes += line.len() as u64;
        }
        above
    }

    /// Returns the bytes of a file: the size, and the checksums, with the lowest byte first.
    pub(super) fn encoded(&self) -> Vec<u8> {
        let lines = self.lines.iter().flat_map(|it| it.to_le_bytes());
        self.bytes.to_le_bytes().into_iter().chain(lines).collect()
    }

    /// Reads [`SentText::encoded`]; `None` if the file was cut.
    pub(super) fn decoded(file: &[u8]) -> Option<Self> {
        let (bytes, lines) = file.split_first_chunk()?;
        let (lines, rest) = lines.as_chunks();
        rest.is_empty().then(|| Self {
            lines: lines.iter().map(|it| u32::from_le_bytes(*it)).collect(),
            bytes: u64::from_le_bytes(*bytes),
        })
    }

    /// Returns the line below the last one that was sent, if nothing above it changed.
    pub fn end(&self, document: &Document<'_>, first: usize) -> usize {
        let Some(last) = self.lines.len().checked_sub(1) else {
            return first_line(document);
        };
        let last = lines(document, first).nth(last);
        last.map_or(document.text().line_count(), |(line, _)| line + 1)
    }

    /// Returns the part of what was sent that is at or below a line, from 0 to 1.
    pub fn share_from(&self, document: &Document<'_>, first: usize, line: usize) -> f64 {
        let above = lines(document, first).take_while(|(at, _)| *at < line);
        let above: u64 = above.map(|(_, line)| line.len() as u64).sum();
        self.share(above)
    }

    /// Returns the part of what was sent that is not in the first bytes.
    fn share(&self, above: u64) -> f64 {
        self.bytes.saturating_sub(above) as f64 / self.bytes.max(1) as f64
    }

    /// Returns the first line of a chat that differs from what was sent, unless only lines at
    /// the end were added or removed.
    pub fn edited(&self, document: &Document<'_>, first: usize) -> Option<Edited> {
        let (mut sent, mut above) = (self.lines.iter(), 0);
        let found = lines(document, first).find(|(_, line)| {
            let is_same = sent.next().is_none_or(|it| *it == crc32fast::hash(line));
            above += if is_same { line.len() as u64 } else { 0 };
            !is_same
        });
        let (line, _) = found?;
        let share = self.share(above);
        Some(Edited { line, share })
    }
}

/// Returns the lines that count, with their numbers.
fn lines<'d>(document: &'d Document<'_>, first: usize) -> impl Iterator<Item = (usize, &'d [u8])> {
    let text = document.text();
    let messages = document.messages.iter().enumerate();
    let messages = messages.filter(move |(at, it)| *at >= first || it.role == Role::System);
    let all = messages.flat_map(|(_, it)| it.lines.clone());
    let all = all.map(move |line| (line, text.line(line)));
    all.filter(|(_, line)| !is_blank(line))
}

fn first_line(document: &Document<'_>) -> usize {
    let first = document.messages.first();
    first.map_or(document.text().line_count(), |it| it.lines.start)
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}
