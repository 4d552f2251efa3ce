//! What values an option takes, and how that is said in a sentence.
//!
//! Knows no option by name.

use serde_json::Value;

use super::definition::Field;

/// Where a whole number ends that has no end of its own.
pub const MANY: u64 = u32::MAX as u64;

/// The values that an option takes. `nil` leaves every option at its default.
#[derive(Debug)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// `false` alone.
    Off,
    /// Any text.
    Text,
    /// The path of a Lua module: text with a dot.
    Module,
    /// A share of something, such as "50%".
    Share,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A number, from and to, both included.
    Number(f64, f64),
    /// A whole number, from and to, both included.
    Whole(u64, u64),
    /// A function of the user's.
    Function,
    /// A list.
    List(&'static Kind),
    /// A table by names of the user's choice.
    Map(&'static Kind),
    /// A table that is not ours to look into.
    Free,
    /// Options of their own, in groups.
    Table(&'static [&'static [Field]]),
    /// Likewise, beside tables of their own for tools we cannot know.
    Tools(&'static [&'static [Field]]),
    /// Whatever one of these takes.
    Any(&'static [Kind]),
}

impl Kind {
    /// The options of a table.
    pub fn fields(&self) -> Option<impl Iterator<Item = &'static Field> + use<>> {
        match self {
            Self::Table(groups) | Self::Tools(groups) => {
                Some(groups.iter().flat_map(|group| group.iter()))
            }
            _ => None,
        }
    }

    /// The words that it takes, where these are few.
    pub fn values(&self) -> Vec<String> {
        match self {
            Self::Flag => ["true", "false"].map(str::to_owned).into(),
            Self::Off => vec!["false".to_owned()],
            Self::Choice(words) => words.iter().map(|&word| word.to_owned()).collect(),
            Self::Any(kinds) => kinds.iter().flat_map(Self::values).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether the value is one of these. Tables are looked at by whoever asks,
    /// because of them a part can be right.
    pub fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Flag, Value::Bool(_)) | (Self::Off, Value::Bool(false)) => true,
            (Self::Text, Value::String(_)) => true,
            (Self::Module, Value::String(text)) => text.contains('.'),
            (Self::Share, Value::String(text)) => share(text).is_some(),
            (Self::Choice(words), Value::String(text)) => words.contains(&text.as_str()),
            (Self::Number(from, to), Value::Number(number)) => number
                .as_f64()
                .is_some_and(|number| (*from..=*to).contains(&number)),
            (Self::Whole(from, to), Value::Number(number)) => number
                .as_u64()
                .is_some_and(|number| (*from..=*to).contains(&number)),
            (Self::Function, Value::Object(map)) => {
                map.len() == 1 && map.get("function").is_some_and(Value::is_u64)
            }
            (Self::List(kind), Value::Array(list)) => list.iter().all(|item| kind.takes(item)),
            (Self::Any(kinds), value) => kinds.iter().any(|kind| kind.takes(value)),
            (Self::Map(_) | Self::Free | Self::Table(_) | Self::Tools(_), Value::Object(_)) => true,
            // An empty Lua table arrives as an empty list.
            (Self::Map(_) | Self::Free | Self::Table(_) | Self::Tools(_), Value::Array(list)) => {
                list.is_empty()
            }
            _ => false,
        }
    }

    /// What it must be, as the end of a sentence.
    pub fn words(&self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Off => "false".to_owned(),
            Self::Text => "a string".to_owned(),
            Self::Module => "the path of a module".to_owned(),
            Self::Share => "a share such as \"50%\"".to_owned(),
            Self::Choice(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                either(&quoted)
            }
            Self::Number(from, to) => format!("a number from {from} to {to}"),
            Self::Whole(from, to) if *to >= MANY => format!("a whole number from {from}"),
            Self::Whole(from, to) => format!("a whole number from {from} to {to}"),
            Self::Function => "a function".to_owned(),
            Self::List(kind) if matches!(kind, Self::Choice(_)) => {
                format!("a list of {}", kind.words())
            }
            Self::List(kind) => format!("a list of {}", kind.plural()),
            Self::Map(_) | Self::Free | Self::Table(_) | Self::Tools(_) => "a table".to_owned(),
            Self::Any(kinds) => {
                let words: Vec<String> = kinds.iter().map(Self::words).collect();
                either(&words)
            }
        }
    }

    fn plural(&self) -> &'static str {
        match self {
            Self::Text => "strings",
            _ => "such values",
        }
    }
}

/// What "50%" says: whole percents, from 1 to 100.
pub fn share(text: &str) -> Option<u8> {
    let digits = text.strip_suffix('%')?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let percents = digits.parse().ok().filter(|_| plain)?;
    (1..=100).contains(&percents).then_some(percents)
}

fn either(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}
