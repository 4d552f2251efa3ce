//! A project's folder `.flemma`: where it is, and its `config.toml`, which applies as far
//! as the user trusts it.

mod folder;
mod reading;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use platform::files::open_no_link;
use platform::paths;
use tools::Registry;

use crate::options::{TomlError, TomlOptions};
use crate::settings::Settings;
use crate::trust::Trust;

pub use folder::ProjectFolder;
pub use reading::{ProjectProblem, ProjectReading};

/// The folder in a project.
pub const FOLDER: &str = ".flemma";
/// Name of the file with a project's options.
const CONFIG: &str = "config.toml";
/// Maximum bytes of a file that a project brings along (256 KB).
const MAX_BYTES: u64 = 256 * 1024;

/// A project's `config.toml`.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectConfig {
    /// Its path.
    pub path: PathBuf,
    /// Its text; empty if it cannot be read.
    pub text: String,
    /// Whether the user trusts this text.
    pub trusted: bool,
    /// Its options, or why there are none.
    options: Result<TomlOptions, ConfigFault>,
}

/// Why a file has no options.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ConfigFault {
    /// It cannot be read.
    Unreadable(String),
    /// It is no TOML.
    Syntax(TomlError),
}

/// Returns `.flemma/NAME` of the nearest folder that has it, from `folder` upwards. The home
/// folder has a project only if it is `folder`; no folder above it and no root has one.
pub fn nearest(folder: &Path, name: &str) -> Option<PathBuf> {
    nearest_below(folder, std::env::home_dir().as_deref(), name)
}

fn nearest_below(folder: &Path, home: Option<&Path>, name: &str) -> Option<PathBuf> {
    // Neovim names the working directory without links, and $HOME may be one.
    let real_home = home.and_then(|it| paths::canonicalize(it).ok());
    let is_home = |it: &Path| home == Some(it) || real_home.as_deref() == Some(it);
    for ancestor in folder.ancestors() {
        let is_above = ancestor != folder;
        if ancestor.parent().is_none() || is_above && is_home(ancestor) {
            return None;
        }
        let path = ancestor.join(FOLDER).join(name);
        // Not `exists`: a broken link is reported and not skipped.
        if path.symlink_metadata().is_ok() {
            return Some(path);
        }
        if is_home(ancestor) {
            return None;
        }
    }
    None
}

/// Returns the path of the `config.toml` of the project that contains a folder.
pub fn config_path(folder: &Path) -> Option<PathBuf> {
    nearest(folder, CONFIG)
}

impl ProjectConfig {
    /// Reads the `config.toml` of the project that contains a folder. Blocking.
    pub fn around(folder: &Path, trust: &Trust) -> Option<Self> {
        Some(Self::read(config_path(folder)?, trust))
    }

    fn read(path: PathBuf, trust: &Trust) -> Self {
        let (text, options) = match read_text(&path) {
            Ok(text) => {
                let options = TomlOptions::read(&text).map_err(ConfigFault::Syntax);
                (text, options)
            }
            Err(error) => (
                String::new(),
                Err(ConfigFault::Unreadable(error.to_string())),
            ),
        };
        Self {
            // Compares the text that was read, so the file cannot change in between.
            trusted: trust.is_trusted(&path, &text),
            path,
            text,
            options,
        }
    }

    /// Applies the file's options to the settings. Checks names of tools only if the tools are
    /// known.
    pub fn apply(&self, settings: &Settings, registry: Option<&Registry>) -> ProjectReading {
        let fault = match &self.options {
            Ok(options) => return settings.with_project(options, self.trusted, registry),
            Err(fault) => fault,
        };
        let (line, why) = match fault {
            ConfigFault::Unreadable(why) => (1, format!("It cannot be read: {why}.")),
            ConfigFault::Syntax(error) => (error.line, format!("{}.", error.why)),
        };
        ProjectReading {
            settings: settings.with_unreadable_project(),
            // Nothing of the file applies, so nothing is withheld.
            withheld: Vec::new(),
            problems: vec![ProjectProblem { line, message: why }],
            consequence: "Until that is corrected, every call needs your approval.",
        }
    }

    /// Returns what the user should know about the file, a message each.
    pub fn messages(&self, reading: &ProjectReading) -> Vec<String> {
        let shown = self.path.display();
        let problems: Vec<String> = reading
            .problems
            .iter()
            .map(|it| format!("line {}: {}", it.line, it.message))
            .collect();
        let mut messages = Vec::new();
        if !problems.is_empty() {
            let consequence = reading.consequence;
            messages.push(
                format!("{shown}, {} {consequence}", problems.join(" "))
                    .trim_end()
                    .to_owned(),
            );
        }
        if !reading.withheld.is_empty() {
            let lines = reading.withheld.iter();
            let lines: Vec<String> = lines
                .map(|it| format!("Line {} {}.", it.line, it.what))
                .collect();
            messages.push(format!(
                "{shown} has settings that do not apply until you have read it and agree with \
                 :Flemma trust project. {}",
                lines.join(" ")
            ));
        }
        messages
    }

    /// Stores that the user trusts this text.
    ///
    /// # Errors
    ///
    /// The file could not be read, or the store cannot be written.
    pub fn trust(&self, trust: &Trust) -> io::Result<()> {
        if let Err(ConfigFault::Unreadable(why)) = &self.options {
            return Err(io::Error::other(why.clone()));
        }
        trust.trust(&self.path, &self.text)
    }
}

/// Reads a file that a project brought along: only a regular one of a limited size, and no
/// link, which could lead to any file of the user's.
///
/// # Errors
///
/// It is another file, is larger than 256 KB, is not UTF-8, or cannot be read.
pub fn read_text(path: &Path) -> io::Result<String> {
    // The system may report a loop for a link, which would not explain this.
    let file = open_no_link(path).map_err(|error| {
        if path.is_symlink() {
            io::Error::other("it is a symbolic link")
        } else {
            error
        }
    })?;
    // Checked on the open file, which cannot be replaced any more.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    // One byte more than allowed shows that the file is larger.
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("it is larger than 256 KB"));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8"))
}

#[cfg(test)]
mod tests;
