//! What the options say of the sandbox, and what that means for one chat.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tools::{Backend, Sandbox, SandboxLimits, Secrets};

use super::Problems;
use super::grants::{known_names, passed_variables};
use crate::options::InvalidOption;

/// `sandbox.*`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct SandboxSettings {
    /// Whether anything is held.
    pub enabled: bool,
    /// Whether a command may run that is not held.
    pub backend: BackendChoice,
    /// Sockets that commands can reach, by name or path.
    #[serde(default)]
    pub sockets: Vec<String>,
    /// Variables that commands have beside the usual ones.
    #[serde(default)]
    pub env: Vec<String>,
    /// Secret files and folders that may be read, with variables.
    #[serde(default)]
    pub reveal: Vec<String>,
    /// What is allowed.
    pub policy: SandboxPolicy,
    /// How each backend is used.
    pub backends: Backends,
}

/// `sandbox.backend`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendChoice {
    /// Whatever there is; nothing where there is none.
    Auto,
    /// Whatever there is; no command runs where there is none.
    #[default]
    Required,
    /// That one; no command runs without it.
    Bwrap,
}

/// `sandbox.policy.*`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct SandboxPolicy {
    /// Below which folders files can be written, with variables.
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
    /// More arguments for it.
    #[serde(default)]
    pub extra_args: Vec<String>,
}

/// Where a chat is.
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
    /// What holds the calls of a chat; the rest of `limits` is said elsewhere.
    pub fn sandbox(&self, here: Here<'_>, limits: SandboxLimits) -> Sandbox {
        let paths = self.policy.rw_paths.iter();
        let limits = SandboxLimits {
            writable: paths.filter_map(|path| folder(path, here)).collect(),
            network: self.policy.network,
            privileged: self.policy.allow_privileged,
            ..limits
        };
        Sandbox::new(limits, self.backend())
    }

    /// How commands are held.
    pub fn backend(&self) -> Backend {
        Backend {
            program: self.backends.bwrap.path.clone(),
            extra: self.backends.bwrap.extra_args.clone(),
            required: self.backend != BackendChoice::Auto,
        }
    }

    /// The files that a call of a chat reads only when the user approves it.
    pub fn secrets(&self, here: Here<'_>) -> Secrets {
        let revealed = self.reveal.iter();
        Secrets::of_this_user(revealed.filter_map(|path| folder(path, here)).collect())
    }

    /// Reports values that are no path and no name of a socket.
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

/// Returns the path below a variable, which may be empty.
fn below<'a>(path: &'a str, variable: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(variable)?;
    // `$CWDx` and `~name` are other names that only begin alike.
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
}

/// The folder that a path of the options means; nothing when it is relative, or of a chat
/// that is none.
pub fn folder(path: &str, here: Here<'_>) -> Option<PathBuf> {
    if let Some(rest) = below(path, CWD) {
        return Some(here.cwd.join(rest));
    }
    if let Some(rest) = below(path, BUFFER) {
        // A chat without a file has no folder, and then the option grants nothing.
        return Some(here.chat?.parent()?.join(rest));
    }
    if let Some(rest) = below(path, "~") {
        return Some(std::env::home_dir()?.join(rest));
    }
    Some(PathBuf::from(path)).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests;
