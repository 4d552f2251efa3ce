//! Which file a program's name stands for.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use rustix::fs::{Access, access};

/// The file that runs for `name`, looked for along `PATH` of `environment`. The name
/// itself when there is none, so that starting it gives the system's own error.
///
/// A name would be looked for as well when it is started, but only by a copy of this
/// whole process.
pub(super) fn find(name: &str, environment: &[(OsString, OsString)]) -> OsString {
    let is_path = |variable: &&(OsString, OsString)| variable.0 == OsStr::new("PATH");
    let path = environment.iter().rev().find(is_path);
    let folders = path.filter(|_| !name.contains('/'));
    folders
        .into_iter()
        .flat_map(|(_, value)| std::env::split_paths(value))
        .map(|folder| folder.join(name))
        // Another folder than the command's own is meant by a relative one.
        .find(|file| file.is_absolute() && runs(file))
        .map_or_else(|| name.into(), OsString::from)
}

/// Fails as starting `file` would when there is no such program or it must not run.
pub(super) fn check(file: &OsStr) -> io::Result<()> {
    let path = Path::new(file);
    if path.parent() == Some(Path::new("")) {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(access(path, Access::EXEC_OK)?)
}

fn runs(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(path: &str) -> Vec<(OsString, OsString)> {
        vec![("PATH".into(), path.into())]
    }

    #[test]
    fn a_name_is_the_first_executable_file_of_the_path() {
        let found = find("sh", &environment("/nowhere:/dev:relative:/bin:/usr/bin"));
        assert_eq!(found, "/bin/sh");
    }

    #[test]
    fn a_path_and_a_name_that_nothing_has_stay_as_they_are() {
        assert_eq!(find("/bin/sh", &environment("/usr/bin")), "/bin/sh");
        assert_eq!(find("./sh", &environment("/bin")), "./sh");
        assert_eq!(find("no-such-shell", &environment("/bin")), "no-such-shell");
        assert_eq!(find("sh", &[]), "sh");
    }
}
