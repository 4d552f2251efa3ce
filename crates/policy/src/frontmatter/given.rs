//! Values that Lua and JSON assign to an option, and that they read from it.
//!
//! Knows no option by name.

use serde_json::Value;

use super::list::{List, Which};
use crate::options::InvalidOption;

/// Maximum bytes of the name of an option, a tool, or a preset.
pub const MAX_NAME: usize = 128;

/// Shortens a text for quoting in a message.
pub fn shown(text: &str) -> String {
    // By characters: a cut inside one would panic.
    match text.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A value assigned to an option.
#[derive(Debug, Clone)]
pub enum Given {
    /// nil: the option is as if it had never been set.
    Nothing,
    /// A plain value.
    Value(Value),
    /// The value of a list option, changed or not.
    List(List),
    /// A function; the evaluator keeps it.
    Function,
}

/// The value of an option, as Lua reads it.
#[derive(Debug, Clone)]
pub enum SetValue {
    /// Nothing was set.
    Nothing,
    /// A plain value.
    Value(Value),
    /// A list option.
    List(Which),
    /// The policy function that was assigned.
    Function,
    /// A table of options with this path.
    Table(String),
}

/// Returns the names in a list.
///
/// # Errors
///
/// The value is not a list, or contains something other than names.
pub fn name_list(path: &str, value: &Value) -> Result<Vec<String>, InvalidOption> {
    let wrong = |value: &Value| {
        let what = format!(
            "{path} is {}; it must be a list of names.",
            shown(&value.to_string())
        );
        match value.as_str() {
            Some(word) => InvalidOption::new(path, what).of_word(word),
            None => InvalidOption::new(path, what),
        }
    };
    let items = value.as_array().ok_or_else(|| wrong(value))?;
    let name = |item: &Value| item.as_str().map(str::to_owned);
    let names = items
        .iter()
        .map(|item| name(item).ok_or_else(|| wrong(value)));
    names.collect()
}

/// Returns the assigned value as JSON; `None` for nil.
///
/// # Errors
///
/// The value is a function.
pub fn plain(path: &str, given: Given) -> Result<Option<Value>, InvalidOption> {
    match given {
        Given::Nothing => Ok(None),
        Given::Value(value) => Ok(Some(value)),
        Given::List(list) => Ok(Some(list.names.into())),
        Given::Function => {
            let what = format!("{path} cannot be a function.");
            Err(InvalidOption::new(path, what))
        }
    }
}
