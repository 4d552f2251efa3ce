//! The configuration file: TOML with the names that `setup()` takes.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{ConfigError, Flags};
use crate::config_dir;

/// Returns the path of `--config`, or of the default file, which need not exist.
pub fn path(flags: &Flags) -> Option<PathBuf> {
    match &flags.file {
        // Absolute, so that trust in it does not depend on the current folder.
        Some(file) => Some(std::path::absolute(file).unwrap_or_else(|_| file.clone())),
        None => Some(config_dir::path()?.join("config.toml")),
    }
}

/// Reads the options of the file, without those of the command line.
pub(super) fn read(flags: &Flags) -> Result<Value, ConfigError> {
    match (&flags.file, config_dir::path()) {
        (Some(file), _) => parse(file, true),
        (None, Some(folder)) => parse(&folder.join("config.toml"), false),
        (None, None) => Ok(json!({})),
    }
}

/// Reads a file. A missing one has no options, unless it is `required`.
pub(super) fn parse(file: &Path, required: bool) -> Result<Value, ConfigError> {
    let shown = file.display();
    let problem = |text: String| ConfigError::File(vec![text]);
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        // Only a file that the user named has to exist.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !required => {
            return Ok(json!({}));
        }
        Err(error) => return Err(problem(format!("{shown} cannot be read: {error}."))),
    };
    let table: toml::Table = toml::from_str(&text).map_err(|error| {
        // The parser knows bytes, and users know lines.
        let before = error.span().map_or("", |span| &text[..span.start]);
        let line = before.matches('\n').count() + 1;
        let why = error.message().trim();
        problem(format!("{shown}, line {line}: {why}. Nothing was done."))
    })?;
    // JSON has no such numbers: the option would silently be null.
    if let Some((name, number)) = table.iter().find_map(|(name, it)| not_finite(name, it)) {
        return Err(problem(format!(
            "{shown}: {name} is {number}; it must be a finite number. Nothing was done."
        )));
    }
    serde_json::to_value(table).map_err(|error| problem(format!("{shown}: {error}.")))
}

/// Returns the first number below `name` that is infinite or NaN, with its path.
fn not_finite(name: &str, value: &toml::Value) -> Option<(String, f64)> {
    match value {
        toml::Value::Float(number) if !number.is_finite() => Some((name.to_owned(), *number)),
        toml::Value::Array(items) => items.iter().find_map(|it| not_finite(name, it)),
        toml::Value::Table(table) => table
            .iter()
            .find_map(|(inner, it)| not_finite(&format!("{name}.{inner}"), it)),
        _ => None,
    }
}
