//! Words of a command, as the shell passes them to a program.
//!
//! Pure. Quotes, backslashes, `~`, and a few variables of known value are resolved;
//! every other expansion is an error.

use std::collections::BTreeMap;

const EXPANSION: &str = "an expansion";
const CONTINUED: &str = "a continued line";
const TILDE: &str = "a tilde that is not plain ~ or ~/";
/// Syntax that the parsers report as an error.
pub(super) const UNCERTAIN: &str = "something that cannot be parsed with certainty";
/// Syntax without a name of its own in messages.
pub(super) const NOT_PLAIN: &str = "something other than plain commands";

/// Variables whose values are known before the command runs, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownVariables(BTreeMap<String, String>);

impl KnownVariables {
    /// The variables with these values.
    pub(super) fn new(values: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(values.into_iter().collect())
    }

    /// Placeholder values, for checks of the text alone.
    pub(super) fn unknown() -> Self {
        let names = ["HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "USER"];
        Self::new(names.map(|name| (name.to_owned(), format!("/{name}"))))
    }

    fn get(&self, name: &str) -> Option<&str> {
        match name {
            // The exit code consists of digits, whatever its value.
            "?" => Some("0"),
            name => self.0.get(name).map(String::as_str),
        }
    }
}

/// A word of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The argument that the program gets, or the pattern that is replaced by file names.
    pub value: String,
    /// True if it is literal text: no quotes, no backslash, no variable.
    pub is_plain: bool,
    /// True if it contains `$PWD`, which `cd` changes.
    pub has_folder: bool,
    /// The text before the first `*`, `?`, or `[` outside quotes, if there is one.
    pub before_pattern: Option<String>,
}

impl Word {
    /// Returns true if the shell replaces the word by file names.
    pub(super) fn is_pattern(&self) -> bool {
        self.before_pattern.is_some()
    }
}

/// The state of a `~` at the start of a word: if it has been read, but not the character after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tilde {
    No,
    Awaits,
}

