//! Job objects, which hold a process and all of its descendants.
//!
//! Windows ends the processes of a job when the last handle of the job is closed, so nothing
//! outlives this process, and commands need no leash.

mod held;
mod start;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) use held::HeldProcesses;
pub(super) use process_wrap::tokio::{ChildWrapper, CommandWrap};
pub(crate) use start::{ProgramStart, Script, program_file};

/// The first argument of a leash, which does not exist on Windows.
pub const LEASH: &str = "--leash";

/// Fails: there are no leashes.
pub fn hold_leash(_words: &[OsString]) -> ExitCode {
    ExitCode::FAILURE
}

/// Does nothing: there are no leashes.
pub fn leash_with(_own: PathBuf) {}

/// Nothing: there are no leashes.
pub(crate) fn leash_program() -> Option<PathBuf> {
    None
}

/// The path that the small program of the leash would have.
pub fn leash_beside(own: &Path) -> PathBuf {
    own.with_file_name("flemma-leash.exe")
}

/// Does nothing: the jobs of all commands end with this process.
pub fn end_descendants() {}

/// Does nothing: orphans stay in the job of their command.
pub fn watched_by(_watcher: u32) {}
