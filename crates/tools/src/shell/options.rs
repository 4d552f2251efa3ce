//! Reads a program's arguments by the list of options that it may be given.
//!
//! Pure. Options are matched in full; an abbreviation, an unknown option, or an option
//! behind an operand where programs disagree about its meaning is an error.

use super::words::Word;

/// The argument that keeps a command from running unasked, and what it could do.
pub(super) type Refusal = (String, &'static str);

pub(super) const RUN: &str = "run other programs";
pub(super) const UNLISTED: &str =
    "do more than read: only options on the list are approved (:help flemma-shell-safe)";
pub(super) const OPEN: &str =
    "expand to an option or an operator; begin the pattern with ./ or a folder";
const MANY: &str = "expand to several words where one is meant";

/// How many operands a program takes, and what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// None.
    None,
    /// Text that is no path, without patterns.
    Text,
    /// At most so many paths.
    Paths(usize),
}

/// Any number of paths.
pub(super) const ANY: Operands = Operands::Paths(usize::MAX);

/// Whether an option has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// It has none.
    No,
    /// It has one: behind `=`, in the same word, or in the next.
    Yes,
    /// It may have one, behind `=` only.
    Maybe,
}

/// The options that a program may be given.
///
/// Its text holds words: `-abc` are letters without a value, `-k=` is a letter with one,
/// `--name`, `--name=` and `--name?` are long names without, with, and with an optional
/// value; so is `-M?`. `-#` allows `-5`, and `+#` allows `+5`. After `exact`, letters are not joined to
/// each other or to values: the program reads words of several letters in its own way.
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

    /// What the list says about a letter.
    fn letter(self, letter: char) -> Option<Value> {
        self.words().find_map(|word| {
            let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'))?;
            if matches!(letter, '#' | '=' | '-') {
                return None;
            }
            let is_it = |one: &str| one.chars().eq([letter]);
            match (letters.strip_suffix('='), letters.strip_suffix('?')) {
                (Some(one), _) => is_it(one).then_some(Value::Yes),
                (_, Some(one)) => is_it(one).then_some(Value::Maybe),
                _ => letters.contains(letter).then_some(Value::No),
            }
        })
    }

    /// What the list says about a long name.
    fn name(self, name: &str) -> Option<Value> {
        self.words().find_map(|word| {
            let listed = word.strip_prefix("--")?;
            let (listed, value) = match (listed.strip_suffix('='), listed.strip_suffix('?')) {
                (Some(it), _) => (it, Value::Yes),
                (_, Some(it)) => (it, Value::Maybe),
                _ => (listed, Value::No),
            };
            (listed == name).then_some(value)
        })
    }

    fn has(self, word: &str) -> bool {
        self.words().any(|it| it == word)
    }

    /// Each option of the list, as it is written, and whether it takes a value.
    #[cfg(test)]
    pub(super) fn all(self) -> Vec<(String, Value)> {
        let mut all = Vec::new();
        for word in self.words() {
            match word {
                "exact" => {}
                "-#" => all.push(("-3".to_owned(), Value::No)),
                "+#" => all.push(("+3".to_owned(), Value::No)),
                long if long.starts_with("--") => {
                    let name = long.trim_end_matches(['=', '?']);
                    let value = match long.chars().last() {
                        Some('=') => Value::Yes,
                        Some('?') => Value::Maybe,
                        _ => Value::No,
                    };
                    all.push((name.to_owned(), value));
                }
                letters if letters.ends_with(['=', '?']) => {
                    let value = if letters.ends_with('=') {
                        Value::Yes
                    } else {
                        Value::Maybe
                    };
                    all.push((letters[..2].to_owned(), value));
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

/// Arguments, read.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    /// Options by their letters or long names, with their values.
    pub options: Vec<(String, Option<String>)>,
    /// The other words.
    pub operands: Vec<&'a Word>,
    /// Whether an option or `--` follows an operand: some programs take it for one, too.
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

/// Reads arguments.
///
/// # Errors
///
/// An option is not on the list, or a pattern matches one.
pub(super) fn parse(arguments: &[Word], options: Options) -> Result<Parsed<'_>, Refusal> {
    let mut parsed = Parsed::default();
    let mut words = arguments.iter();
    let mut only_operands = false;
    while let Some(word) = words.next() {
        let value = word.value.as_str();
        if word.is_open() {
            return refuse(value, OPEN);
        }
        let is_number = |sign: char| {
            let digits = value.strip_prefix(sign).unwrap_or_default();
            !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit())
        };
        if only_operands {
            parsed.operands.push(word);
        } else if value == "--" {
            parsed.is_mixed |= !parsed.operands.is_empty();
            only_operands = true;
        } else if (options.has("-#") && is_number('-')) || (options.has("+#") && is_number('+')) {
            parsed
                .options
                .push((value[..1].to_owned(), Some(value[1..].to_owned())));
        } else if !word.is_option() {
            parsed.operands.push(word);
        } else {
            if word.is_pattern() {
                return refuse(value, OPEN);
            }
            parsed.is_mixed |= !parsed.operands.is_empty();
            option(word, options, &mut words, &mut parsed)?;
        }
    }
    Ok(parsed)
}

/// Reads one word of options, and the next when it is a value.
fn option<'a>(
    word: &Word,
    options: Options,
    words: &mut impl Iterator<Item = &'a Word>,
    parsed: &mut Parsed<'a>,
) -> Result<(), Refusal> {
    let text = word.value.as_str();
    let mut next = |given: &str| match words.next() {
        Some(it) if it.is_pattern() => refuse(&it.value, MANY),
        // A program that takes no value here would read it as an option.
        Some(it) if it.is_option() && !is_negative(&it.value) => refuse(&it.value, UNLISTED),
        Some(it) => Ok(it.value.clone()),
        None => refuse(given, UNLISTED),
    };
    if let Some(long) = text.strip_prefix("--") {
        let (name, given) = match long.split_once('=') {
            Some((name, given)) => (name, Some(given.to_owned())),
            None => (long, None),
        };
        let value = match (options.name(name), given) {
            (Some(Value::No | Value::Maybe), None) => None,
            (Some(Value::Yes | Value::Maybe), Some(given)) => Some(given),
            (Some(Value::Yes), None) => Some(next(text)?),
            _ => return refuse(text, UNLISTED),
        };
        parsed.options.push((format!("--{name}"), value));
        return Ok(());
    }
    let mut letters = text[1..].chars();
    if options.has("exact") && letters.as_str().chars().count() > 1 {
        return refuse(text, UNLISTED);
    }
    while let Some(letter) = letters.next() {
        let name = format!("-{letter}");
        match options.letter(letter) {
            Some(Value::No) => parsed.options.push((name, None)),
            Some(Value::Maybe) => {
                parsed
                    .options
                    .push((name, Some(letters.as_str().to_owned())));
                return Ok(());
            }
            Some(Value::Yes) => {
                let rest = letters.as_str();
                let value = if rest.is_empty() {
                    next(text)?
                } else {
                    rest.to_owned()
                };
                parsed.options.push((name, Some(value)));
                return Ok(());
            }
            None => return refuse(text, UNLISTED),
        }
    }
    Ok(())
}

fn is_negative(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit())
}
