//! Reads the words of a command line, as the shell passes them to programs.
//!
//! Pure. It knows quotes, backslashes, `~`, a few variables of known value, operators, and
//! redirections; everything else is an error. It shares no grammar with the parser of bash in `syntax`,
//! so that each detects errors of the other.

use std::collections::BTreeMap;
use std::ops::Range;

pub(super) const EXPANSION: &str = "an expansion";
const CONTINUED: &str = "a continued line";
const TILDE: &str = "a tilde that is not plain ~ or ~/";
const BRACES: &str = "braces";
const GROUP: &str = "a group of commands";
/// Syntax without a name of its own in messages.
pub(super) const NOT_PLAIN: &str = "something other than plain commands";
pub(super) const WRITES: &str = "a redirection into a file";
/// Characters that end a word.
const ENDS: [char; 10] = [' ', '\t', '\n', ';', '|', '&', '<', '>', '(', ')'];

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

    /// Adds text that is not plain.
    fn quoted(&mut self, text: &str) {
        self.is_plain = false;
        self.value.push_str(text);
    }

    /// Adds the value of a variable.
    fn variable(
        &mut self,
        name: &str,
        variables: &KnownVariables,
        in_quotes: bool,
    ) -> Result<(), &'static str> {
        let value = variables.get(name).ok_or(EXPANSION)?;
        // Without quotes, the shell splits the value and expands patterns in it.
        let is_one_word = |it: char| {
            it.is_alphanumeric() || matches!(it, '/' | '.' | '_' | '-' | ':' | '@' | ',' | '+')
        };
        // An empty value would vanish without quotes, and a dash would make it an option.
        let is_safe = !value.is_empty() && !value.starts_with('-');
        if !is_safe || !in_quotes && !value.chars().all(is_one_word) {
            return Err(EXPANSION);
        }
        self.quoted(value);
        self.has_folder |= name == "PWD";
        Ok(())
    }

    /// Adds what is in double quotes. A backslash only escapes a few characters there.
    fn double_quoted(
        &mut self,
        text: &str,
        variables: &KnownVariables,
    ) -> Result<(), &'static str> {
        self.quoted("");
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            rest = &rest[character.len_utf8()..];
            let next = rest.chars().next();
            match (character, next) {
                // A dollar sign without a name is literal.
                ('$', None | Some(' ' | ')' | '|' | '/')) => self.value.push('$'),
                ('$', _) => {
                    let (name, behind) = variable(rest).ok_or(EXPANSION)?;
                    self.variable(name, variables, true)?;
                    rest = behind;
                }
                ('`', _) => return Err(EXPANSION),
                ('\\', Some(it @ ('$' | '`' | '"' | '\\'))) => {
                    self.value.push(it);
                    rest = &rest[1..];
                }
                ('\\', Some('\n') | None) => return Err(CONTINUED),
                (other, _) => self.value.push(other),
            }
        }
        Ok(())
    }
}

/// A plain command, without nested syntax.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Files that it reads with `<`.
    pub inputs: Vec<Word>,
    /// True if its input is the output of the command before it.
    pub is_piped: bool,
}

/// What a word is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Program,
    Argument,
    /// The target of a redirection.
    Target,
}

/// The place of a word in a line.
pub(super) type Place = (Range<usize>, Role);

/// The commands of a line, and the places of their words.
///
/// # Errors
///
/// The line contains syntax that this reader does not know, as a noun with its article.
pub(super) fn split(
    text: &str,
    variables: &KnownVariables,
) -> Result<(Vec<Simple>, Vec<Place>), &'static str> {
    let mut reader = Reader {
        text,
        variables,
        at: 0,
        commands: Vec::new(),
        command: None,
        is_piped: false,
        places: Vec::new(),
    };
    reader.read()?;
    Ok((reader.commands, reader.places))
}

