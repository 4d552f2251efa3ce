//! References in the user's text: template expressions `{{ … }}`, files `@./path`, the state
//! of the editor, as in `@diff`, and resources of MCP servers, `@server:uri`. A text is split
//! into pieces; joining the pieces as written gives the text.
//!
//! Evaluates and reads nothing, and is never applied to results or answers. Markdown code
//! contains no references. Elsewhere, a backslash before a reference makes it text and is
//! not sent.
//!
//! In a `{{ … }}`, braces in strings, comments, and tables of Lua do not count.
//!
//! A file reference starts at an `@` not preceded by a letter, a digit, or part of an address
//! (so `me@./x` is none) and ends at white space. Trailing punctuation belongs to the sentence:
//! `see @./x.` names `x`. So does a closing bracket, unless the path contains the opening one.
//! Blanks and the like are written as `%20`.

mod context;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::document::{Document, PARAGRAPH_BREAK, Role};
use crate::markdown;

pub use context::{BUFFER, CONTEXTS, ContextSource, DiffScope, encoded_uri, server_at_start};
pub(crate) use context::{begins_resource, is_context};

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
    /// `@diff`, `@buffer:NAME`, `@server:uri`, and similar references.
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
    let is_special = |it: char| it.is_whitespace() || it == '%' || it == ';';
    // Punctuation at the end would count as part of the sentence.
    with_escapes(path, is_special, |it| !it.is_alphanumeric() && it != '/')
}

