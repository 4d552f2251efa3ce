//! Temporary files and folders: the only place of the program that makes them.
//!
//! Each has a random name, is created exclusively, so that no link and no file of another program is
//! opened, can be accessed only by this user, and is removed on drop. The name contains the number
//! of the process, so that [`sweep`] recognizes what killed processes left.
//! `state_dir` says where they are, unless a file has to be beside the one that it replaces.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use platform::files::{PrivateOptions, make_private_folder, restrict_folder};
use platform::processes::has_ended;

/// Prefix of the names, before the number of the process.
const PREFIX: &str = ".flemma-";
/// Maximum number of names that are tried. A second one is never needed, unless someone guesses.
const ATTEMPTS: usize = 16;

/// Calls `attempt` with random names until one is free, and returns that name with the result.
///
/// # Errors
///
/// Any error of `attempt`.
pub(crate) fn with_free_name<T>(
    mut attempt: impl FnMut(&str) -> io::Result<T>,
) -> io::Result<(T, String)> {
    for _ in 0..ATTEMPTS {
        let name = name();
        match attempt(&name) {
            Ok(done) => return Ok((done, name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Returns a new name with 128 random bits.
fn name() -> String {
    // The standard library seeds it randomly, so no crate for random numbers is needed.
    let random = || RandomState::new().hash_one(PREFIX);
    format!("{}{:016x}{:016x}", prefix(), random(), random())
}

/// The prefix of all names of this process.
fn prefix() -> String {
    format!("{PREFIX}{}-", std::process::id())
}

/// Returns true for the name of a temporary file or folder of a process that has ended.
fn is_left(name: &OsStr) -> bool {
    let rest = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    let pid = rest.and_then(|rest| rest.split_once('-')?.0.parse().ok());
    pid.is_some_and(has_ended)
}

/// Removes temporary files that killed processes left in a folder. Files of running processes
/// stay.
pub fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_left(&entry.file_name()) {
            // A folder stays: only the state folder has temporary ones.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes temporary files like [`sweep`], and temporary folders with everything in them.
pub(crate) fn sweep_with_folders(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_left(&entry.file_name()) {
            remove(&entry.path());
        }
    }
}

/// Removes a file, or a folder with everything in it, without following links.
pub(crate) fn remove(path: &Path) {
    // What cannot be removed is swept later.
    let _ = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path).or_else(|_| {
            make_accessible(path);
            fs::remove_dir_all(path)
        }),
        _ => fs::remove_file(path),
    };
}

/// Lets the user list and change all folders in one: what a command made may forbid it.
fn make_accessible(folder: &Path) {
    let _ = restrict_folder(folder);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|it| it.is_dir()) {
            make_accessible(&entry.path());
        }
    }
}

/// A temporary folder with mode 0700, which is removed on drop with everything in it.
#[derive(Debug)]
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Creates a folder in an existing one.
    ///
    /// # Errors
    ///
    /// Any error of the file system.
    pub fn make_in(folder: &Path) -> io::Result<Self> {
        let make = |name: &str| make_private_folder(&folder.join(name));
        let ((), name) = with_free_name(make)?;
        Ok(Self(folder.join(name)))
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// A temporary file with mode 0600, which is removed on drop.
#[derive(Debug)]
pub struct TemporaryFile {
    /// Open for writing.
    pub file: File,
    path: TemporaryPath,
}

/// The path of a temporary file that is closed, or not yet created. The file is removed on drop.
#[derive(Debug)]
pub struct TemporaryPath(PathBuf);

impl TemporaryFile {
    /// Creates an empty file in an existing folder. Its name ends with `ending`.
    ///
    /// # Errors
    ///
    /// Any error of the file system.
    pub fn make_in(folder: &Path, ending: &str) -> io::Result<Self> {
        let path = |name: &str| folder.join(format!("{name}{ending}"));
        let make = |name: &str| {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).private();
            options.open(path(name))
        };
        let (file, name) = with_free_name(make)?;
        Ok(Self {
            file,
            path: TemporaryPath(path(&name)),
        })
    }

    /// Closes the file.
    pub fn close(self) -> TemporaryPath {
        self.path
    }

    /// Renames the file over the one at `path`, in the same file system.
    ///
    /// # Errors
    ///
    /// Any error of the file system; the file is removed then.
    pub fn replace(self, path: &Path) -> io::Result<()> {
        // Windows renames no open file over another.
        let new = self.close();
        fs::rename(&new.0, path)
        // The drop finds no file under the random name after that.
    }
}

impl TemporaryPath {
    /// Returns a random path in a folder, at which nothing is created.
    pub(crate) fn free_in(folder: &Path) -> Self {
        Self(folder.join(name()))
    }

    /// The path itself.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        // Missing if it was renamed or never created.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn only_what_a_program_that_has_ended_left_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let left = format!("{PREFIX}{}-abc", ended.id());
        let kept = [
            &*prefix(),
            ".flemma-abc",
            ".flemma-1x-abc",
            "a.flemma-held",
            "target",
        ];
        for name in kept.iter().chain([&&*left]) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("theirs"), "").unwrap();
        let deep = folder.path().join(format!("{left}-folder"));
        fs::create_dir(&deep).unwrap();
        symlink(outside.path(), deep.join("link")).unwrap();
        sweep(folder.path());
        assert!(!folder.path().join(&left).exists() && deep.exists());
        sweep_with_folders(folder.path());
        assert!(!deep.exists() && outside.path().join("theirs").exists());
        assert!(kept.iter().all(|name| folder.path().join(name).exists()));
        sweep(&folder.path().join("nowhere"));
    }

    #[test]
    fn names_differ_and_only_the_user_has_access() {
        let folder = tempfile::tempdir().unwrap();
        let names: HashSet<String> = (0..1_000).map(|_| name()).collect();
        assert_eq!(names.len(), 1_000);
        let file = TemporaryFile::make_in(folder.path(), ".x").unwrap();
        let made = TemporaryFolder::make_in(folder.path()).unwrap();
        let mode = |path: &Path| fs::symlink_metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(file.path.as_path()), 0o600);
        assert_eq!(mode(made.path()), 0o700);
        fs::write(made.path().join("a"), "a").unwrap();
        drop((file, made));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_name_that_someone_has_taken_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "theirs").unwrap();
        let mut names = Vec::new();
        let ((), name) = with_free_name(|name| {
            let path = folder.path().join(name);
            if names.len() < 3 {
                symlink(&victim, &path).unwrap();
            }
            names.push(name.to_owned());
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(path)
                .map(drop)
        })
        .unwrap();
        assert_eq!(names.len(), 4);
        assert_eq!(names.last(), Some(&name));
        assert_eq!(fs::read_to_string(victim).unwrap(), "theirs");
    }
}
