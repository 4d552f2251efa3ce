//! What a language hands to an option, and gets back from it.
//!
//! The shapes that Lua and JSON have in common. Knows no option by name.

use serde_json::{Map, Value};

use super::check::mismatch;
use super::list::{List, Which};
use super::names::{self, Refusal, join};

/// What is assigned to an option.
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

/// What stands at an option.
#[derive(Debug, Clone)]
pub enum Entry {
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

/// The names in a list that was written out.
///
/// # Errors
///
/// It is no list, or holds something else than names.
pub fn name_list(path: &str, value: &Value) -> Result<Vec<String>, Refusal> {
    let wrong = |value: &Value| Err(mismatch(path, value, "it is a list of names", &[]));
    let Value::Array(items) = value else {
        return wrong(value);
    };
    let mut names = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Value::String(name) => names.push(name.clone()),
            other => {
                return Err(Refusal::new(format!(
                    "{path} holds {}, and it is a list of names.",
                    names::shown(&other.to_string())
                )));
            }
        }
    }
    Ok(names)
}

/// What was assigned as a plain value; absent for nil.
///
/// # Errors
///
/// A function is no value of `path`.
pub fn plain(path: &str, given: Given) -> Result<Option<Value>, Refusal> {
    match given {
        Given::Nothing => Ok(None),
        Given::Value(value) => Ok(Some(value)),
        Given::List(list) => Ok(Some(list.names.into())),
        Given::Function => Err(Refusal::new(format!("{path} cannot be a function."))),
    }
}

/// `given` as a table with the one key `name`.
///
/// # Errors
///
/// See [`plain`].
pub fn below(name: &str, given: Given) -> Result<Given, Refusal> {
    let value = plain(&join("sandbox", name), given)?.unwrap_or(Value::Null);
    let table = Map::from_iter([(name.to_owned(), value)]);
    Ok(Given::Value(Value::Object(table)))
}
