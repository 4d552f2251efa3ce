//! Which values an option takes.
//!
//! Knows the general parameters, the sandbox, and what a provider's table may
//! hold. Where the value was written, and in which language, is not known here.

use serde_json::{Map, Value};

use super::Known;
use super::names::{self, GENERAL, Refusal};
use crate::settings;

/// Unified levels of thinking, from "Per-buffer parameter overrides".
const LEVELS: [&str; 5] = ["minimal", "low", "medium", "high", "max"];
/// OpenAI's words for how much a model thinks, and for how it is summed up.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const SUMMARIES: [&str; 4] = ["auto", "concise", "detailed", "none"];
/// How long a provider keeps a cached prompt.
const RETENTIONS: [&str; 3] = ["none", "short", "long"];
/// Longest wait a document may ask for, in seconds: a day.
const LONGEST_SECONDS: f64 = 86_400.0;
/// Most tokens that an option can name.
const MOST_TOKENS: u64 = u32::MAX as u64;
/// Keys below `sandbox` and below `sandbox.policy`, from "Sandbox" in the reference.
const SANDBOX: [&str; 3] = ["enabled", "backend", "policy"];
const SANDBOX_POLICY: [&str; 3] = ["rw_paths", "network", "allow_privileged"];

/// Judges `value` for the parameter `name`; `path` is how the user wrote it.
///
/// Parameters that no provider of ours has are taken as they are, for providers
/// that somebody registered.
///
/// # Errors
///
/// A value of another type or out of range; the sentence says what is expected.
pub fn parameter(path: &str, name: &str, value: &Value) -> Result<(), Refusal> {
    let (fits, expected, words): (bool, &str, &[&str]) = match name {
        "thinking" => (
            word_of(value, &LEVELS) || *value == Value::Bool(false) || tokens(value, 0),
            "it is \"minimal\", \"low\", \"medium\", \"high\", \"max\", a number of tokens, or false",
            &LEVELS,
        ),
        "cache_retention" => (
            word_of(value, &RETENTIONS),
            "it is \"none\", \"short\" or \"long\"",
            &RETENTIONS,
        ),
        "max_tokens" => (
            tokens(value, 1) || percentage(value),
            "it is a whole number of tokens, or a share of the model's limit such as \"50%\"",
            &[],
        ),
        "temperature" => (
            at_least(value, 0.0) && value.as_f64() <= Some(2.0),
            "it is a number from 0 to 2",
            &[],
        ),
        "timeout" | "connect_timeout" => (
            value
                .as_f64()
                .is_some_and(|it| it > 0.0 && it <= LONGEST_SECONDS),
            "it is a number of seconds above 0",
            &[],
        ),
        "thinking_budget" => (
            tokens(value, 0) || *value == Value::Bool(false),
            "it is a number of tokens, or false",
            &[],
        ),
        "reasoning" => (
            word_of(value, &EFFORTS),
            "it is one of OpenAI's words for it, from \"none\" to \"xhigh\"",
            &EFFORTS,
        ),
        "reasoning_summary" => (
            word_of(value, &SUMMARIES),
            "it is \"auto\", \"concise\", \"detailed\" or \"none\"",
            &SUMMARIES,
        ),
        "location" | "project_id" => (
            value.as_str().is_some_and(plain),
            "it is made of letters, digits and \"-\"",
            &[],
        ),
        _ => (true, "", &[]),
    };
    if fits {
        Ok(())
    } else {
        Err(mismatch(path, value, expected, words))
    }
}

/// Judges the value of `path`, an option with two states.
///
/// # Errors
///
/// Anything but true and false.
pub fn boolean(path: &str, value: &Value) -> Result<bool, Refusal> {
    value
        .as_bool()
        .ok_or_else(|| mismatch(path, value, "it is true or false", &[]))
}

/// Returns the value of `path` when it is one of the names in `known`.
///
/// # Errors
///
/// Another type, or a name that is not in the list; the sentence suggests the nearest one.
pub fn one_of(path: &str, value: &Value, known: &[String]) -> Result<String, Refusal> {
    let words: Vec<&str> = known.iter().map(String::as_str).collect();
    match value.as_str() {
        Some(word) if words.contains(&word) => Ok(word.to_owned()),
        _ => {
            let expected = format!("it is one of {}", words.join(", "));
            Err(mismatch(path, value, &expected, &words))
        }
    }
}

