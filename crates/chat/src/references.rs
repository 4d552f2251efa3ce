//! What a user's own text refers to: template expressions `{{ … }}` and files
//! `@./path`. The text becomes a list of pieces; putting them together again as
//! they were written gives the text.
//!
//! Neither evaluates nor reads anything, and is never used on results or answers.
//! In code, by Markdown's rules, nothing is a reference.

mod expression;
mod file;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::document::{Document, Role};
use crate::markdown;
use crate::prompt::{BETWEEN, own_paragraphs};

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text that stays as it is, never empty.
    Text(String),
    /// `{{ code }}`
    Expression {
        /// What stands between the braces, without blanks around it; never empty.
        code: String,
        /// The line it starts on.
        line: usize,
        /// How it is written, braces included.
        written: String,
    },
    /// `@./path`
    File {
        /// `./…`, `../…`, `~/…` or `/…`, percent-decoded.
        path: String,
        /// What `;type=` says it is.
        mime: Option<String>,
        /// The line it stands on.
        line: usize,
        /// How it is written.
        written: String,
    },
}

/// The own text of the messages that refer to something, by their place in the
/// document: the keys and values that [`crate::prompt::Own`] wants, unresolved.
/// Lines are those of the buffer, counted from 0.
pub fn in_document(document: &Document<'_>) -> BTreeMap<usize, Vec<Piece>> {
    let mut found = BTreeMap::new();
    for (index, message) in document.messages.iter().enumerate() {
        if message.role == Role::Assistant || !message.may_refer {
            continue;
        }
        let mut all = Vec::new();
        for (line, text) in own_paragraphs(document, message) {
            if !all.is_empty() {
                all.push(Piece::Text(BETWEEN.to_owned()));
            }
            all.extend(pieces(&text, line));
        }
        if all.iter().any(|piece| !matches!(piece, Piece::Text(_))) {
            found.insert(index, all);
        }
    }
    found
}

/// Takes a text apart. `first_line` is the line that the text starts on, in
/// whatever counting the pieces shall have.
pub fn pieces(text: &str, first_line: usize) -> Vec<Piece> {
    let mut reader = Reader {
        text,
        first_line,
        pieces: Vec::new(),
        plain: 0,
    };
    // Most messages refer to nothing; they are not read as Markdown at all.
    if text.contains("{{") || file::STARTS.iter().any(|start| text.contains(start)) {
        reader.read(&markdown::code(text));
    }
    reader.flush(text.len());
    reader.pieces
}

struct Reader<'t> {
    text: &'t str,
    first_line: usize,
    pieces: Vec<Piece>,
    /// Where the text starts that belongs to no piece yet.
    plain: usize,
}

impl Reader<'_> {
    fn read(&mut self, code: &[Range<usize>]) {
        let mut start = 0;
        for range in code {
            self.prose(start..range.start);
            start = start.max(range.end);
        }
        self.prose(start..self.text.len());
    }

    /// Reads a stretch between code.
    fn prose(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while let Some(found) = self
            .text
            .get(at..range.end)
            .and_then(|it| it.find(['{', '@']))
        {
            at += found;
            let rest = &self.text[at..range.end];
            let before = self.text[..at].chars().next_back();
            let read = expression::at_start(rest)
                .map(|(code, length)| (self.expression(at, code, length), length))
                .or_else(|| self.file(at, file::at_start(rest, before)?));
            match read {
                Some((piece, length)) => {
                    self.flush(at);
                    self.pieces.push(piece);
                    at += length;
                    self.plain = at;
                }
                None => at += 1,
            }
        }
    }

    fn expression(&self, at: usize, code: &str, length: usize) -> Piece {
        Piece::Expression {
            code: code.to_owned(),
            line: self.line(at),
            written: self.text[at..at + length].to_owned(),
        }
    }

    fn file(&self, at: usize, found: file::Found) -> Option<(Piece, usize)> {
        let written = self.text.get(at..at + found.length)?.to_owned();
        let piece = Piece::File {
            path: found.path,
            mime: found.mime,
            line: self.line(at),
            written,
        };
        Some((piece, found.length))
    }

    fn line(&self, at: usize) -> usize {
        self.first_line + self.text[..at].matches('\n').count()
    }

    fn flush(&mut self, end: usize) {
        if self.plain < end {
            let text = self.text[self.plain..end].to_owned();
            self.pieces.push(Piece::Text(text));
        }
    }
}

#[cfg(test)]
#[path = "references/tests.rs"]
mod tests;
