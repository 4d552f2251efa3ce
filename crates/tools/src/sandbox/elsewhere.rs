//! Systems for which there is no sandbox.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::trying::{Overlay, TrialView, ViewReport};
use super::{Backend, SandboxLimits};
use crate::address::HostList;
use crate::secrets::Concealed;

/// The name of the sandbox in the log, where it never occurs.
pub(super) const NAME: &str = "none";
/// Advice if a sandbox is required and missing.
pub(super) const ADVICE: &str =
    "Set sandbox.backend to \"auto\" to run commands without one, each of which you then approve.";
/// The program that would be the sandbox, for messages. `None`, because no program is one here.
pub const PROGRAM: Option<&str> = None;
/// Why there is no sandbox.
const WHY: &str = "Flemma has a sandbox only on Linux";

/// Always fails.
///
/// # Errors
///
/// This system has no sandbox. The text is a clause without a full stop.
pub fn find_out(_backend: &Backend) -> Result<PathBuf, String> {
    Err(WHY.to_owned())
}

pub(super) fn known(backend: &Backend) -> Option<Result<PathBuf, String>> {
    Some(find_out(backend))
}

pub(super) fn prefix(
    _program: &Path,
    _backend: &Backend,
    _limits: &SandboxLimits,
    _cwd: &Path,
    _needed: &[&Path],
    _resolver: Option<&Path>,
    _outlet: Option<&Outlet>,
) -> Result<Vec<OsString>, String> {
    Err(WHY.to_owned())
}

/// Unreachable, because [`prefix`] fails.
pub(super) fn view_words(
    _view: &TrialView<'_>,
    _overlays: &[Overlay],
    sandboxed: Vec<OsString>,
) -> Vec<OsString> {
    sandboxed
}

/// Nothing: there are no trials.
pub(crate) fn view_report(_path: &Path) -> Option<ViewReport> {
    None
}

/// The first argument of a program that does not exist here.
pub const VIEW: &str = "--view";

/// Fails: there are no trials.
pub fn hold_view(_words: &[OsString]) -> ExitCode {
    ExitCode::FAILURE
}

/// The first argument of a program that does not exist here.
pub const OUTLET: &str = "--outlet";

/// Fails: no sandbox has an outlet.
pub fn open_outlet(_words: &[OsString]) -> ExitCode {
    ExitCode::FAILURE
}

/// The way of sandboxed commands to listed hosts. Never exists on this system.
#[derive(Debug)]
pub(crate) struct Outlet(Infallible);

impl Outlet {
    /// Always fails.
    ///
    /// # Errors
    ///
    /// This system has no sandbox.
    pub(super) fn new(_helper: Option<PathBuf>, _hosts: HostList) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        match self.0 {}
    }
}

/// Returns false: there are no trials.
pub(super) fn is_kept(_limits: &SandboxLimits, _path: &Path) -> bool {
    false
}

/// Returns false: commands can reach all sockets.
pub fn cuts_off_abstract_sockets() -> bool {
    false
}

/// Returns false: commands can set all modes.
pub fn keeps_from_setuid() -> bool {
    false
}

/// Runs `work`.
pub(crate) fn run_restricted<T>(work: impl FnOnce() -> T) -> io::Result<T> {
    Ok(work())
}

/// The folder that would be mounted as `/tmp` in the chat with this key. It is never created.
pub fn tmp_folder(key: Option<&str>) -> PathBuf {
    chats_tmp().join(key.unwrap_or("process"))
}

/// The folder that would contain the folders of all chats.
pub fn chats_tmp() -> PathBuf {
    crate::state_dir::path().join("chat-tmp")
}

pub(super) fn make_tmp(_folder: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn add_written(_limits: &SandboxLimits, _path: &Path, _text: &str) {}

/// The protected files that existed before a command. Never exists on this system.
pub struct Watch(Infallible);

impl Watch {
    /// Unreachable; [`find_out`] has failed before.
    pub(super) fn begin(_limits: &SandboxLimits) -> Option<Self> {
        None
    }

    pub(crate) fn concealed(&self) -> &[Concealed] {
        match self.0 {}
    }

    pub(crate) fn work(&self) -> &[PathBuf] {
        match self.0 {}
    }

    pub(super) fn limits(&self) -> SandboxLimits {
        match self.0 {}
    }

    /// A note about read-only files that a command's output names.
    pub fn explain(&self, _output: &str) -> Option<String> {
        match self.0 {}
    }

    /// Renames new protected files, and returns a note about them.
    pub fn end(self) -> Option<String> {
        match self.0 {}
    }
}
