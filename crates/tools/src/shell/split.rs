//! A second parser of command lines, which only knows quotes, backslashes, blanks, and
//! operators. It refuses everything else.
//!
//! Pure. It shares no grammar with the parser in `syntax`, so that each detects errors of the
//! other.

use super::words::{Builder, KnownVariables, NOT_PLAIN, variable};

/// The words of each command in a line, without redirections.
///
/// # Errors
///
/// The line contains syntax that this parser does not know.
pub(super) fn split(
    text: &str,
    variables: &KnownVariables,
) -> Result<Vec<Vec<String>>, &'static str> {
    let mut reader = Reader {
        variables,
        rest: text.chars().collect::<Vec<char>>(),
        at: 0,
        commands: Vec::new(),
        words: Vec::new(),
    };
    reader.read()?;
    Ok(reader.commands)
}

struct Reader<'a> {
    variables: &'a KnownVariables,
    rest: Vec<char>,
    at: usize,
    commands: Vec<Vec<String>>,
    words: Vec<String>,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.get(self.at + ahead).copied()
    }

    fn read(&mut self) -> Result<(), &'static str> {
        while let Some(character) = self.peek(0) {
            match character {
                ' ' | '\t' => self.at += 1,
                // A comment: inside a word, `#` was read as a part of it.
                '#' => {
                    while self.peek(0).is_some_and(|it| it != '\n') {
                        self.at += 1;
                    }
                }
                '\n' | ';' | '|' => self.end(character)?,
                '&' if self.peek(1) == Some('&') => self.end(character)?,
                '&' | '<' | '>' => self.redirect()?,
                // A file descriptor, as in `2>/dev/null`. Others don't matter for what is read.
                '0'..='2' if matches!(self.peek(1), Some('<' | '>')) => {
                    self.at += 1;
                    self.redirect()?;
                }
                '(' | ')' => return Err("a group of commands"),
                _ => {
                    let word = self.word()?;
                    self.words.push(word);
                }
            }
        }
        self.take();
        Ok(())
    }

    fn end(&mut self, operator: char) -> Result<(), &'static str> {
        self.at += 1;
        match (operator, self.peek(0)) {
            ('|', Some('|')) | ('&', Some('&')) => self.at += 1,
            // `|&`, and the terminators of a `case`.
            ('|', Some('&')) | (';', Some(';' | '&')) => return Err(NOT_PLAIN),
            _ => {}
        }
        self.take();
        Ok(())
    }

    fn take(&mut self) {
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }

    fn redirect(&mut self) -> Result<(), &'static str> {
        let from = self.at;
        while matches!(self.peek(0), Some('&' | '<' | '>')) {
            self.at += 1;
        }
        let operator: String = self.rest[from..self.at].iter().collect();
        if !matches!(operator.as_str(), "<" | ">" | ">>" | ">&" | "&>" | "&>>") {
            return Err(NOT_PLAIN);
        }
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        // Whether the target is allowed is decided by `syntax`.
        self.word().map(drop)
    }

    fn word(&mut self) -> Result<String, &'static str> {
        let mut word = Builder::new(self.variables);
        let from = self.at;
        while let Some(character) = self.peek(0) {
            match character {
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' => break,
                '(' | ')' => return Err("a group of commands"),
                '\'' => word.quoted(&self.until('\'')?),
                '"' => {
                    let inner = self.until('"')?;
                    word.double_quoted(&inner)?;
                }
                '\\' => {
                    let pair: String = [Some('\\'), self.peek(1)].into_iter().flatten().collect();
                    word.bare(&pair)?;
                    self.at += 2;
                }
                '$' => {
                    let rest: String = self.rest[self.at + 1..].iter().collect();
                    let (name, behind) = variable(&rest).ok_or("an expansion")?;
                    word.variable(name, false)?;
                    self.at = self.rest.len() - behind.chars().count();
                }
                other => {
                    word.bare(other.encode_utf8(&mut [0; 4]))?;
                    self.at += 1;
                }
            }
        }
        // Only after a redirection: elsewhere, the next character starts a word.
        if self.at == from {
            return Err("a redirection to nowhere");
        }
        Ok(word.finish()?.value)
    }

    /// The text up to the closing quote.
    fn until(&mut self, quote: char) -> Result<String, &'static str> {
        self.at += 1;
        let from = self.at;
        while let Some(character) = self.peek(0) {
            if character == quote {
                let inner = self.rest[from..self.at].iter().collect();
                self.at += 1;
                return Ok(inner);
            }
            // Within single quotes, a backslash is literal.
            self.at += if character == '\\' && quote == '"' {
                2
            } else {
                1
            };
        }
        Err("an unclosed quote")
    }
}
