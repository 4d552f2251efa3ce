//! References in the user's text: template expressions `{{ … }}`, files `@./path`, and the
//! state of the editor, as in `@diff`. A text is split into pieces; joining the pieces as
//! written gives the text.
//!
//! Evaluates and reads nothing, and is never applied to results or answers. Markdown code
//! contains no references. Elsewhere, a backslash before a reference makes it text and is
//! not sent.

mod context;
mod expression;
mod file;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::document::{Document, PARAGRAPH_BREAK, Role};
use crate::markdown;

pub(crate) use context::is_context;
pub use context::{BUFFER, CONTEXTS, ContextSource, DiffScope};
pub use file::{STARTS, decoded};

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Plain text, never empty.
    Text(String),
    /// `{{ code }}`
    Expression {
        /// The trimmed text between the braces, never empty.
        code: String,
        /// The line it starts on.
        line: usize,
        /// The source text, including the braces.
        written: String,
    },
    /// `@./path`
    File {
        /// `./…`, `../…`, `~/…` or `/…`, percent-decoded.
        path: String,
        /// MIME type given by `;type=`.
        mime: Option<String>,
        /// Its line.
        line: usize,
        /// The source text.
        written: String,
    },
    /// `@diff`, `@buffer:NAME`, and similar references.
    Context {
        /// The source that it names.
        source: ContextSource,
        /// Its line.
        line: usize,
        /// The source text.
        written: String,
    },
    /// `\{{ code }}` or `\@./path`: text that would be a reference.
    Escaped {
        /// The text, without the backslash.
        text: String,
        /// The source text, including the backslash.
        written: String,
    },
}

impl Piece {
    /// Returns the source text.
    pub fn written(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Expression { written, .. }
            | Self::File { written, .. }
            | Self::Context { written, .. }
            | Self::Escaped { written, .. } => written,
        }
    }

    /// Returns the line of a reference; `None` for text.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Text(_) | Self::Escaped { .. } => None,
            Self::Expression { line, .. }
            | Self::File { line, .. }
            | Self::Context { line, .. } => Some(*line),
        }
    }

    /// Returns true for what is replaced when it is sent.
    pub fn refers(&self) -> bool {
        !matches!(self, Self::Text(_) | Self::Escaped { .. })
    }
}

/// Returns the user's text of messages with references, by message index: the unresolved
/// form of [`crate::prompt::Own`]. Lines are buffer lines, zero-based.
pub fn in_document(document: &Document<'_>) -> BTreeMap<usize, Vec<Piece>> {
    let mut found = BTreeMap::new();
    for (index, message) in document.messages.iter().enumerate() {
        if message.role == Role::Assistant || !message.may_refer {
            continue;
        }
        let mut all = Vec::new();
        for (line, text) in document.own_paragraphs(message) {
            if !all.is_empty() {
                all.push(Piece::Text(PARAGRAPH_BREAK.to_owned()));
            }
            all.extend(pieces(&text, line));
        }
        // A message without references is sent as it is.
        if all.iter().any(|piece| !matches!(piece, Piece::Text(_))) {
            found.insert(index, all);
        }
    }
    found
}

/// Returns a path as written in a reference: blanks and what would end it become `%20` and
/// the like.
pub fn encoded(path: &str) -> String {
    let last = path.chars().count().saturating_sub(1);
    let mut written = String::new();
    for (at, letter) in path.chars().enumerate() {
        // Punctuation at the end would count as part of the sentence.
        let ends = at == last && !letter.is_alphanumeric() && letter != '/';
        if letter.is_whitespace() || letter == '%' || letter == ';' || ends {
            let mut bytes = [0; 4];
            for byte in letter.encode_utf8(&mut bytes).bytes() {
                written.push_str(&format!("%{byte:02X}"));
            }
        } else {
            written.push(letter);
        }
    }
    written
}

/// Splits a text into pieces. `first_line` is the number of its first line.
pub fn pieces(text: &str, first_line: usize) -> Vec<Piece> {
    let mut reader = Reader {
        text,
        first_line,
        pieces: Vec::new(),
        plain: 0,
    };
    // Fast path: most messages contain no references and need no Markdown parsing.
    if may_refer(text) {
        reader.read(&markdown::code(text));
    }
    reader.flush(text.len());
    reader.pieces
}

