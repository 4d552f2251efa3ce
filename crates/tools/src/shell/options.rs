//! Parses a program's arguments against the options it is approved with.
//!
//! Pure. Option names must match in full. An abbreviation or an unknown option is an error,
//! and so is an option after an operand if programs disagree about its meaning.

use super::words::Word;

/// The argument that prevents approval, and what the program could do with it.
pub(super) type Refusal = (String, &'static str);

pub(super) const RUN: &str = "run other programs";
pub(super) const UNLISTED: &str =
    "do more than read: only options on the list are approved (:help flemma-shell-safe)";
pub(super) const OPEN: &str =
    "expand to an option or an operator; begin the pattern with ./ or a folder";
const MANY: &str = "expand to several words where one is meant";

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

/// The kind and number of operands that a program takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// None.
    None,
    /// Text that is not a path, without patterns.
    Text,
    /// Paths, up to this number.
    Paths(usize),
}

/// Any number of paths.
pub(super) const ANY: Operands = Operands::Paths(usize::MAX);

/// Whether an option takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// It takes none.
    No,
    /// It takes one: after `=`, in the same word, or in the next word.
    Yes,
    /// It may take one, but only after `=`.
    Maybe,
}

impl Value {
    /// Splits an entry of a list into its name and whether it takes a value.
    fn of(listed: &str) -> (&str, Self) {
        match (listed.strip_suffix('='), listed.strip_suffix('?')) {
            (Some(name), _) => (name, Self::Yes),
            (_, Some(name)) => (name, Self::Maybe),
            _ => (listed, Self::No),
        }
    }
}

/// The options that a program is approved with, as lists of words.
///
/// `-abc` are letters without a value, and `-k=` is a letter with one. `--name`, `--name=`, and
/// `--name?` are long names without, with, and with an optional value; so is `-M?`. `-#` allows
/// `-5`, and `+#` allows `+5`. With `exact`, a letter must be a word of its own, because the
/// program reads words of several letters differently.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options([&'static str; 3]);

impl Options {
    /// Options from one list.
    pub(super) const fn new(list: &'static str) -> Self {
        Self([list, "", ""])
    }

    /// Options from up to three lists.
    pub(super) fn of(lists: &[&'static str]) -> Self {
        let at = |at| lists.get(at).copied().unwrap_or_default();
        Self([at(0), at(1), at(2)])
    }

    fn words(self) -> impl Iterator<Item = &'static str> {
        self.0.into_iter().flat_map(str::split_whitespace)
    }

    /// Whether an option letter takes a value; `None` if it is not listed.
    fn letter(self, letter: char) -> Option<Value> {
        // These have a meaning of their own in the list.
        if matches!(letter, '#' | '=' | '-') {
            return None;
        }
        self.words().find_map(|word| {
            let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'))?;
            let (letters, value) = Value::of(letters);
            let is_it = match value {
                Value::No => letters.contains(letter),
                Value::Yes | Value::Maybe => letters.chars().eq([letter]),
            };
            is_it.then_some(value)
        })
    }

    /// Whether a long option takes a value; `None` if it is not listed.
    fn name(self, name: &str) -> Option<Value> {
        self.words().find_map(|word| {
            let (listed, value) = Value::of(word.strip_prefix("--")?);
            (listed == name).then_some(value)
        })
    }

    fn has(self, word: &str) -> bool {
        self.words().any(|it| it == word)
    }

    /// All options of the lists as they are typed, and whether they take a value.
    #[cfg(test)]
    pub(super) fn all(self) -> Vec<(String, Value)> {
        let mut all = Vec::new();
        for word in self.words() {
            match word {
                "exact" => {}
                "-#" => all.push(("-3".to_owned(), Value::No)),
                "+#" => all.push(("+3".to_owned(), Value::No)),
                one if one.starts_with("--") || one.ends_with(['=', '?']) => {
                    let (name, value) = Value::of(one);
                    all.push((name.to_owned(), value));
                }
                letters => {
                    let letters = letters.chars().skip(1);
                    all.extend(letters.map(|it| (format!("-{it}"), Value::No)));
                }
            }
        }
        all
    }
}

/// Parsed arguments.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    /// Options by letter (`-a`) or long name (`--all`), with their values.
    pub options: Vec<(String, Option<String>)>,
    /// The other words.
    pub operands: Vec<&'a Word>,
    /// How many of the operands precede a `--`; `None` without one.
    pub before_dashes: Option<usize>,
    /// Whether an option or `--` follows an operand; some programs take it for an operand.
    pub is_mixed: bool,
}

impl Parsed<'_> {
    /// Whether one of these options is given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options
            .iter()
            .any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The values of an option.
    pub(super) fn values<'b>(&'b self, names: &'b [&str]) -> impl Iterator<Item = &'b str> {
        let given = self.options.iter();
        let given = given.filter(|(name, _)| names.contains(&name.as_str()));
        given.filter_map(|(_, value)| value.as_deref())
    }
}

pub(super) fn refuse<T>(word: &str, could: &'static str) -> Result<T, Refusal> {
    Err((word.to_owned(), could))
}

/// Parses arguments.
///
/// # Errors
///
/// An option is not listed, or a pattern could expand to one.
pub(super) fn parse(arguments: &[Word], options: Options) -> Result<Parsed<'_>, Refusal> {
    let mut parsed = Parsed::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = word.value.as_str();
        if word.is_open() {
            return refuse(value, OPEN);
        }
        if parsed.before_dashes.is_some() {
            parsed.operands.push(word);
        } else if value == "--" {
            parsed.is_mixed |= !parsed.operands.is_empty();
            parsed.before_dashes = Some(parsed.operands.len());
        } else if (options.has("-#") && is_signed('-', value))
            || (options.has("+#") && is_signed('+', value))
        {
            let (sign, number) = value.split_at(1);
            let option = (sign.to_owned(), Some(number.to_owned()));
            parsed.options.push(option);
        } else if !word.is_option() {
            parsed.operands.push(word);
        } else {
            if word.is_pattern() {
                return refuse(value, OPEN);
            }
            parsed.is_mixed |= !parsed.operands.is_empty();
            match value.strip_prefix("--") {
                Some(long) => parsed.options.push(long_option(long, options, &mut words)?),
                None => letters(value, options, &mut words, &mut parsed)?,
            }
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
        (Some(Value::No | Value::Maybe), None) => None,
        (Some(Value::Yes | Value::Maybe), Some(given)) => Some(given),
        (Some(Value::Yes), None) => Some(next_value(&text, words)?),
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
    if options.has("exact") && letters.as_str().chars().count() > 1 {
        return refuse(text, UNLISTED);
    }
    while let Some(letter) = letters.next() {
        let rest = letters.as_str();
        let value = match options.letter(letter) {
            None => return refuse(text, UNLISTED),
            Some(Value::No) => None,
            Some(Value::Yes) if rest.is_empty() => Some(next_value(text, words)?),
            // An optional value can only be in the same word.
            Some(Value::Yes | Value::Maybe) => Some(rest.to_owned()),
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
        Some(it) if it.is_pattern() => refuse(&it.value, MANY),
        // A version of the program in which the option takes no value would read an option.
        Some(it) if it.is_option() && !is_signed('-', &it.value) => refuse(&it.value, UNLISTED),
        Some(it) => Ok(it.value.clone()),
        None => refuse(given, UNLISTED),
    }
}

/// Whether a word is this sign and digits.
fn is_signed(sign: char, word: &str) -> bool {
    let digits = word.strip_prefix(sign).unwrap_or_default();
    !digits.is_empty() && is_digits(digits)
}
