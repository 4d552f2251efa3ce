//! The values that an option takes, and how a message describes them.
//!
//! Knows no option by name.

use serde_json::Value;
use tools::HostList;

use super::OptionDef;

/// Maximum of a whole number whose option has no limit.
pub const MANY: u64 = u32::MAX as u64;

/// The values that an option takes. `nil` leaves every option at its default.
#[derive(Debug)]
pub enum OptionKind {
    /// `true` or `false`.
    Flag,
    /// `false` alone.
    Off,
    /// Any text.
    Text,
    /// The path of a Lua module: text with a dot.
    Module,
    /// A percentage such as "50%".
    Share,
    /// Text that becomes a part of an address, without characters that change its meaning.
    AddressPart,
    /// A list of hosts, which [`HostList::read`] parses.
    Hosts,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A number, from and to, both included.
    Number(f64, f64),
    /// A whole number, from and to, both included.
    Whole(u64, u64),
    /// A function of the user.
    Function,
    /// A list.
    List(&'static OptionKind),
    /// A table whose names the user chooses.
    Map(&'static OptionKind),
    /// A free-form table of the user.
    Free,
    /// A table of options, in groups.
    Table(&'static [&'static [OptionDef]]),
    /// The same, plus tables for tools that are registered elsewhere.
    Tools(&'static [&'static [OptionDef]]),
    /// Any value that one of these kinds takes.
    Any(&'static [OptionKind]),
}

impl OptionKind {
    /// Returns the options of a table.
    pub fn fields(&self) -> Option<impl Iterator<Item = &'static OptionDef> + use<>> {
        match self {
            Self::Table(groups) | Self::Tools(groups) => {
                Some(groups.iter().flat_map(|group| group.iter()))
            }
            _ => None,
        }
    }

    /// Returns the words that it takes, if they are few.
    pub fn values(&self) -> Vec<String> {
        match self {
            Self::Flag => ["true", "false"].map(str::to_owned).into(),
            Self::Off => vec!["false".to_owned()],
            Self::Choice(words) => words.iter().map(|&word| word.to_owned()).collect(),
            Self::Any(kinds) => kinds.iter().flat_map(Self::values).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns true if the value fits. The caller checks the content of a table, because parts
    /// of it may be valid.
    pub fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Flag, Value::Bool(_)) | (Self::Off, Value::Bool(false)) => true,
            (Self::Text, Value::String(_)) => true,
            (Self::Module, Value::String(text)) => text.contains('.'),
            (Self::Share, Value::String(text)) => share(text).is_some(),
            (Self::AddressPart, Value::String(text)) => is_address_part(text),
            (Self::Hosts, list) => hosts(list).is_some_and(|it| it.is_ok()),
            (Self::Choice(words), Value::String(text)) => words.contains(&text.as_str()),
            (Self::Number(from, to), Value::Number(number)) => number
                .as_f64()
                .is_some_and(|number| (*from..=*to).contains(&number)),
            (Self::Whole(from, to), Value::Number(number)) => number
                .as_u64()
                .is_some_and(|number| (*from..=*to).contains(&number)),
            // Functions stay in Neovim, which sends a number in their place.
            (Self::Function, Value::Object(map)) => {
                map.len() == 1 && map.get("function").is_some_and(Value::is_u64)
            }
            (Self::List(kind), Value::Array(list)) => list.iter().all(|item| kind.takes(item)),
            (Self::Any(kinds), value) => kinds.iter().any(|kind| kind.takes(value)),
            // This is a marker of `check`, not a table of the user.
            (_, Value::Object(map)) if map.len() == 1 && map.contains_key("not_finite") => false,
            (_, Value::Object(_)) => self.is_table(),
            // An empty Lua table arrives as an empty list.
            (_, Value::Array(list)) => list.is_empty() && self.is_table(),
            _ => false,
        }
    }

    /// Returns true for the kinds that take a table with names.
    pub fn is_table(&self) -> bool {
        matches!(
            self,
            Self::Map(_) | Self::Free | Self::Table(_) | Self::Tools(_)
        )
    }

    /// Returns what a value must be, to follow "it must be".
    pub fn words(&self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Off => "false".to_owned(),
            Self::Text => "a string".to_owned(),
            Self::Module => "the path of a module".to_owned(),
            Self::Share => "a share such as \"50%\"".to_owned(),
            Self::AddressPart => "made of letters, digits, \"-\", \".\" and \":\"".to_owned(),
            Self::Hosts => "a list of hosts".to_owned(),
            Self::Choice(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                either(&quoted)
            }
            Self::Number(from, to) => format!("a number from {from} to {to}"),
            // Such a limit only keeps numbers in range, and would confuse in a message.
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

/// Returns the whole percents, from 1 to 100, that a text such as "50%" names.
pub fn share(text: &str) -> Option<u8> {
    let digits = text.strip_suffix('%')?;
    // `parse` also takes a plus sign.
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let percents = digits.parse().ok().filter(|_| plain)?;
    (1..=100).contains(&percents).then_some(percents)
}

/// Parses a list of hosts; `None` for anything but a list of texts.
pub(super) fn hosts(list: &Value) -> Option<Result<HostList, String>> {
    let list: Vec<String> = serde_json::from_value(list.clone()).ok()?;
    Some(HostList::read(&list))
}

/// Returns true for text that is safe in an address. Old Google projects contain a domain and a
/// colon.
fn is_address_part(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':');
    // Two dots could lead to another path; 64 exceeds the length of any project or region.
    !text.is_empty() && text.len() <= 64 && text.chars().all(allowed) && !text.contains("..")
}

