//! Finds the position of a word in a frontmatter, or of a key in JSON.
//!
//! Expects valid JSON, because it only looks for keys.

use std::collections::BTreeMap;

/// Separates the keys of a path. JSON escapes it inside keys.
const SEPARATOR: char = '\u{1}';

/// Returns the line and the byte column, both counted from 1, of `word` in quotes or as a
/// field: its only occurrence, or the first one from `line` on.
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
        // The line of an error may be that of a later statement, so a single occurrence counts in
        // any line.
        [only] => Some(only),
        _ => found.into_iter().find(|(at, _)| *at >= line),
    }
}

/// Returns the line of the file that contains byte `at` of `text`.
pub fn line_of(text: &str, at: usize, first_line: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    first_line + before.filter(|byte| **byte == b'\n').count()
}

/// The positions of all keys of a JSON text.
#[derive(Debug, Default)]
pub struct Keys {
    at: BTreeMap<String, usize>,
    /// The first duplicate key and the position of its second occurrence.
    pub twice: Option<(String, usize)>,
}

impl Keys {
    /// Finds the keys of `text`, which is valid JSON.
    pub fn read(text: &str) -> Self {
        let mut reader = Reader {
            text,
            at: 0,
            keys: Self::default(),
        };
        reader.value("");
        reader.keys
    }

    /// Returns the byte offset of the key at `path`.
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
                // Which bracket it is does not matter, because the text is valid JSON.
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

    /// Steps over a string and returns its value.
    fn string(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            // Also steps over an escaped quote, which does not end the string.
            self.at += if *byte == b'\\' { 2 } else { 1 };
            if *byte == b'"' {
                break;
            }
        }
        let spelled = self.text.get(start..self.at).unwrap_or_default();
        // Keys are compared as they are meant: JSON can spell a letter as an escape.
        serde_json::from_str(spelled).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Keys, line_of, of_word};

    #[test]
    fn a_word_is_found_at_its_only_place_or_from_the_line_on() {
        for (text, expected) in [
            ("x = \"word\"", Some((5, 6))),
            ("a = 'word'\n\nb = opt.word", Some((7, 9))),
            ("a = 'word'\nb = 'word'", None),
            ("word", None),
        ] {
            assert_eq!(of_word(text, "word", 7, 5), expected, "{text:?}");
        }
    }

    #[test]
    fn a_byte_is_on_the_line_that_contains_it() {
        for (at, expected) in [(0, 5), (1, 5), (2, 6), (3, 7)] {
            assert_eq!(line_of("a\n\nb", at, 5), expected, "{at}");
        }
    }

    #[test]
    fn a_key_is_found_by_its_path() {
        let text =
            r#"{ "a": 1, "b\"\\" : [ "a", "a", {"a": "}"} ], "c": {"a" :{"d" : -1.5}}, "e": []}"#;
        let keys = Keys::read(text);
        assert_eq!(keys.twice, None);
        let spelled = |path: &[&str]| {
            keys.find(path)
                .map(|at| text[at..].split([':', ' ']).next())
        };
        for (path, expected) in [
            (&["a"][..], r#""a""#),
            (&["b\"\\"], r#""b\"\\""#),
            (&["c"], r#""c""#),
            (&["c", "a"], r#""a""#),
            (&["c", "a", "d"], r#""d""#),
            (&["e"], r#""e""#),
        ] {
            assert_eq!(spelled(path), Some(Some(expected)), "{path:?}");
        }
        assert!(keys.find(&["c"]) < keys.find(&["c", "a"]));
        for path in [&["d"][..], &["c", "d"], &["a", "c"]] {
            assert_eq!(keys.find(path), None, "{path:?}");
        }
    }

    #[test]
    fn the_first_key_that_occurs_twice_is_found() {
        for (text, expected) in [
            (r#"{"a": 1, "b": 2, "b": 3, "a": 4}"#, Some(("b", 17))),
            (r#"{"a": {"a": 1}, "b": {"a": 1}}"#, None),
            (r#"{"x": {"a": "a", "a": ["a"]}}"#, Some(("a", 17))),
        ] {
            let twice = Keys::read(text).twice;
            let twice = twice.as_ref().map(|(key, at)| (key.as_str(), *at));
            assert_eq!(twice, expected, "{text}");
        }
    }
}
