use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

pub(super) const SHELL_ADVICE: &str = "set tools.bash.shell";

pub(super) fn locate(name: &str, environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let path = super::path_of(environment).filter(|_| !name.contains('/'));
    super::find(name, path?)
}

pub(super) fn program_at(file: &Path) -> Option<PathBuf> {
    (file.is_file() && check(file).is_ok()).then(|| file.to_owned())
}

pub(super) fn check(file: &Path) -> io::Result<()> {
    Ok(access(file, Access::EXEC_OK)?)
}