struct Reader<'a> {
    text: &'a str,
    variables: &'a KnownVariables,
    at: usize,
    commands: Vec<Simple>,
    /// The command that is being read.
    command: Option<Simple>,
    /// True if its output goes to the next command.
    is_piped: bool,
    places: Vec<Place>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn read(&mut self) -> Result<(), &'static str> {
        while let Some(character) = self.peek() {
            let rest = self.rest();
            let is_redirected = |it: &str| it.starts_with(['<', '>']);
            match character {
                ' ' | '\t' => self.at += 1,
                // A comment: inside a word, `#` is read as a part of it.
                '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
                '\n' | ';' | '|' => self.end()?,
                '&' if rest.starts_with("&&") => self.end()?,
                '&' | '<' | '>' => self.redirect()?,
                // A file descriptor, as in `2>/dev/null`. Others don't matter for what is read.
                '0'..='2' if is_redirected(&rest[1..]) => {
                    self.at += 1;
                    self.redirect()?;
                }
                '(' | ')' => return Err(GROUP),
                _ => {
                    let is_first = self.command().words.is_empty();
                    let role = if is_first {
                        Role::Program
                    } else {
                        Role::Argument
                    };
                    let mut word = self.word(role)?;
                    if is_first && word.value == "[" {
                        // `[` is a program here, not the start of a pattern.
                        word.before_pattern = None;
                    }
                    self.command().words.push(word);
                }
            }
        }
        self.commands.extend(self.command.take());
        Ok(())
    }

    fn command(&mut self) -> &mut Simple {
        let is_piped = &mut self.is_piped;
        self.command.get_or_insert_with(|| Simple {
            is_piped: std::mem::take(is_piped),
            ..Simple::default()
        })
    }

    /// Reads the operator that ends a command.
    fn end(&mut self) -> Result<(), &'static str> {
        let rest = self.rest();
        let is_double = rest.starts_with("&&") || rest.starts_with("||");
        // `|&`, and the terminators of a `case`.
        if ["|&", ";;", ";&"].iter().any(|it| rest.starts_with(it)) {
            return Err(NOT_PLAIN);
        }
        self.commands.extend(self.command.take());
        self.is_piped |= rest.starts_with('|') && !is_double;
        self.at += if is_double { 2 } else { 1 };
        Ok(())
    }

    /// Reads a redirection. Output may only go to `/dev/null` or to another file descriptor.
    fn redirect(&mut self) -> Result<(), &'static str> {
        let behind = self.rest().trim_start_matches(['&', '<', '>']);
        let operator = &self.rest()[..self.rest().len() - behind.len()];
        self.at = self.text.len() - behind.trim_start_matches([' ', '\t']).len();
        let target = self.word(Role::Target)?;
        // Which file a pattern matches is only known when the command runs.
        if target.is_pattern() {
            return Err("a redirection from a pattern");
        }
        let command = self.command();
        match operator {
            "<" => command.inputs.push(target),
            ">&" if matches!(target.value.as_str(), "1" | "2") => {}
            ">" | ">>" | "&>" | "&>>" if target.value == "/dev/null" => {}
            _ => return Err(WRITES),
        }
        Ok(())
    }

    fn word(&mut self, role: Role) -> Result<Word, &'static str> {
        let mut word = Word {
            is_plain: true,
            ..Word::default()
        };
        let from = self.at;
        while let Some(character) = self.peek().filter(|it| !ENDS.contains(it)) {
            let is_first = self.at == from;
            self.at += character.len_utf8();
            let rest = self.rest();
            match character {
                '\'' => word.quoted(self.until('\'')?),
                '"' => word.double_quoted(self.until('"')?, self.variables)?,
                '\\' => match self.peek() {
                    None | Some('\n') => return Err(CONTINUED),
                    Some('{' | '}') => return Err(BRACES),
                    Some(escaped) => {
                        word.quoted(escaped.encode_utf8(&mut [0; 4]));
                        self.at += escaped.len_utf8();
                    }
                },
                '`' => return Err(EXPANSION),
                '$' => {
                    let (name, behind) = variable(rest).ok_or(EXPANSION)?;
                    word.variable(name, self.variables, false)?;
                    self.at = self.text.len() - behind.len();
                }
                '*' | '?' | '[' => {
                    word.before_pattern
                        .get_or_insert_with(|| word.value.clone());
                    word.value.push(character);
                }
                // `find -exec` and `xargs` replace this word; the shell does not expand it.
                '{' if is_first && rest.starts_with('}') && is_end(&rest[1..]) => {
                    word.value.push_str("{}");
                    self.at += 1;
                }
                '{' | '}' => return Err(BRACES),
                // `~/` is the home folder, and `~name` another user's.
                '~' if is_first && (is_end(rest) || rest.starts_with('/')) => {
                    word.quoted(self.variables.get("HOME").ok_or(EXPANSION)?);
                }
                // After these, bash expands it in words that look like assignments.
                '~' if is_first || word.value.ends_with(['=', ':']) => return Err(TILDE),
                other => word.value.push(other),
            }
        }
        // Only after a redirection: elsewhere, the next character starts a word.
        if self.at == from {
            return Err("a redirection to nowhere");
        }
        self.places.push((from..self.at, role));
        Ok(word)
    }

    /// The text up to the closing quote.
    fn until(&mut self, quote: char) -> Result<&'a str, &'static str> {
        let rest = self.rest();
        let mut is_escaped = false;
        let end = rest.find(|it| {
            let is_end = it == quote && !is_escaped;
            // Within single quotes, a backslash is literal.
            is_escaped = it == '\\' && quote == '"' && !is_escaped;
            is_end
        });
        let end = end.ok_or("an unclosed quote")?;
        self.at += end + 1;
        Ok(&rest[..end])
    }
}

/// Returns true if no word continues here.
fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(ENDS)
}

/// Returns true if a text is a variable and nothing else: text after the name means an operator, as in
/// `${name:-default}`.
pub(super) fn is_variable(text: &str) -> bool {
    let found = text.strip_prefix('$').and_then(variable);
    found.is_some_and(|(_, rest)| rest.is_empty())
}

/// Splits the text after a `$` into the variable's name and the rest.
fn variable(text: &str) -> Option<(&str, &str)> {
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
