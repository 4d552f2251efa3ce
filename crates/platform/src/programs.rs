//! Files of programs, and where they are found.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// Whether an environment variable with this name is that of the folders of programs. Ignores case
/// on Windows, where it is `Path`.
fn is_path_variable(name: &OsStr) -> bool {
    system::is_path_variable(name)
}

/// The file of the program `name` in the folders of `path`, the value of such a variable. On
/// Windows, `name` may lack the extension. Relative folders are skipped.
pub fn find(name: &str, path: &OsStr) -> Option<PathBuf> {
    // A relative folder would be relative to this process instead of to the command.
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let mut files = folders.map(|folder| folder.join(name));
    files.find_map(|file| system::program_at(&file))
}

/// Whether `name` is a path, so that no folders are searched for it.
pub fn is_path(name: &str) -> bool {
    name.contains(std::path::is_separator)
}

/// Fails as starting `file` would if it is missing or not executable. Windows has no permission to
/// execute, so there it is only missing or not.
///
/// # Errors
///
/// It can't be started.
pub fn check(file: &Path) -> io::Result<()> {
    system::check(file)
}

/// The file of `bash` in an environment. On Windows, this is the bash of Git, in the folders of the
/// path or where Git is usually installed. It is never that of WSL, which runs on another system.
pub fn bash(environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    system::bash(environment)
}

/// The folders of programs in an environment.
pub fn path_of(environment: &[(OsString, OsString)]) -> Option<&OsStr> {
    let is_path = |variable: &&(OsString, OsString)| is_path_variable(&variable.0);
    // Of several, the last one counts, as in the environment that the program gets.
    let path = environment.iter().rev().find(is_path);
    path.map(|(_, folders)| folders.as_os_str())
}
