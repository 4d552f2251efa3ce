//! Validates the options of a layer and reports invalid ones.
//!
//! Valid options apply even if others are invalid. Does not check whether a name in a list is
//! that of a tool.

use std::fmt;

use chat::{did_you_mean, suggest};
use serde_json::{Map, Value};

use super::kind::{OptionKind, hosts};
use super::rows::ROOT;
use super::{OptionDef, Scope, find_in_chat};

/// An option that does not apply, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidOption {
    /// Its path; empty for the table of all options.
    pub path: String,
    /// The error and a correct value, in sentences that name the path.
    pub message: String,
    /// The user's word that is invalid: a name or a text.
    pub word: Option<String>,
    /// The option of the same table that was probably meant.
    pub meant: Option<&'static str>,
}

impl InvalidOption {
    /// Creates an error from sentences that name `path`.
    pub fn new(path: &str, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            message: message.into(),
            word: None,
            meant: None,
        }
    }

    /// Sets the user's word that is invalid.
    pub fn of_word(mut self, word: &str) -> Self {
        self.word = Some(word.to_owned());
        self
    }

    /// Returns true if the option is `table`, is in it, or was probably meant to be.
    pub(crate) fn is_about(&self, table: &str) -> bool {
        let inner = self.path.strip_prefix(table);
        let is_inside = inner.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        // `sandbx = false` must count against the sandbox, which the user meant to configure.
        is_inside || self.meant == Some(table)
    }
}

impl std::error::Error for InvalidOption {}

impl fmt::Display for InvalidOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Returns the part of `given` that a layer may set and that fits, and what is invalid.
pub fn check(given: &Value, scope: Scope) -> (Value, Vec<InvalidOption>) {
    let mut check = Check::new(scope);
    let fitting = check.value(&ROOT, false, given, "");
    (fitting.unwrap_or(Value::Null), check.invalid)
}

/// Returns the part of `given` that fits an option or table, and what is invalid.
/// Messages name it `path`.
pub(crate) fn check_value(
    option: &'static OptionDef,
    path: &str,
    given: &Value,
    scope: Scope,
) -> (Option<Value>, Vec<InvalidOption>) {
    let mut check = Check::new(scope);
    let fitting = check.option(option, given, path);
    (fitting, check.invalid)
}

/// Describes a name that no option has; `known` are the names that exist.
pub fn unknown(path: &str, name: &str, known: &[&'static str]) -> InvalidOption {
    let meant = suggest(name, known.iter().copied());
    let hint = match meant {
        Some(meant) => format!(" Did you mean \"{meant}\"?"),
        // A layer that may set nothing there has no list to show.
        None if known.is_empty() => String::new(),
        None => format!(" Options: {}.", known.join(", ")),
    };
    let message = format!("There is no option \"{path}\".{hint}");
    InvalidOption {
        meant: meant.and_then(|meant| known.iter().find(|it| **it == meant).copied()),
        ..InvalidOption::new(path, message).of_word(name)
    }
}

/// Describes an option or table that a layer cannot set; `None` if it can.
pub(crate) fn out_of_scope(option: &OptionDef, path: &str, scope: Scope) -> Option<InvalidOption> {
    if option.is_in(scope) {
        return None;
    }
    // A chat leaves out `parameters.`, which the user has to write there.
    let full = find_in_chat(path).map_or_else(|| path.to_owned(), |(full, _)| full);
    let message = format!("{full} can only be set in setup() or the configuration file.");
    Some(InvalidOption::new(path, message).of_word(option.name))
}

/// The validation of one layer.
struct Check {
    scope: Scope,
    invalid: Vec<InvalidOption>,
}

impl Check {
    fn new(scope: Scope) -> Self {
        Self {
            scope,
            invalid: Vec::new(),
        }
    }

    fn option(&mut self, option: &OptionDef, given: &Value, path: &str) -> Option<Value> {
        if let Some(invalid) = out_of_scope(option, path, self.scope) {
            self.invalid.push(invalid);
            return None;
        }
        self.value(&option.kind, option.secret, given, path)
    }

    fn value(
        &mut self,
        kind: &OptionKind,
        secret: bool,
        given: &Value,
        path: &str,
    ) -> Option<Value> {
        // Every option may be absent.
        if given.is_null() {
            return None;
        }
        if !kind.takes(given) {
            self.invalid.push(mismatch(kind, secret, given, path));
            return None;
        }
        match (kind, given) {
            (OptionKind::Map(each), Value::Object(map)) => {
                let fitting = map.iter().filter_map(|(name, value)| {
                    // One invalid entry must not discard the others.
                    let inner = self.value(each, secret, value, &format!("{path}.{name}"))?;
                    Some((name.clone(), inner))
                });
                Some(Value::Object(fitting.collect()))
            }
            (OptionKind::Table(_) | OptionKind::Tools(_), Value::Object(map)) => {
                Some(self.table(kind, map, path))
            }
            (OptionKind::Any(kinds), _) => {
                // The first kind that takes the value decides how the rest of it is checked.
                let kind = kinds.iter().find(|kind| kind.takes(given))?;
                self.value(kind, secret, given, path)
            }
            (OptionKind::Free, Value::Object(map)) => {
                let is_finite = self.check_numbers(map, path);
                is_finite.then(|| given.clone())
            }
            // An empty Lua table arrives as an empty list, but later layers are laid over an
            // object.
            _ if kind.is_table() && given.is_array() => Some(Value::Object(Map::new())),
            _ => Some(given.clone()),
        }
    }

    fn table(&mut self, kind: &OptionKind, given: &Map<String, Value>, path: &str) -> Value {
        let mut result = Map::new();
        for (name, value) in given {
            let inner = join(path, name);
            let mut fields = kind.fields().into_iter().flatten();
            if let Some(field) = fields.find(|field| field.name == name) {
                let value = self.option(field, value, &inner);
                result.extend(value.map(|value| (name.clone(), value)));
                continue;
            }
            let fields = kind.fields().into_iter().flatten();
            let known = fields.filter(|field| field.is_in(self.scope));
            let known: Vec<&str> = known.map(|field| field.name).collect();
            let unknown = unknown(&inner, name, &known);
            // A tool that is registered elsewhere may have a table of its own there.
            let may_be_of_a_tool =
                matches!(kind, OptionKind::Tools(_)) && OptionKind::Free.takes(value);
            // A table with nearly the name of an option is a typing error, not a tool.
            if !may_be_of_a_tool || unknown.meant.is_some() {
                self.invalid.push(unknown);
            } else if let Some(table) = value.as_object() {
                self.check_numbers(table, &inner);
            }
        }
        Value::Object(result)
    }

    /// Reports numbers in a free-form table that are infinite or NaN. Returns true if there is
    /// none.
    fn check_numbers(&mut self, given: &Map<String, Value>, path: &str) -> bool {
        let before = self.invalid.len();
        for (name, value) in given {
            self.check_finite(value, &join(path, name));
        }
        self.invalid.len() == before
    }

    fn check_finite(&mut self, value: &Value, path: &str) {
        if let Some(number) = not_finite(value) {
            let message = format!("{path} is {number}; it must be a finite number.");
            self.invalid.push(InvalidOption::new(path, message));
            return;
        }
        match value {
            Value::Object(map) => {
                self.check_numbers(map, path);
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.check_finite(item, &format!("{path}.{}", at + 1));
                }
            }
            _ => {}
        }
    }
}

