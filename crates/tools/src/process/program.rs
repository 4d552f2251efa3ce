//! Finds the file of a program by its name.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use rustix::fs::{Access, access};

/// The file of the program `name` in the `PATH` of `environment`. Returns the name itself if there
/// is none, so that starting it fails with the system's error.
///
/// Starting a program by its name would search `PATH` as well, but only after a slow fork of this
/// process.
pub(super) fn find(name: &str, environment: &[(OsString, OsString)]) -> OsString {
    let is_path = |variable: &&(OsString, OsString)| variable.0 == OsStr::new("PATH");
    // Of several, the last one counts, as in the environment that the program gets.
    let path = environment.iter().rev().find(is_path);
    let folders = path.filter(|_| !name.contains('/'));
    folders
        .into_iter()
        .flat_map(|(_, value)| std::env::split_paths(value))
        .map(|folder| folder.join(name))
        // A relative folder would be relative to this process instead of to the command.
        .find(|file| file.is_absolute() && runs(file))
        .map_or_else(|| name.into(), OsString::from)
}

/// Fails as starting `file` would if the program is missing or not executable.
pub(super) fn check(file: &OsStr) -> io::Result<()> {
    let path = Path::new(file);
    // A bare name is what `find` returns if no folder has the program.
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