fn either(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FIELDS: &[&[OptionDef]] = &[];

    #[test]
    fn a_kind_takes_its_values_and_no_others() {
        let long = "x".repeat(64);
        for (kind, right, wrong) in [
            (OptionKind::Flag, json!([true, false]), json!([1, "true"])),
            (OptionKind::Off, json!([false]), json!([true, "false"])),
            (OptionKind::Text, json!(["", "x"]), json!([1, true, []])),
            (
                OptionKind::Module,
                json!(["my.module"]),
                json!(["module", 1]),
            ),
            (
                OptionKind::Share,
                json!(["1%", "50%", "100%"]),
                json!(["0%", "101%", "50", "+5%", "%", "1.5%", 50]),
            ),
            (
                OptionKind::AddressPart,
                json!(["a-1", "example.com:x", long]),
                json!(["", "a..b", "a/b", "a b", format!("{long}x"), 1]),
            ),
            (
                OptionKind::Hosts,
                json!([[], ["docs.rs", "*.example.org", "localhost:8080"]]),
                json!([["docs.rs", "http://a/"], [1], "docs.rs", {"a": "b"}]),
            ),
            (
                OptionKind::Choice(&["a", "b"]),
                json!(["a", "b"]),
                json!(["c", 1]),
            ),
            (
                OptionKind::Number(0.5, 2.0),
                json!([0.5, 1, 2]),
                json!([0.4, 2.1, "1"]),
            ),
            (
                OptionKind::Whole(1, 3),
                json!([1, 3]),
                json!([0, 4, 1.5, -1, "1"]),
            ),
            (
                OptionKind::Function,
                json!([{"function": 1}]),
                json!([{"function": "x"}, {"function": 1, "x": 1}, {"x": 1}, {}, 1]),
            ),
            (
                OptionKind::List(&OptionKind::Flag),
                json!([[], [true, false]]),
                json!([[1], {}, {"x": true}, true]),
            ),
            (
                OptionKind::Any(&[OptionKind::Off, OptionKind::Whole(1, 1)]),
                json!([false, 1]),
                json!([true, 0]),
            ),
            (
                OptionKind::Table(FIELDS),
                json!([{}, [], {"x": 1, "not_finite": 1}, {"x": 1}]),
                json!([1, [1], {"not_finite": "inf"}]),
            ),
            (OptionKind::Tools(FIELDS), json!([{}, []]), json!([1, "x"])),
            (
                OptionKind::Map(&OptionKind::Flag),
                json!([{}, [], {"x": 3}]),
                json!([1, [1]]),
            ),
            (
                OptionKind::Free,
                json!([{}, [], {"x": [1]}]),
                json!([1, [1]]),
            ),
        ] {
            let takes = |value: &&Value| kind.takes(value);
            let not_taken: Vec<_> = values(&right).filter(|it| !takes(it)).collect();
            assert!(not_taken.is_empty(), "{kind:?} takes {not_taken:?}");
            let taken: Vec<_> = values(&wrong).filter(takes).collect();
            assert!(taken.is_empty(), "{kind:?} does not take {taken:?}");
        }
    }

    fn values(list: &Value) -> impl Iterator<Item = &Value> {
        list.as_array().into_iter().flatten()
    }

    #[test]
    fn the_percents_of_a_share_are_read() {
        assert_eq!(
            [share("7%"), share("100%"), share("0%")],
            [Some(7), Some(100), None]
        );
    }

    #[test]
    fn only_tables_have_names_and_only_tables_of_options_have_fields() {
        for (kind, is_table, has_fields) in [
            (OptionKind::Table(FIELDS), true, true),
            (OptionKind::Tools(FIELDS), true, true),
            (OptionKind::Map(&OptionKind::Text), true, false),
            (OptionKind::Free, true, false),
            (OptionKind::List(&OptionKind::Text), false, false),
            (OptionKind::Any(&[OptionKind::Free]), false, false),
            (OptionKind::Text, false, false),
        ] {
            assert_eq!(kind.is_table(), is_table, "{kind:?}");
            assert_eq!(kind.fields().is_some(), has_fields, "{kind:?}");
        }
    }

    #[test]
    fn a_kind_with_few_values_lists_them() {
        for (kind, expected) in [
            (OptionKind::Flag, &["true", "false"][..]),
            (OptionKind::Off, &["false"]),
            (OptionKind::Choice(&["a", "b"]), &["a", "b"]),
            (
                OptionKind::Any(&[
                    OptionKind::Choice(&["a"]),
                    OptionKind::Text,
                    OptionKind::Off,
                ]),
                &["a", "false"],
            ),
            (OptionKind::Text, &[]),
            (OptionKind::Whole(1, 2), &[]),
        ] {
            assert_eq!(kind.values(), expected, "{kind:?}");
        }
    }

    #[test]
    fn a_message_says_what_a_value_must_be() {
        const CHOICE: OptionKind = OptionKind::Choice(&["a", "b", "c"]);
        for (kind, expected) in [
            (OptionKind::Flag, "true or false"),
            (OptionKind::Off, "false"),
            (OptionKind::Text, "a string"),
            (OptionKind::Module, "the path of a module"),
            (OptionKind::Share, "a share such as \"50%\""),
            (
                OptionKind::AddressPart,
                "made of letters, digits, \"-\", \".\" and \":\"",
            ),
            (CHOICE, "\"a\", \"b\" or \"c\""),
            (OptionKind::Choice(&["a"]), "\"a\""),
            (OptionKind::Number(0.5, 2.0), "a number from 0.5 to 2"),
            (OptionKind::Whole(1, 3), "a whole number from 1 to 3"),
            (OptionKind::Whole(1, MANY), "a whole number from 1"),
            (OptionKind::Function, "a function"),
            (OptionKind::List(&OptionKind::Text), "a list of strings"),
            (OptionKind::List(&OptionKind::Flag), "a list of such values"),
            (OptionKind::List(&CHOICE), "a list of \"a\", \"b\" or \"c\""),
            (OptionKind::Map(&OptionKind::Text), "a table"),
            (OptionKind::Free, "a table"),
            (OptionKind::Table(FIELDS), "a table"),
            (OptionKind::Tools(FIELDS), "a table"),
            (
                OptionKind::Any(&[OptionKind::Text, OptionKind::Off]),
                "a string or false",
            ),
        ] {
            assert_eq!(kind.words(), expected);
        }
    }
}
