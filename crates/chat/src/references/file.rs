//! Parses a file reference.
//!
//! It starts at an `@` not preceded by a letter, a digit, or part of an address (so
//! `me@./x` is none) and ends at white space. Trailing punctuation belongs to the sentence:
//! `see @./x.` names `x`. So does a closing bracket, unless the path contains the opening
//! one. Blanks and the like are written as `%20`.

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
pub struct Found {
    pub path: String,
    pub mime: Option<String>,
    /// Length in bytes.
    pub length: usize,
}

/// Returns the reference at the start of a text; `before` is the preceding character.
pub fn at_start(text: &str, before: Option<char>) -> Option<Found> {
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
pub(super) fn continues_a_word(c: char) -> bool {
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

pub(super) fn without_punctuation(mut path: &str) -> &str {
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
