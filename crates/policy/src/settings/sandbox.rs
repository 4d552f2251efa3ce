//! The options of the sandbox, and their meaning for one chat.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use tools::{Backend, SandboxLimits, Secrets};

use super::Problems;
use super::grants::{known_names, passed_variables};
use crate::options::InvalidOption;

/// `sandbox.*`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct SandboxSettings {
    /// Whether commands are sandboxed.
    pub enabled: bool,
    /// Whether a command may run without a sandbox.
    pub backend: BackendChoice,
    /// Sockets that commands can reach, by name or path.
    #[serde(default)]
    pub sockets: Vec<String>,
    /// Environment variables that commands get in addition to the usual ones.
    #[serde(default)]
    pub env: Vec<String>,
    /// Secret files and folders that may be read; may contain variables.
    #[serde(default)]
    pub reveal: Vec<String>,
    /// The rights of commands.
    pub policy: SandboxPolicy,
    /// Settings of each backend.
    pub backends: Backends,
}

/// `sandbox.backend`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendChoice {
    /// Any backend that works; commands run unrestricted without one.
    Auto,
    /// Any backend that works; no command runs without one.
    #[default]
    Required,
    /// Bubblewrap; no command runs without it.
    Bwrap,
}

/// `sandbox.policy.*`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct SandboxPolicy {
    /// Folders below which files can be written; may contain variables.
    pub rw_paths: Vec<String>,
    /// Whether the network can be reached.
    pub network: bool,
    /// Whether privileges are kept.
    pub allow_privileged: bool,
}

/// `sandbox.backends.*`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Backends {
    /// Bubblewrap.
    pub bwrap: Bwrap,
}

/// `sandbox.backends.bwrap.*`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Bwrap {
    /// The program.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// Additional arguments.
    #[serde(default)]
    pub extra_args: Vec<String>,
}

/// Location of a chat.
#[derive(Debug, Clone, Copy)]
pub struct Here<'a> {
    /// The editor's working directory.
    pub cwd: &'a Path,
    /// The chat's file.
    pub chat: Option<&'a Path>,
}

const CWD: &str = "$CWD";
pub(super) const BUFFER: &str = "$FLEMMA_BUFFER_PATH";

impl SandboxSettings {
    /// Adds what the user has set to the limits of a chat.
    pub fn limits(&self, here: Here<'_>, limits: SandboxLimits) -> SandboxLimits {
        let paths = self.policy.rw_paths.iter();
        SandboxLimits {
            writable: paths.filter_map(|path| folder(path, here)).collect(),
            network: self.policy.network,
            privileged: self.policy.allow_privileged,
            ..limits
        }
    }

    /// Returns how commands are sandboxed.
    pub fn backend(&self) -> Backend {
        Backend {
            program: self.backends.bwrap.path.clone(),
            extra: self.backends.bwrap.extra_args.clone(),
            required: self.backend != BackendChoice::Auto,
        }
    }

    /// Returns the files that a chat's calls read only with the user's approval.
    pub fn secrets(&self, here: Here<'_>) -> Secrets {
        let revealed = self.reveal.iter();
        Secrets::of_this_user(revealed.filter_map(|path| folder(path, here)).collect())
    }

    /// Reports values that are neither paths nor names of sockets.
    pub(super) fn check(&self, problems: &mut Problems) {
        let mut report = |path: &str, what: String| {
            let message = format!("{path}: {what}");
            problems.invalid.push(InvalidOption::new(path, message));
        };
        let writable = self.policy.rw_paths.iter();
        let writable = writable.map(|path| ("sandbox.policy.rw_paths", path));
        let revealed = self.reveal.iter().map(|path| ("sandbox.reveal", path));
        for (option, path) in writable.chain(revealed) {
            let variables = ["~", CWD, BUFFER];
            let is_known = variables.iter().any(|it| below(path, it).is_some());
            if !is_known && !path.starts_with('/') {
                let what = format!(
                    "\"{path}\" is no absolute path and begins with none of ~/, {CWD}, and {BUFFER}."
                );
                report(option, what);
            }
        }
        for name in &self.sockets {
            let is_path = name.starts_with(['/', '~', '$']);
            if !is_path && !known_names().any(|known| known == name) {
                let known: Vec<&str> = known_names().collect();
                let what = format!(
                    "\"{name}\" is neither a path nor one of {}.",
                    known.join(", ")
                );
                report("sandbox.sockets", what);
            }
        }
    }

    /// Returns the names of the additional variables that commands get.
    pub fn passed(&self) -> Vec<String> {
        let granted = passed_variables(&self.sockets).map(str::to_owned);
        self.env.iter().cloned().chain(granted).collect()
    }
}

/// Returns the rest of a path after a variable; it may be empty.
fn below<'a>(path: &'a str, variable: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(variable)?;
    // `$CWDx` and `~name` are other names that only begin with a variable.
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
}

/// Returns the folder that a path of the options means; `None` if it is relative, or refers to a
/// chat without a file.
pub fn folder(path: &str, here: Here<'_>) -> Option<PathBuf> {
    if let Some(rest) = below(path, CWD) {
        return Some(here.cwd.join(rest));
    }
    if let Some(rest) = below(path, BUFFER) {
        // A chat without a file has no folder, so the option grants nothing.
        return Some(tools::chat_folder(here.chat?)?.join(rest));
    }
    if let Some(rest) = below(path, "~") {
        return Some(std::env::home_dir()?.join(rest));
    }
    Some(PathBuf::from(path)).filter(|path| path.is_absolute())
}

/// Returns the path below the home folder that an entry of `tools.bash.trial_home` means. `None` if
/// it means none.
pub(super) fn in_home(entry: &str) -> Option<PathBuf> {
    let home = std::env::home_dir()?;
    let path = match below(entry, "~") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(entry),
    };
    let has_parent = path.components().any(|it| it == Component::ParentDir);
    (path.starts_with(&home) && path != home && !has_parent).then_some(path)
}

#[cfg(test)]
mod tests;
