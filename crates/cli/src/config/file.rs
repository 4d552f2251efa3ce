//! The configuration file: TOML with the names that `setup()` takes.

use std::path::{Path, PathBuf};

use policy::options::{TomlError, TomlOptions};
use serde_json::{Value, json};
use session::config_dir;

use super::{ConfigError, Flags};

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
    let options = TomlOptions::read(&text).map_err(|TomlError { line, why }| {
        problem(format!("{shown}, line {line}: {why}. Nothing was done."))
    })?;
    Ok(options.values)
}
