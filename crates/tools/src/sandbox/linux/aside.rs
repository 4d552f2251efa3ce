//! Renames protected files that a command created. Nothing is deleted.
//!
//! Other commands may run at the same time, so no link is followed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};
use rustix::io::Errno;

/// The suffix of renamed files.
const ENDING: &str = ".flemma-held";
/// Maximum number of new names that are tried.
const MOST: usize = 100;

/// Renames `path`, which is below `root`, and returns its new path.
///
/// # Errors
///
/// It doesn't exist, a component of the path is a link, or its folder is not writable.
pub(super) fn set_aside(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let (folder, name) = (path.parent(), path.file_name());
    let (folder, name) = folder.zip(name).ok_or(Errno::INVAL)?;
    let opened = open(root, folder)?;
    for number in 1..=MOST {
        let new = held_name(name, number);
        // Never over another file, which may be one that was set aside before.
        let renamed = renameat_with(&opened, name, &opened, &new, RenameFlags::NOREPLACE);
        match renamed {
            Ok(()) => return Ok(folder.join(new)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::EXIST.into())
}

fn held_name(name: &OsStr, number: usize) -> OsString {
    let mut new = name.to_owned();
    new.push(ENDING);
    if number > 1 {
        new.push(format!("-{number}"));
    }
    new
}

/// Opens a folder below `root` component by component, so that no link is followed.
pub(super) fn open(root: &Path, folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let below = folder.strip_prefix(root).map_err(|_| Errno::INVAL)?;
    let mut opened = openat(CWD, root, flags, Mode::empty())?;
    for part in below.components() {
        let Component::Normal(name) = part else {
            return Err(Errno::INVAL.into());
        };
        opened = openat(&opened, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(opened)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_is_replaced_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir_all(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/.envrc"), "theirs").unwrap();
        symlink(folder.path().join("outside"), root.join("link")).unwrap();
        for expected in ["sub/.envrc.flemma-held", "sub/.envrc.flemma-held-2"] {
            fs::write(root.join("sub/.envrc"), expected).unwrap();
            let new = set_aside(&root, &root.join("sub/.envrc")).unwrap();
            assert_eq!(new, root.join(expected));
            assert_eq!(fs::read_to_string(new).unwrap(), expected);
        }
        set_aside(&root, &root.join("link/.envrc")).unwrap_err();
        assert!(folder.path().join("outside/.envrc").exists());
        set_aside(&root, &root.join("none")).unwrap_err();
    }
}
