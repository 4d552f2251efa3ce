//! Finds the file of a program by its name.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use platform::programs;

/// The file of the program `name` in the `PATH` of `environment`. Returns the name itself if there
/// is none, so that starting it fails with the system's error.
///
/// Starting a program by its name would search `PATH` as well, but only after a slow fork of this
/// process.
pub(super) fn find(name: &str, environment: &[(OsString, OsString)]) -> OsString {
    let found = programs::locate(name, environment);
    found.map_or_else(|| name.into(), OsString::from)
}

/// Fails as starting `file` would if the program is missing or not executable.
pub(super) fn check(file: &OsStr) -> io::Result<()> {
    let path = Path::new(file);
    // A bare name is what `find` returns if no folder has the program.
    if path.parent() == Some(Path::new("")) {
        return Err(io::ErrorKind::NotFound.into());
    }
    programs::check(path)
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
