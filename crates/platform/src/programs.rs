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

use crate::variables::is_same_name;

/// What the user can do if `bash` is missing: a clause that follows "the user can".
pub const SHELL_ADVICE: &str = system::SHELL_ADVICE;

/// The file of the program `name` in an environment. `None` if there is none, or if `name` is a path.
///
/// On Windows, `name` may lack the extension, `bash` and `sh` are those of Git and never of WSL,
/// which runs on another system, `python3` may be `python`, and of a Unix path such as
/// `/usr/bin/python3`, the last component counts.
pub fn locate(name: &str, environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    system::locate(name, environment)
}

/// The file of the program `name` in the folders of `path`, the value of the variable for them.
pub fn find(name: &str, path: &OsStr) -> Option<PathBuf> {
    // A relative folder would be relative to this process instead of to the command.
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let mut files = folders.map(|folder| folder.join(name));
    files.find_map(|file| system::program_at(&file))
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

/// The folders of programs in an environment.
pub fn path_of(environment: &[(OsString, OsString)]) -> Option<&OsStr> {
    let is_path = |variable: &&(OsString, OsString)| is_same_name(&variable.0, "PATH");
    // Of several, the last one counts, as in the environment that the program gets.
    let path = environment.iter().rev().find(is_path);
    path.map(|(_, folders)| folders.as_os_str())
}
