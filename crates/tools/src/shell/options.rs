//! Parses a program's arguments against the options it is approved with.
//!
//! Pure. Option names must match in full. An abbreviation or an unknown option is an error.

use super::words::Word;

/// The argument that prevents approval, and what the program could do with it.
pub(super) type Refusal = (String, &'static str);

pub(super) const UNLISTED: &str =
    "do more than read: only options on the list are approved (:help flemma-shell-safe)";
pub(super) const OPEN: &str = "mean something else than it looks like";

/// Whether a word is in a list of words separated by blanks.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|it| it == word)
}

/// Whether a text consists of digits only. The empty text does.
pub(super) fn is_digits(text: &str) -> bool {
    text.bytes().all(|it| it.is_ascii_digit())
}

/// Refuses patterns, where the words they expand to could change the meaning.
pub(super) fn no_patterns(arguments: &[Word]) -> Result<(), Refusal> {
    match arguments.iter().find(|it| it.is_pattern()) {
        Some(word) => refuse(&word.value, OPEN),
        None => Ok(()),
    }
}

pub(super) fn refuse<T>(word: &str, could: &'static str) -> Result<T, Refusal> {
    Err((word.to_owned(), could))
}

/// The options that a program is approved with, as a list of words.
///
/// `-abc` are letters without a value, and `-k=` is a letter with one. `--name` and `--name=` are
/// long names without and with a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options(pub &'static str);

impl Options {
    /// Whether an option letter takes a value; `None` if it is not listed.
    fn letter(self, letter: char) -> Option<bool> {
        // These have a meaning of their own in the list.
        if matches!(letter, '=' | '-') {
            return None;
        }
        self.0.split_whitespace().find_map(|word| {
            let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'))?;
            match letters.strip_suffix('=') {
                Some(one) => one.chars().eq([letter]).then_some(true),
                None => letters.contains(letter).then_some(false),
            }
        })
    }

    /// Whether a long option takes a value; `None` if it is not listed.
    fn name(self, name: &str) -> Option<bool> {
        self.0.split_whitespace().find_map(|word| {
            let listed = word.strip_prefix("--")?;
            let (listed, value) = match listed.strip_suffix('=') {
                Some(listed) => (listed, true),
                None => (listed, false),
            };
            (listed == name).then_some(value)
        })
    }
}

/// Parsed arguments.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    /// Options by letter (`-a`) or long name (`--all`), with their values.
    options: Vec<(String, Option<String>)>,
    /// The other words.
    pub operands: Vec<&'a Word>,
}

impl Parsed<'_> {
    /// The values of an option.
    pub(super) fn values<'b>(&'b self, names: &'b [&str]) -> impl Iterator<Item = &'b str> {
        let given = self.options.iter();
        let given = given.filter(|(name, _)| names.contains(&name.as_str()));
        given.filter_map(|(_, value)| value.as_deref())
    }
}

/// Parses arguments, none of which is a pattern.
///
/// # Errors
///
/// An option is not listed.
pub(super) fn parse(arguments: &[Word], options: Options) -> Result<Parsed<'_>, Refusal> {
    let mut parsed = Parsed::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = word.value.as_str();
        if value == "--" {
            parsed.operands.extend(words);
            break;
        }
        match value.strip_prefix('-').filter(|it| !it.is_empty()) {
            None => parsed.operands.push(word),
            Some(rest) => match rest.strip_prefix('-') {
                Some(long) => parsed.options.push(long_option(long, options, &mut words)?),
                None => letters(value, options, &mut words, &mut parsed)?,
            },
        }
    }
    Ok(parsed)
}

/// Parses a long option, given without its dashes, and its value if that is the next word.
fn long_option<'a>(
    long: &str,
    options: Options,
    words: &mut impl Iterator<Item = &'a Word>,
) -> Result<(String, Option<String>), Refusal> {
    let (name, given) = match long.split_once('=') {
        Some((name, given)) => (name, Some(given.to_owned())),
        None => (long, None),
    };
    let text = format!("--{long}");
    let value = match (options.name(name), given) {
        (Some(false), None) => None,
        (Some(true), Some(given)) => Some(given),
        (Some(true), None) => Some(next_value(&text, words)?),
        _ => return refuse(&text, UNLISTED),
    };
    Ok((format!("--{name}"), value))
}

/// Parses a word of option letters, and the value of the last if that is the next word.
fn letters<'a>(
    text: &str,
    options: Options,
    words: &mut impl Iterator<Item = &'a Word>,
    parsed: &mut Parsed<'a>,
) -> Result<(), Refusal> {
    let mut letters = text[1..].chars();
    while let Some(letter) = letters.next() {
        let rest = letters.as_str();
        let value = match options.letter(letter) {
            None => return refuse(text, UNLISTED),
            Some(false) => None,
            Some(true) if rest.is_empty() => Some(next_value(text, words)?),
            Some(true) => Some(rest.to_owned()),
        };
        let is_last = value.is_some();
        parsed.options.push((format!("-{letter}"), value));
        // The rest of the word was the value.
        if is_last {
            return Ok(());
        }
    }
    Ok(())
}

/// Takes the next word as the value of the option `given`.
fn next_value<'a>(
    given: &str,
    words: &mut impl Iterator<Item = &'a Word>,
) -> Result<String, Refusal> {
    match words.next() {
        // A version of the program in which the option takes no value would read an option.
        Some(it) if it.value.len() > 1 && it.value.starts_with('-') => refuse(&it.value, UNLISTED),
        Some(it) => Ok(it.value.clone()),
        None => refuse(given, UNLISTED),
    }
}