/// Builds a word piece by piece.
#[derive(Debug)]
pub(super) struct Builder<'a> {
    word: Word,
    variables: &'a KnownVariables,
    tilde: Tilde,
    /// True if a piece was added; empty quotes count.
    is_begun: bool,
    problem: Option<&'static str>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(variables: &'a KnownVariables) -> Self {
        Self {
            word: Word {
                is_plain: true,
                ..Word::default()
            },
            variables,
            tilde: Tilde::No,
            is_begun: false,
            problem: None,
        }
    }

    /// The word.
    ///
    /// # Errors
    ///
    /// A `~` in it does not name the user's home folder.
    pub(super) fn finish(mut self) -> Result<Word, &'static str> {
        if self.tilde == Tilde::Awaits {
            self.home()?;
        }
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(self.word),
        }
    }

    fn home(&mut self) -> Result<(), &'static str> {
        self.tilde = Tilde::No;
        let home = self.variables.get("HOME").ok_or(EXPANSION)?.to_owned();
        self.word.is_plain = false;
        home.chars().for_each(|it| self.literal(it));
        Ok(())
    }

    fn literal(&mut self, character: char) {
        self.word.value.push(character);
    }

    fn active(&mut self, character: char) {
        let word = &mut self.word;
        word.before_pattern
            .get_or_insert_with(|| word.value.clone());
        word.value.push(character);
    }

    /// Adds a piece in quotes, given without them.
    pub(super) fn quoted(&mut self, text: &str) {
        if self.tilde == Tilde::Awaits {
            // Bash takes the tilde literally here; other shells differ.
            self.problem = Some(TILDE);
        }
        self.is_begun = true;
        self.word.is_plain = false;
        text.chars().for_each(|it| self.literal(it));
    }

    /// Adds literal text that leaves the word plain.
    pub(super) fn literally(&mut self, text: &str) {
        self.is_begun = true;
        text.chars().for_each(|it| self.literal(it));
    }

    /// Adds the value of a variable.
    pub(super) fn variable(&mut self, name: &str, in_quotes: bool) -> Result<(), &'static str> {
        let value = self.variables.get(name).ok_or(EXPANSION)?.to_owned();
        // Without quotes, the shell splits the value and expands patterns in it.
        let is_one_word = |it: char| {
            it.is_alphanumeric() || matches!(it, '/' | '.' | '_' | '-' | ':' | '@' | ',' | '+')
        };
        // An empty value would vanish without quotes, and a dash would make it an option.
        let is_safe = !value.is_empty() && !value.starts_with('-');
        if !is_safe || !in_quotes && !value.chars().all(is_one_word) {
            return Err(EXPANSION);
        }
        self.quoted(&value);
        self.word.has_folder |= name == "PWD";
        Ok(())
    }

    /// Adds a piece in double quotes, given without them. A backslash only escapes a few
    /// characters there.
    pub(super) fn double_quoted(&mut self, text: &str) -> Result<(), &'static str> {
        self.quoted("");
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            rest = &rest[character.len_utf8()..];
            let next = rest.chars().next();
            match (character, next) {
                // A dollar sign without a name is literal.
                ('$', None | Some(' ' | ')' | '|' | '/')) => self.literal('$'),
                ('$', _) => {
                    let (name, behind) = variable(rest).ok_or(EXPANSION)?;
                    self.variable(name, true)?;
                    rest = behind;
                }
                ('`', _) => return Err(EXPANSION),
                ('\\', Some(it @ ('$' | '`' | '"' | '\\'))) => {
                    self.literal(it);
                    rest = &rest[1..];
                }
                ('\\', Some('\n') | None) => return Err(CONTINUED),
                (other, _) => self.literal(other),
            }
        }
        Ok(())
    }

    /// Adds a piece without quotes.
    pub(super) fn bare(&mut self, text: &str) -> Result<(), &'static str> {
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            if self.tilde == Tilde::Awaits {
                if character != '/' {
                    return Err(TILDE);
                }
                self.home()?;
            }
            match character {
                '\\' => match characters.next() {
                    None | Some('\n') => return Err(CONTINUED),
                    Some(escaped) => self.quoted(escaped.encode_utf8(&mut [0; 4])),
                },
                '$' | '`' => return Err(EXPANSION),
                '"' | '\'' | '(' | ')' | '<' | '>' | '|' | '&' | ';' => return Err(UNCERTAIN),
                '*' | '?' | '[' => self.active(character),
                // Decided by the next character: `~/` is the home folder, `~name` another user's.
                '~' if !self.is_begun => self.tilde = Tilde::Awaits,
                // After these, bash expands it in words that look like assignments.
                '~' if self.word.value.ends_with(['=', ':']) => return Err(TILDE),
                _ => self.literal(character),
            }
            self.is_begun = true;
        }
        Ok(())
    }
}

/// Splits the text after a `$` into the variable's name and the rest.
pub(super) fn variable(text: &str) -> Option<(&str, &str)> {
    if let Some(rest) = text.strip_prefix('?') {
        return Some(("?", rest));
    }
    if let Some(inner) = text.strip_prefix('{') {
        let (name, rest) = inner.split_once('}')?;
        return (length(name) == name.len() && !name.is_empty()).then_some((name, rest));
    }
    let length = length(text);
    (length > 0).then(|| text.split_at(length))
}

/// Length in bytes of the variable name at the start of a text.
fn length(text: &str) -> usize {
    let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
    if text.starts_with(|it: char| it.is_ascii_digit()) {
        return 0;
    }
    text.find(|it| !is_name(it)).unwrap_or(text.len())
}

/// Returns true if a word without quotes contains braces, which could expand to several words.
pub(super) fn has_braces(text: &str) -> bool {
    text != "{}" && text.contains(['{', '}'])
}
