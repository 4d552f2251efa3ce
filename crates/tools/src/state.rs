//! The folder for persistent state: trust, pins, logs, long outputs.
//!
//! A program that can write there can grant itself trust, so the folder must never be one that
//! another user could have created.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use platform::files::make_private_folder;
use platform::{places, user};

use crate::private::with_free_name;

/// Returns `$XDG_STATE_HOME`, or else `.local/state` in the home folder from `$HOME` or the
/// user database; on Windows, `AppData/Local`. A user without a home gets a private folder below `$TMPDIR`.
pub fn state_home() -> PathBuf {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let variable = crate::variable_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || std::env::home_dir().and_then(absolute);
    variable
        .and_then(absolute)
        .or_else(|| Some(home()?.join(places::STATE)))
        .unwrap_or_else(homeless)
}

/// A private temporary folder, the same for the lifetime of this process.
fn homeless() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let find = || private_folder(&std::env::temp_dir());
    FOLDER.get_or_init(find).clone()
}

/// Creates a folder below `temporary` that only this user can access. Its name is predictable
/// unless another user has taken it.
fn private_folder(temporary: &Path) -> PathBuf {
    let usual = temporary.join(format!("flemma-{}", user::file_name_part()));
    if make_private(&usual).is_ok() {
        return usual;
    }
    let make = |name: &str| make_private_folder(&temporary.join(name));
    match with_free_name(make) {
        Ok(((), name)) => temporary.join(name),
        // Nothing can be written there: state is lost, and every question is asked again.
        Err(_) => PathBuf::from("/nonexistent"),
    }
}

/// Creates a folder, or checks that an existing one belongs to this user alone.
fn make_private(folder: &Path) -> io::Result<()> {
    match make_private_folder(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Doesn't follow a link, which another user could have created.
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && user::has_alone(&found) {
        Ok(())
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn usual(temporary: &Path) -> PathBuf {
        temporary.join(format!("flemma-{}", user::file_name_part()))
    }

    #[test]
    fn a_user_without_a_home_gets_the_same_private_folder_each_time() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = private_folder(temporary.path());
        assert_eq!(folder, usual(temporary.path()));
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        assert_eq!(private_folder(temporary.path()), folder);
    }

    #[test]
    fn a_folder_that_others_could_have_made_is_not_used() {
        type Prepare = fn(&Path);
        let prepared: [Prepare; 3] = [
            |path| {
                fs::create_dir(path).unwrap();
                fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
            },
            |path| {
                let other = path.with_extension("other");
                fs::create_dir(&other).unwrap();
                fs::set_permissions(&other, Permissions::from_mode(0o700)).unwrap();
                symlink(other, path).unwrap();
            },
            |path| fs::write(path, "").unwrap(),
        ];
        for prepare in prepared {
            let temporary = tempfile::tempdir().unwrap();
            prepare(&usual(temporary.path()));
            let folder = private_folder(temporary.path());
            assert_ne!(folder, usual(temporary.path()));
            assert_eq!(folder.parent(), Some(temporary.path()));
            assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        }
    }
}
