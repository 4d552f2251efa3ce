//! Approves `awk` programs that only print: patterns and actions that consist of fields, numbers,
//! plain strings, comparisons, sums, and counters.

use super::UNREAD;
use crate::shell::options::{OPEN, Options, RUN, Refusal, is_in, parse, refuse};
use crate::shell::programs::Reads;
use crate::shell::words::Word;

/// Keywords and functions of all implementations of `awk`.
const RESERVED: &str = "and asort asorti atan bindtextdomain break case close compl continue cos dcgettext \
    dcngettext default delete do else eval exit exp fflush for func function gensub getline \
    gsub if in include index int isarray length load log lshift match mktime mkbool namespace \
    next nextfile or patsplit print printf rand return rshift sin split sprintf sqrt srand \
    strftime strtonum sub substr switch system systime tolower toupper typeof while xor";
/// Variables of `awk` that a program may read.
const READ: &str = "NR NF FNR FILENAME FS OFS RS ORS";
/// Variables of `awk` that a program may set.
const SET: &str = "FS OFS RS ORS";

/// `awk`: options, a program, files.
pub(in crate::shell) fn check(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    // Not `-f`, `-i`, and `-l`, which load other programs.
    let options = Options::new("-F= -v= --version");
    // Some implementations take options after the program for files.
    let parsed = parse(arguments, options)?;
    if parsed.is_mixed {
        return refuse(&parsed.operands[0].value, RUN);
    }
    if let Some(given) = parsed.values(&["-v"]).find(|it| !is_plain_variable(it)) {
        return refuse(given, UNREAD);
    }
    let Some((program, files)) = parsed.operands.split_first() else {
        return Ok(Reads::nothing());
    };
    if program.is_pattern() {
        return refuse(&program.value, OPEN);
    }
    let mut reader = tokens(&program.value).map(|tokens| Reader { tokens, at: 0 });
    if reader.as_mut().and_then(Reader::program).is_none() {
        return refuse(&program.value, UNREAD);
    }
    // An operand with an equals sign sets a variable.
    let odd = |it: &&&Word| {
        it.value.contains('=')
            // gawk opens a connection for a file below `/inet`.
            || it.value.starts_with("/inet")
            || it.value.starts_with('-') && it.value.len() > 1
    };
    match files.iter().find(odd) {
        Some(word) => refuse(&word.value, RUN),
        None => Ok(Reads::paths(files.to_vec())),
    }
}

/// Whether a `name=value` sets a harmless variable to plain text.
fn is_plain_variable(given: &str) -> bool {
    let (name, value) = given.split_once('=').unwrap_or_default();
    // gawk evaluates escapes in the value, and takes `@/…/` for a regular expression.
    (is_own(name) || is_in(SET, name)) && !value.contains(['\\', '@'])
}

/// Whether a name is a variable of the program itself.
fn is_own(name: &str) -> bool {
    let is_name = !name.is_empty() && name.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
    is_name && !is_in(RESERVED, name)
}

/// A token of a program.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    /// A number or a string.
    Constant,
    /// A regular expression.
    Regex,
    Sign(&'static str),
    /// A newline or a semicolon.
    End,
}

/// Operators and brackets, longer ones first. `|` and `@` are missing because they run programs
/// or load files.
const SIGNS: &[&str] = &[
    "&&", "||", "==", "!=", "<=", ">=", "+=", "-=", "*=", "++", "--", "!~", "{", "}", "(", ")",
    "[", "]", "$", ",", "+", "-", "*", "%", "!", "~", "<", ">", "=",
];

/// Maximum number of tokens in a program, which also limits the depth of recursion.
const MOST_TOKENS: usize = 500;

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut found: Vec<Token> = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t']);
    while !rest.is_empty() {
        let (token, length) = token(rest, found.last())?;
        found.push(token);
        rest = rest[length..].trim_start_matches([' ', '\t']);
        if found.len() > MOST_TOKENS {
            return None;
        }
    }
    Some(found)
}

/// The token at the start of `rest`, and its length. `last` is the token before it.
fn token(rest: &str, last: Option<&Token>) -> Option<(Token, usize)> {
    let until = |ends: fn(char) -> bool| rest.find(ends).unwrap_or(rest.len());
    Some(match rest.chars().next()? {
        ';' | '\n' => (Token::End, 1),
        '"' => {
            let end = rest[1..].find('"')? + 2;
            // All implementations agree about these escapes only.
            let inner = rest[1..end - 1].replace("\\t", "").replace("\\n", "");
            if inner.contains(['\\', '\n']) {
                return None;
            }
            (Token::Constant, end)
        }
        '/' => {
            let end = rest[1..].find('/')? + 2;
            // After an operand, a slash divides.
            if last.is_some_and(is_operand) || rest[1..end - 1].contains(['\\', '[', ']', '\n']) {
                return None;
            }
            (Token::Regex, end)
        }
        it if it.is_ascii_digit() => {
            let end = until(|it| !it.is_ascii_digit() && it != '.');
            (Token::Constant, end)
        }
        it if it.is_ascii_alphabetic() || it == '_' => {
            let end = until(|it| !it.is_ascii_alphanumeric() && it != '_');
            (Token::Name(rest[..end].to_owned()), end)
        }
        _ => {
            let sign = SIGNS.iter().find(|it| rest.starts_with(**it))?;
            (Token::Sign(sign), sign.len())
        }
    })
}

