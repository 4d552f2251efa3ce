//! Which scripts of `sed` and `awk` only print.
//!
//! Pure. Not the languages, but a part of each that is enough for most: what is not
//! understood is refused.

use super::programs::{RUN, Refusal, closed, refuse_first};
use super::words::Word;

const UNREAD: &str = "run or write something: its script is not one of those that are understood";

pub(super) fn awk(arguments: &[Word]) -> Result<(), Refusal> {
    closed(arguments, RUN)?;
    let mut words = arguments.iter();
    let program = loop {
        let Some(word) = words.next() else {
            return Ok(());
        };
        match word.value.as_str() {
            "-F" | "-v" => drop(words.next()),
            "--" => break words.next(),
            "--version" => return Ok(()),
            value if value.starts_with("-F") || value.starts_with("-v") => {}
            value if value.starts_with('-') => return Err((word.value.clone(), RUN)),
            _ => break Some(word),
        }
    };
    // `||` is the one bar that runs nothing.
    let is_more = |word: &&Word| {
        let script = word.value.replace("||", "");
        let runs = ["system", "getline", "|", ">", "@", "extension"];
        runs.iter().any(|it| script.contains(it))
    };
    refuse_first(program.filter(is_more), UNREAD)?;
    // Behind the program an option is a file's name to some, and an option to others.
    refuse_first(words.clone().find(|it| it.value.starts_with('-')), RUN)
}

pub(super) fn sed(arguments: &[Word]) -> Result<(), Refusal> {
    const FLAGS: [&str; 8] = [
        "--quiet",
        "--silent",
        "--regexp-extended",
        "--separate",
        "--unbuffered",
        "--null-data",
        "--posix",
        "--version",
    ];
    closed(arguments, RUN)?;
    let (mut scripts, mut others) = (Vec::new(), Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = word.value.as_str();
        match value {
            "-e" | "--expression" | "-ne" => scripts.extend(words.next()),
            _ if FLAGS.contains(&value) => {}
            _ if value.starts_with("--") => return Err((value.to_owned(), UNREAD)),
            _ if value.starts_with('-') && value.len() > 1 => {
                if !value[1..].chars().all(|it| "nErsuz".contains(it)) {
                    return Err((value.to_owned(), UNREAD));
                }
            }
            _ => others.push(word),
        }
    }
    if scripts.is_empty() {
        scripts.extend(others.first());
    }
    let is_more = |word: &&&Word| !Script::new(&word.value).only_prints();
    refuse_first(scripts.iter().find(is_more).copied(), UNREAD)
}

/// Reads a script of sed from left to right.
struct Script<'a>(std::iter::Peekable<std::str::Chars<'a>>);

impl<'a> Script<'a> {
    fn new(text: &'a str) -> Self {
        Self(text.chars().peekable())
    }

    fn only_prints(mut self) -> bool {
        loop {
            self.skip(|it| it.is_whitespace() || matches!(it, ';' | '{' | '}'));
            if self.0.peek().is_none() {
                return true;
            }
            if self.step().is_none() {
                return false;
            }
        }
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        while self.0.next_if(|it| is_skipped(*it)).is_some() {}
    }

    /// Takes an address and a command; nothing when it is not one that only prints.
    fn step(&mut self) -> Option<()> {
        self.address()?;
        self.skip(|it| it == ' ');
        if self.0.next_if_eq(&',').is_some() {
            self.skip(|it| it == ' ');
            let has_second = self
                .0
                .peek()
                .is_some_and(|it| it.is_ascii_digit() || "$/+~".contains(*it));
            self.0.next_if(|it| "+~".contains(*it));
            has_second.then_some(())?;
            self.address()?;
        }
        self.skip(|it| matches!(it, ' ' | '!'));
        match self.0.next()? {
            'p' | 'P' | 'd' | 'D' | 'q' | 'Q' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' => {
                self.skip(|it| it == ' ' || it.is_ascii_digit());
                self.is_at_end().then_some(())
            }
            '{' => Some(()),
            's' => {
                self.pair()?;
                self.skip(|it| "gpiI".contains(it) || it.is_ascii_digit());
                self.skip(|it| it == ' ');
                self.is_at_end().then_some(())
            }
            'y' => {
                self.pair()?;
                self.skip(|it| it == ' ');
                self.is_at_end().then_some(())
            }
            _ => None,
        }
    }

    fn is_at_end(&mut self) -> bool {
        self.0
            .peek()
            .is_none_or(|it| matches!(it, ';' | '}' | '\n'))
    }

    fn address(&mut self) -> Option<()> {
        if self.0.next_if_eq(&'/').is_some() {
            self.until('/')?;
            self.0.next_if_eq(&'I');
            return Some(());
        }
        if self.0.next_if_eq(&'$').is_none() {
            self.skip(|it| it.is_ascii_digit() || it == '~');
        }
        Some(())
    }

    /// What stands between three equal delimiters.
    fn pair(&mut self) -> Option<()> {
        let delimiter = self.0.next()?;
        if delimiter.is_alphanumeric() || delimiter.is_whitespace() || delimiter == '\\' {
            return None;
        }
        self.until(delimiter)?;
        self.until(delimiter)
    }

    /// Whether a delimiter inside brackets ends is told differently by different
    /// programs, so brackets have to be closed before it.
    fn until(&mut self, delimiter: char) -> Option<()> {
        let mut depth = 0;
        loop {
            match self.0.next()? {
                '\\' => drop(self.0.next()?),
                '\n' => return None,
                '[' => depth += 1,
                ']' => depth -= i32::from(depth > 0),
                it if it == delimiter => return (depth == 0).then_some(()),
                _ => {}
            }
        }
    }
}