/// Values that options no longer have, and those that do the same now.
const FORMER: [(&str, &str, &str); 1] = [("tools.review", "auto", "none")];

fn mismatch(kind: &OptionKind, secret: bool, given: &Value, path: &str) -> InvalidOption {
    if let (OptionKind::List(OptionKind::Choice(known)), Value::Array(list)) = (kind, given)
        && let Some(word) = list
            .iter()
            .filter_map(Value::as_str)
            .find(|it| !known.contains(it))
    {
        let meant = did_you_mean(word, known.iter().copied());
        let message = format!("{path}: unknown value \"{word}\".{meant}");
        return InvalidOption::new(path, message).of_word(word);
    }
    if let (OptionKind::Hosts, Some(Err(problem))) = (kind, hosts(given)) {
        return InvalidOption::new(path, format!("{path}: {problem}"));
    }
    let whole = if path.is_empty() {
        "The table given to setup()"
    } else {
        path
    };
    let words = kind.values();
    // A suggestion quotes the word, and this may be a key.
    let word = given.as_str().filter(|_| !secret);
    let meant = word.map_or_else(String::new, |word| {
        did_you_mean(word, words.iter().map(String::as_str))
    });
    let former = FORMER.iter().find(|it| (it.0, Some(it.1)) == (path, word));
    let now = former.map_or_else(String::new, |(_, former, now)| {
        format!(" \"{now}\" does what \"{former}\" did.")
    });
    let shown = shown(given, secret);
    let message = format!(
        "{whole} is {shown}; it must be {}.{meant}{now}",
        kind.words()
    );
    let invalid = InvalidOption::new(path, message);
    match word {
        Some(word) => invalid.of_word(word),
        None => invalid,
    }
}

/// Returns a value as a message shows it: shortened, and a secret only by its type.
fn shown(value: &Value, secret: bool) -> String {
    const LENGTH: usize = 60;
    // Neovim's marker for a function means nothing to the user.
    if value.get("function").is_some_and(Value::is_u64) {
        return "a function".to_owned();
    }
    if let Some(number) = not_finite(value) {
        return number.to_owned();
    }
    if secret {
        let kind = match value {
            Value::Array(_) | Value::Object(_) => "a table",
            Value::Number(_) => "a number",
            Value::Bool(_) => "a boolean",
            Value::String(_) | Value::Null => "a string",
        };
        return kind.to_owned();
    }
    let text = value.to_string();
    match text.char_indices().nth(LENGTH) {
        // A long value would push what it must be out of the message.
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns the spelling of a number that JSON cannot represent. Layers write it as
/// `{"not_finite": "inf"}`, so that it is reported instead of becoming null.
fn not_finite(value: &Value) -> Option<&str> {
    let table = value.as_object().filter(|table| table.len() == 1)?;
    table.get("not_finite")?.as_str()
}

/// Returns the path of `name` below `path`, which is empty at the top.
pub(crate) fn join(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    }
}

/// Lays `over` on `target`: tables are merged, all other values replaced.
pub fn lay_over(target: &mut Value, over: Value) {
    match (target, over) {
        (Value::Object(target), Value::Object(over)) => {
            for (name, value) in over {
                match target.get_mut(&name) {
                    Some(inner) => lay_over(inner, value),
                    None => drop(target.insert(name, value)),
                }
            }
        }
        (target, over) => *target = over,
    }
}