/// Returns the value of `path` when it can name a model, or names a preset of `setup()`.
///
/// # Errors
///
/// Not a name, or a preset that does not exist.
pub fn model(path: &str, value: &Value, known: &Known) -> Result<String, Refusal> {
    let expected = "it is the name of a model, or a $preset";
    match value.as_str() {
        Some(word) if word.starts_with('$') => one_of(path, value, &known.model_presets),
        Some(word) if !word.trim().is_empty() && word.len() <= names::MAX_NAME => {
            Ok(word.to_owned())
        }
        _ => Err(mismatch(path, value, expected, &[])),
    }
}

/// Judges a provider's table, or one value of it when `path` has a name below it.
///
/// # Errors
///
/// A name that never comes from a document, at any depth, or a wrong value.
pub fn provider(path: &str, table: &Map<String, Value>) -> Result<(), Refusal> {
    for (name, value) in table {
        names::never(path, name)?;
        let below = names::join(path, name);
        parameter(&below, name, value)?;
        if let Value::Object(inner) = value {
            provider(&below, inner)?;
        }
    }
    Ok(())
}

/// Judges what `sandbox` is set to: a boolean or a table.
///
/// # Errors
///
/// Another type, a key that does not exist, or one that names a program.
pub fn sandbox(value: &Value) -> Result<Map<String, Value>, Refusal> {
    let table = match value {
        Value::Bool(enabled) => {
            return Ok(Map::from_iter([("enabled".to_owned(), (*enabled).into())]));
        }
        Value::Array(items) if items.is_empty() => Map::new(),
        Value::Object(table) => table.clone(),
        other => {
            let expected = "it is true, false or a table";
            return Err(mismatch("sandbox", other, expected, &[]));
        }
    };
    for (name, value) in &table {
        sandbox_entry(name, value)?;
    }
    Ok(table)
}

fn sandbox_entry(name: &str, value: &Value) -> Result<(), Refusal> {
    match (name, value) {
        ("enabled", _) => boolean("sandbox.enabled", value).map(drop),
        ("backend", _) if word_of(value, &["auto", "required"]) => Ok(()),
        ("backend", _) => Err(mismatch(
            "sandbox.backend",
            value,
            "a document takes \"auto\" or \"required\"; backends are named in setup()",
            &[],
        )),
        ("policy", Value::Object(policy)) => policy
            .iter()
            .try_for_each(|(name, value)| sandbox_policy(name, value)),
        ("policy", Value::Array(items)) if items.is_empty() => Ok(()),
        ("policy", _) => Err(mismatch("sandbox.policy", value, "it is a table", &[])),
        _ => Err(names::unknown_option("sandbox", name, &SANDBOX)),
    }
}

fn sandbox_policy(name: &str, value: &Value) -> Result<(), Refusal> {
    let path = names::join("sandbox.policy", name);
    match name {
        "network" | "allow_privileged" => boolean(&path, value).map(drop),
        "rw_paths" => match value {
            Value::Array(paths) if paths.iter().all(Value::is_string) => Ok(()),
            _ => Err(mismatch(&path, value, "it is a list of paths", &[])),
        },
        _ => Err(names::unknown_option(
            "sandbox.policy",
            name,
            &SANDBOX_POLICY,
        )),
    }
}

/// The sentence for a value that does not fit.
pub fn mismatch(path: &str, value: &Value, expected: &str, words: &[&str]) -> Refusal {
    let shown = match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
        Value::Null => "null".to_owned(),
        scalar => names::shown(&scalar.to_string()),
    };
    let meant = value
        .as_str()
        .map_or_else(String::new, |it| names::nearest(it, words.iter().copied()));
    let what = format!("{path} cannot be {shown}: {expected}.{meant}");
    match value.as_str() {
        Some(word) => Refusal::of(word, what),
        None => Refusal::new(what),
    }
}

/// Whether `name` is a parameter that every provider knows.
pub fn is_general(name: &str) -> bool {
    GENERAL.contains(&name)
}

fn word_of(value: &Value, words: &[&str]) -> bool {
    value.as_str().is_some_and(|it| words.contains(&it))
}

/// Whether a value is a whole number of tokens, as `setup()` takes it.
fn tokens(value: &Value, least: u64) -> bool {
    value
        .as_u64()
        .is_some_and(|it| it >= least && it <= MOST_TOKENS)
}

fn at_least(value: &Value, least: f64) -> bool {
    value.as_f64().is_some_and(|it| it >= least)
}

fn percentage(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|it| settings::share(it).is_some())
}

/// These become part of an address, so nothing that could change its meaning.
fn plain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && text.len() <= 64 && text.bytes().all(plain)
}
