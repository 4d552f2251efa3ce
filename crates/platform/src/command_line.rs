//! Command lines that the user wrote, such as the value of `$EDITOR`.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::path::Path;
use std::process::Command;

/// The editor of users who have set none.
pub const EDITOR: &str = system::EDITOR;

/// Runs a command line with a path as its last argument. The system's shell splits the words, which
/// may be quoted. On Windows the path must contain none of `"` and `%`.
pub fn with_path(words: &str, path: &Path) -> Command {
    system::with_path(words, path)
}
