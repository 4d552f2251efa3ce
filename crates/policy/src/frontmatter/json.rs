//! A frontmatter in JSON: its keys are variables, and `flemma` contains options with their names
//! in Lua.
//!
//! Lists replace; an object of `$set`, `$append`, `$prepend`, and `$remove` changes a list as
//! the methods in Lua do.
//!
//! Positions of keys are found in valid JSON only.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::list::{Operation, Which};
use super::options::{FrontmatterOptions, Given, name_list};
use super::vm::Vm;
use super::{Evaluated, FrontmatterError, Known, Source};
use crate::options::{self, InvalidOption, join};

const OPERATORS: [(&str, Operation); 4] = [
    ("$set", Operation::Set),
    ("$append", Operation::Append),
    ("$prepend", Operation::Prepend),
    ("$remove", Operation::Remove),
];

/// Evaluates a frontmatter in JSON.
///
/// # Errors
///
/// See [`super::evaluate`].
pub fn evaluate(source: &Source, known: &Known) -> Result<Evaluated, FrontmatterError> {
    let fields = parse(source)?;
    let mut reader = Reader {
        keys: Keys::read(&source.text),
        options: FrontmatterOptions::new(known.clone()),
        source,
    };
    // A parsed object has lost the first of two equal keys, so the text is checked.
    reader.check_keys()?;
    reader.check_integers()?;
    match fields.get("flemma") {
        None => {}
        Some(Value::Object(options)) => reader.table("", options)?,
        Some(_) => {
            let what = "\"flemma\" must be an object of options.";
            return Err(reader.failure("", "flemma", InvalidOption::new("", what)));
        }
    }
    // Expressions run in Lua, also in a chat whose frontmatter is JSON.
    let vm = Vm::new(source)?;
    for (name, value) in fields.iter().filter(|(name, _)| *name != "flemma") {
        vm.set_variable(name, value).map_err(|error| {
            let what = format!("\"{name}\" cannot be a variable ({error}).");
            reader.failure("", name, InvalidOption::new(name, what))
        })?;
    }
    Ok(Evaluated::new(reader.options.close(), vm))
}

fn parse(source: &Source) -> Result<Map<String, Value>, FrontmatterError> {
    let first = source.first_line;
    let whole = |what: &str| Err(FrontmatterError::new(first, None, what));
    match serde_json::from_str(&source.text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => whole("it is not an object. Write { and } around it."),
        // An empty block is a frontmatter that is about to be written.
        Err(_) if source.text.trim().is_empty() => Ok(Map::new()),
        Err(error) => {
            let line = first + error.line().saturating_sub(1);
            let said = error.to_string();
            // The parser counts lines from the start of the block, and the user sees the file's.
            let said = said.split(" at line ").next().unwrap_or_default();
            let what = format!("this is not JSON ({said}).");
            Err(FrontmatterError::new(
                line,
                Some(error.column().max(1)),
                what,
            ))
        }
    }
}

struct Reader<'a> {
    source: &'a Source,
    keys: Keys,
    options: FrontmatterOptions,
}

impl Reader<'_> {
    fn check_keys(&self) -> Result<(), FrontmatterError> {
        let Some((key, at)) = &self.keys.twice else {
            return Ok(());
        };
        let line = line_of(&self.source.text, *at, self.source.first_line);
        let what = format!("\"{key}\" occurs twice in one object. Keep one of them.");
        Err(FrontmatterError::new(line, None, what))
    }

    /// Rejects integers that Lua's floats cannot represent.
    fn check_integers(&self) -> Result<(), FrontmatterError> {
        // An integer that `i128` cannot hold counts as changed.
        let changes = |number: &str| match (number.parse::<i128>(), number.parse::<f64>()) {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a cast of a float saturates"
            )]
            (Ok(whole), Ok(float)) => float as i128 != whole,
            _ => true,
        };
        let mut integers = chat::json::integers(&self.source.text);
        let Some((at, number)) = integers.find(|(_, it)| changes(it)) else {
            return Ok(());
        };
        let line = line_of(&self.source.text, at, self.source.first_line);
        let what =
            format!("the number {number} can't be held exactly. Write it as text, in quotes.");
        Err(FrontmatterError::new(line, None, what))
    }

    /// Sets the options in the object at `parent`.
    fn table(&mut self, parent: &str, fields: &Map<String, Value>) -> Result<(), FrontmatterError> {
        for (name, value) in fields {
            // Only these two have operators; elsewhere `$set` would be an option's name.
            let which = match (parent, name.as_str()) {
                ("", "tools") => Some(Which::Tools),
                ("tools", "auto_approve") => Some(Which::AutoApprove),
                _ => None,
            };
            match (which, value) {
                (Some(which), Value::Object(inner)) => self.list(which, inner)?,
                _ => self.assign(parent, name, value)?,
            }
        }
        Ok(())
    }

    fn assign(&mut self, parent: &str, name: &str, value: &Value) -> Result<(), FrontmatterError> {
        let given = match value {
            Value::Null => Given::Nothing,
            value => Given::Value(value.clone()),
        };
        let line = self.line(parent, name);
        let outcome = self.options.assign(parent, name, given, line);
        outcome.map_err(|invalid| self.failure(parent, name, invalid))
    }

    /// Applies the operators of a list, in their order, and sets the options below it.
    fn list(&mut self, which: Which, fields: &Map<String, Value>) -> Result<(), FrontmatterError> {
        for (name, value) in fields {
            let operator = OPERATORS.iter().find(|(operator, _)| operator == name);
            match operator {
                Some((_, operation)) => {
                    let line = self.line(which.path(), name);
                    name_list(&join(which.path(), name), value)
                        .and_then(|names| self.options.change(which, *operation, &names, line))
                        .map_err(|invalid| self.failure(which.path(), name, invalid))?;
                }
                // No option begins with a dollar, so this is a misspelled operator.
                None if name.starts_with('$') => {
                    let known = OPERATORS.map(|(operator, _)| operator);
                    let path = join(which.path(), name);
                    let invalid = options::unknown(&path, name, &known);
                    return Err(self.failure(which.path(), name, invalid));
                }
                None => {
                    // `flemma.tools` holds the operators of the list and the options below it in
                    // one object.
                    let one = Map::from_iter([(name.clone(), value.clone())]);
                    self.table(which.path(), &one)?;
                }
            }
        }
        Ok(())
    }

    fn line(&self, parent: &str, name: &str) -> usize {
        let at = self.offset(parent, name).unwrap_or_default();
        line_of(&self.source.text, at, self.source.first_line)
    }

    fn offset(&self, parent: &str, name: &str) -> Option<usize> {
        // The key itself is at the top, and the options are below it.
        if parent.is_empty() && name == "flemma" {
            return self.keys.find(&["flemma"]);
        }
        let mut path = vec!["flemma"];
        path.extend(parent.split('.').filter(|it| !it.is_empty()));
        path.push(name);
        self.keys.find(&path)
    }

    fn failure(&self, parent: &str, name: &str, invalid: InvalidOption) -> FrontmatterError {
        let line = self.line(parent, name);
        // A wrong value is marked itself; a wrong name is marked where it is written.
        let word = invalid.word.as_deref().unwrap_or(name);
        let first = self.source.first_line;
        let place = of_word(&self.source.text, word, line, first);
        let (line, column) = place.map_or((line, None), |(line, column)| (line, Some(column)));
        FrontmatterError::new(line, column, invalid)
    }
}

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
        let mut reader = KeyReader {
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

struct KeyReader<'a> {
    text: &'a str,
    at: usize,
    keys: Keys,
}

impl KeyReader<'_> {
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