/// Returns a text as sent without resolving references: removes the backslashes of escaped
/// ones.
pub fn unescaped(text: String) -> String {
    if !may_escape(&text) {
        return text;
    }
    let pieces = pieces(&text, 0).into_iter();
    pieces
        .map(|piece| match piece {
            Piece::Escaped { text, .. } => text,
            piece => piece.written().to_owned(),
        })
        .collect()
}

/// Returns `text` with a backslash before each reference and each escaped reference, so
/// that it is sent unchanged below `above` in the same message.
///
/// Returns `None` if a reference begins in `above` and ends in `text`: no backslash in
/// `text` changes that.
pub fn escaped(above: &str, text: &str) -> Option<String> {
    if !may_refer(above) && !may_refer(text) {
        return Some(text.to_owned());
    }
    let above = if above.is_empty() {
        String::new()
    } else {
        format!("{above}{PARAGRAPH_BREAK}")
    };
    let mut escaped = text.to_owned();
    // A backslash can turn Markdown code into text, which may contain more references.
    for round in 0..MOST_ROUNDS {
        // Parsed together, because a code block above may reach into the text.
        let whole = format!("{above}{escaped}");
        let mut found = Vec::new();
        let mut at = 0;
        for piece in pieces(&whole, 0) {
            let start = at;
            at += piece.written().len();
            // In the first round, escape references that `text` itself escapes once more.
            let counts = piece.refers() || (round == 0 && matches!(piece, Piece::Escaped { .. }));
            // The text above is in the document already and stays as it is.
            if !counts || at <= above.len() {
                continue;
            }
            found.push(start.checked_sub(above.len())?);
        }
        if found.is_empty() {
            return Some(escaped);
        }
        // From the last one on, so that the other offsets stay valid.
        found.iter().rev().for_each(|at| escaped.insert(*at, '\\'));
    }
    None
}

/// Maximum number of rounds; no known text needs more.
const MOST_ROUNDS: usize = 8;

/// Fast path: returns false for most texts, which then need no Markdown parsing.
fn may_refer(text: &str) -> bool {
    text.contains("{{")
        || file::STARTS.iter().any(|start| text.contains(start))
        || context::may_refer(text)
}

fn may_escape(text: &str) -> bool {
    may_refer(text) && (text.contains("\\{") || text.contains("\\@"))
}

struct Reader<'t> {
    text: &'t str,
    first_line: usize,
    pieces: Vec<Piece>,
    /// Start of the text not assigned to a piece yet.
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

    /// Parses a range outside code.
    fn prose(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while let Some(found) = self
            .text
            .get(at..range.end)
            .and_then(|it| it.find(['{', '@']))
        {
            at += found;
            let rest = &self.text[at..range.end];
            // Backslashes that belong to an earlier piece don't count.
            let unescaped = self.text[range.start.max(self.plain)..at].trim_end_matches('\\');
            let backslashes = at - range.start.max(self.plain) - unescaped.len();
            let before = self.text[..at - backslashes].chars().next_back();
            let read = expression::at_start(rest)
                .map(|(code, length)| (self.expression(at, code, length), length))
                .or_else(|| self.file(at, file::at_start(rest, before)?))
                .or_else(|| self.context(at, context::at_start(rest, before)?));
            let Some((piece, length)) = read else {
                at += 1;
                continue;
            };
            // Only the last backslash escapes; the others before it are text.
            let start = at - backslashes.min(1);
            self.flush(start);
            self.pieces.push(match backslashes {
                0 => piece,
                _ => self.escaped(start, length + 1),
            });
            at += length;
            self.plain = at;
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

    fn context(
        &self,
        at: usize,
        (source, length): (ContextSource, usize),
    ) -> Option<(Piece, usize)> {
        let piece = Piece::Context {
            source,
            line: self.line(at),
            written: self.text.get(at..at + length)?.to_owned(),
        };
        Some((piece, length))
    }

    /// Returns a reference after a backslash, which `length` includes.
    fn escaped(&self, at: usize, length: usize) -> Piece {
        let written = &self.text[at..at + length];
        Piece::Escaped {
            text: written[1..].to_owned(),
            written: written.to_owned(),
        }
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
mod tests;