fn is_operand(token: &Token) -> bool {
    matches!(
        token,
        Token::Name(_)
            | Token::Constant
            | Token::Regex
            | Token::Sign(")" | "]" | "++" | "--" | "$")
    )
}

/// A recursive-descent parser. Each method returns `None` if the program does not match.
struct Reader {
    tokens: Vec<Token>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn sign(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Sign(it)) if *it == sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn name(&mut self, name: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Name(it)) if it == name);
        self.at += usize::from(is_next);
        is_next
    }

    fn ends(&mut self) {
        while self.peek() == Some(&Token::End) {
            self.at += 1;
        }
    }

    fn program(&mut self) -> Option<()> {
        loop {
            self.ends();
            if self.peek().is_none() {
                return Some(());
            }
            let is_bare = self.peek() == Some(&Token::Sign("{"));
            if !is_bare && !self.name("BEGIN") && !self.name("END") {
                self.expression(true)?;
                if self.sign(",") {
                    self.expression(true)?;
                }
            }
            if self.sign("{") {
                self.action()?;
            } else if !matches!(self.peek(), None | Some(Token::End)) {
                return None;
            }
        }
    }

    fn action(&mut self) -> Option<()> {
        loop {
            self.ends();
            if self.sign("}") {
                return Some(());
            }
            self.statement()?;
            if !matches!(self.peek(), Some(Token::End | Token::Sign("}"))) {
                return None;
            }
        }
    }

    fn statement(&mut self) -> Option<()> {
        if self.name("next") {
            return Some(());
        }
        if self.name("print") {
            if matches!(self.peek(), Some(Token::End | Token::Sign("}"))) {
                return Some(());
            }
            loop {
                // After `print`, a `>` writes a file.
                self.expression(false)?;
                if !self.sign(",") {
                    return Some(());
                }
            }
        }
        self.assignment()
    }

    /// `name = …`, `name += …`, `name++`.
    fn assignment(&mut self) -> Option<()> {
        let Some(Token::Name(name)) = self.peek() else {
            return None;
        };
        if !is_own(name) && !is_in(SET, name) {
            return None;
        }
        self.at += 1;
        self.subscript()?;
        if self.sign("++") || self.sign("--") {
            return Some(());
        }
        let assigns = ["=", "+=", "-=", "*="].iter().any(|it| self.sign(it));
        assigns.then_some(())?;
        self.expression(false)
    }

    fn subscript(&mut self) -> Option<()> {
        if self.sign("[") {
            self.expression(false)?;
            self.sign("]").then_some(())?;
        }
        Some(())
    }

    /// Operands joined by operators. `compares` says whether `>` is a comparison here.
    fn expression(&mut self, compares: bool) -> Option<()> {
        const JOIN: [&str; 13] = [
            "&&", "||", "==", "!=", "<=", ">=", "!~", "~", "+", "-", "*", "%", "<",
        ];
        loop {
            self.operand()?;
            let joins = JOIN.iter().any(|it| self.sign(it)) || compares && self.sign(">");
            // Adjacent operands are concatenated.
            let is_beside = matches!(
                self.peek(),
                Some(Token::Constant | Token::Name(_) | Token::Sign("$"))
            );
            if !joins && !is_beside {
                return Some(());
            }
        }
    }

    fn operand(&mut self) -> Option<()> {
        while self.sign("!") || self.sign("-") {}
        if self.sign("(") {
            // In parentheses, `>` is a comparison anywhere.
            self.expression(true)?;
            return self.sign(")").then_some(());
        }
        if self.sign("$") {
            return self.field();
        }
        match self.peek()? {
            Token::Constant | Token::Regex => self.at += 1,
            Token::Name(name) if is_own(name) => {
                self.variable()?;
                self.subscript()?;
                // One of the two may follow, but need not.
                let _ = self.sign("++") || self.sign("--");
            }
            Token::Name(name) if is_in(READ, name) => self.variable()?,
            _ => return None,
        }
        Some(())
    }

    /// A field's number, after `$`.
    fn field(&mut self) -> Option<()> {
        match self.peek()? {
            Token::Constant => self.at += 1,
            Token::Name(name) if is_in("NF NR", name) || is_own(name) => self.at += 1,
            Token::Sign("(") => return self.operand(),
            _ => return None,
        }
        Some(())
    }

    /// A name that is not called as a function.
    fn variable(&mut self) -> Option<()> {
        self.at += 1;
        (self.peek() != Some(&Token::Sign("("))).then_some(())
    }
}
