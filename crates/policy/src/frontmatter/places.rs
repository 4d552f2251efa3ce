//! Where something stands in a frontmatter: a word in any language, a key in JSON.
//!
//! Reads JSON that parsed already, only for the places of its keys.

use std::collections::BTreeMap;

/// Separates the keys of a path; it cannot stand in a key unescaped.
const SEPARATOR: char = '\u{1}';

/// Line of the file and byte of the line, both counted from 1, where `word` stands
/// in quotes or as a field: the only such place, or the first from `line` on.
pub fn of_word(text: &str, word: &str, line: usize, first_line: usize) -> Option<(usize, usize)> {
    let spellings = [
        format!("\"{word}\""),
        format!("'{word}'"),
        format!(".{word}"),
    ];
    let found: Vec<(usize, usize)> = text
        .lines()
        .enumerate()
        .filter_map(|(at, content)| {
            let column = spellings.iter().find_map(|it| content.find(it))?;
            // The quote or dot is not part of the word.
            Some((first_line + at, column + 2))
        })
        .collect();
    match found[..] {
        [only] => Some(only),
        _ => found.into_iter().find(|(at, _)| *at >= line),
    }
}

/// Line of the file in which the byte `at` of `text` stands.
pub fn line_of(text: &str, at: usize, first_line: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    first_line + before.filter(|byte| **byte == b'\n').count()
}

/// Where each key of a JSON text stands.
#[derive(Debug, Default)]
pub struct Keys {
    at: BTreeMap<String, usize>,
    /// The first key that stands twice in its object, and where the second is.
    pub twice: Option<(String, usize)>,
}

impl Keys {
    /// Reads `text`, which is valid JSON.
    pub fn read(text: &str) -> Self {
        let mut reader = Reader {
            text,
            at: 0,
            keys: Self::default(),
        };
        reader.value("");
        reader.keys
    }

    /// Byte at which the key stands that `path` leads to.
    pub fn find(&self, path: &[&str]) -> Option<usize> {
        let path: String = path.iter().flat_map(|key| ["\u{1}", *key]).collect();
        self.at.get(&path).copied()
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    keys: Keys,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text.get(self.at..)?;
        self.at += rest.len() - rest.trim_start().len();
        self.text.as_bytes().get(self.at).copied()
    }

    fn value(&mut self, path: &str) {
        match self.peek() {
            Some(b'{') => self.members(path, true),
            Some(b'[') => self.members(path, false),
            Some(b'"') => {
                self.string();
            }
            _ => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let end = rest.find([',', ']', '}']).unwrap_or(rest.len());
                self.at += end;
            }
        }
    }

    fn members(&mut self, path: &str, keyed: bool) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            match byte {
                b'}' | b']' => {
                    self.at += 1;
                    return;
                }
                b',' => self.at += 1,
                _ if keyed => self.member(path),
                _ => self.value(path),
            }
        }
    }

    fn member(&mut self, path: &str) {
        let at = self.at;
        let key = self.string();
        let path = format!("{path}{SEPARATOR}{key}");
        if self.keys.at.insert(path.clone(), at).is_some() && self.keys.twice.is_none() {
            self.keys.twice = Some((key, at));
        }
        if self.peek() == Some(b':') {
            self.at += 1;
        }
        self.value(&path);
    }

    /// Steps over a string and gives what it says.
    fn string(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            self.at += if *byte == b'\\' { 2 } else { 1 };
            if *byte == b'"' {
                break;
            }
        }
        let spelled = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(spelled).unwrap_or_default()
    }
}
