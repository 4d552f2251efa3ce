use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

pub(super) fn is_path_variable(name: &OsStr) -> bool {
    name == "PATH"
}

pub(super) fn program_at(file: &Path) -> Option<PathBuf> {
    (file.is_file() && check(file).is_ok()).then(|| file.to_owned())
}

pub(super) fn check(file: &Path) -> io::Result<()> {
    Ok(access(file, Access::EXEC_OK)?)
}

pub(super) fn bash(environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    super::find("bash", super::path_of(environment)?)
}