/// Percent-encodes special characters, and the last one if it `ends` the reference.
fn with_escapes(
    text: &str,
    is_special: impl Fn(char) -> bool,
    ends: impl Fn(char) -> bool,
) -> String {
    let last = text.chars().count().saturating_sub(1);
    let mut written = String::new();
    for (at, letter) in text.chars().enumerate() {
        if is_special(letter) || at == last && ends(letter) {
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
        || STARTS.iter().any(|start| text.contains(start))
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
            let read = expression_at_start(rest)
                .map(|(code, length)| (self.expression(at, code, length), length))
                .or_else(|| self.file(at, file_at_start(rest, before)?))
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

    fn file(&self, at: usize, found: Found) -> Option<(Piece, usize)> {
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

/// Returns the code and total length of the expression at the start of a text. `None` if
/// there is none, or if it is empty or unclosed.
fn expression_at_start(text: &str) -> Option<(&str, usize)> {
    let inner = text.strip_prefix("{{")?;
    let end = end(inner)?;
    let code = inner[..end].trim();
    // Two braces on each side.
    (!code.is_empty()).then_some((code, end + 4))
}

/// Returns the offset of the closing braces.
fn end(code: &str) -> Option<usize> {
    let bytes = code.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match rest {
            [b'"' | b'\'', ..] => string(rest)?,
            [b'-', b'-', ..] => 2 + comment(&rest[2..]),
            // A bracket alone is the index of a table.
            [b'[', ..] => long_bracket(rest).unwrap_or(1),
            [b'{', ..] => {
                depth += 1;
                1
            }
            // Inside a table, the braces close two tables.
            [b'}', b'}', ..] if depth == 0 => return Some(at),
            [b'}', ..] => {
                // A closing brace without an opening one is not Lua.
                depth = depth.checked_sub(1)?;
                1
            }
            _ => 1,
        };
    }
    None
}

/// Returns the length of a quoted string; `None` if it is unclosed.
fn string(text: &[u8]) -> Option<usize> {
    let quote = *text.first()?;
    let mut at = 1;
    loop {
        match *text.get(at)? {
            b'\\' => at += 2,
            // In Lua, such a string cannot contain a line break that is not escaped.
            b'\n' => return None,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Returns the length of a comment after its dashes.
fn comment(text: &[u8]) -> usize {
    let line = || text.iter().position(|&byte| byte == b'\n');
    long_bracket(text).unwrap_or_else(|| line().unwrap_or(text.len()))
}

/// Returns the length of `[[ … ]]` or `[=[ … ]=]`; `None` if there is none or it is
/// unclosed.
fn long_bracket(text: &[u8]) -> Option<usize> {
    let level = text.get(1..)?.iter().take_while(|&&b| b == b'=').count();
    if text.first() != Some(&b'[') || text.get(level + 1) != Some(&b'[') {
        return None;
    }
    let close = [b"]".as_slice(), &b"=".repeat(level), b"]"].concat();
    let start = level + 2;
    let inner = text[start..].windows(close.len());
    let end = inner.enumerate().find(|(_, it)| *it == close)?.0;
    Some(start + end + close.len())
}

/// Prefixes of a reference.
pub const STARTS: [&str; 4] = ["@./", "@../", "@~/", "@//"];

/// Punctuation that may follow a path in a sentence.
const PUNCTUATION: &[char] = &[
    '.', ',', ';', ':', '!', '?', '\'', '"', '*', '>', '|', '…', '’', '”', '»', '。', '，', '、',
    '！', '？',
];

const BRACKETS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];

/// Separator between a path and its type.
const TYPE: &str = ";type=";

/// A parsed reference.
struct Found {
    pub path: String,
    pub mime: Option<String>,
    /// Length in bytes.
    pub length: usize,
}

/// Returns the reference at the start of a text; `before` is the preceding character.
fn file_at_start(text: &str, before: Option<char>) -> Option<Found> {
    let start = STARTS.iter().find(|start| text.starts_with(**start))?;
    if before.is_some_and(continues_a_word) {
        return None;
    }
    let word = text.split(char::is_whitespace).next()?;
    let (written, mime, length) = match typed(word) {
        Some((path, mime, length)) => (path, Some(mime.to_owned()), length),
        None => {
            let path = without_punctuation(word);
            (path, None, path.len())
        }
    };
    // `@../` alone is a folder.
    let name = written.get(start.len()..)?;
    if name.is_empty() || name.ends_with('/') {
        return None;
    }
    let path = decoded(&written[1..]);
    Some(Found {
        // `@//` begins an absolute path.
        path: path
            .strip_prefix("//")
            .map_or(path.clone(), |it| format!("/{it}")),
        mime,
        length,
    })
}

/// Returns true if `c` continues a word. Letters of scripts without case don't count: such
/// scripts have no blanks between words and are not used in addresses.
fn continues_a_word(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || c.is_numeric() || "._%+-/@\\".contains(c)
}

/// Returns path, type, and total length of `path;type=a/b`.
fn typed(word: &str) -> Option<(&str, &str, usize)> {
    let (path, rest) = word.rsplit_once(TYPE)?;
    let is_mime = |c: char| c.is_ascii_alphanumeric() || "!#$&^_.+-/".contains(c);
    let mime = rest.split(|c| !is_mime(c)).next()?;
    let mime = mime.trim_end_matches(['.', '!']);
    let (kind, subtype) = mime.split_once('/')?;
    let is_valid = !kind.is_empty() && !subtype.is_empty() && !subtype.contains('/');
    let length = path.len() + TYPE.len() + mime.len();
    // Only punctuation may follow the type; otherwise it is part of the name.
    let rest = &word[length..];
    (is_valid && without_punctuation(rest).is_empty()).then_some((path, mime, length))
}

fn without_punctuation(mut path: &str) -> &str {
    while let Some(last) = path.chars().next_back() {
        let unopened = BRACKETS.iter().any(|&(open, close)| {
            close == last && path.matches(close).count() > path.matches(open).count()
        });
        if !unopened && !PUNCTUATION.contains(&last) {
            break;
        }
        path = &path[..path.len() - last.len_utf8()];
    }
    path
}

/// Decodes escapes such as `%20`. Invalid escapes, NUL, and invalid UTF-8 stay as written.
pub fn decoded(path: &str) -> String {
    let bytes = path.as_bytes();
    let digit = |at: usize| {
        bytes
            .get(at)
            .and_then(|&byte| char::from(byte).to_digit(16))
    };
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => u8::try_from(high * 16 + low).ok(),
            _ => None,
        };
        match escaped.filter(|&byte| byte != 0) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(plain).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests;
