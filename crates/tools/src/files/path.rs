//! Paths that are resolved once and then opened without following links.
//!
//! A decision about a path would be worthless if the path could become a link before the file
//! is opened. So links are followed once, the decision is about the result, and every later
//! open refuses links.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use platform::files::{FileKind, FileStatus, FolderAccess, OpenFolder};
use platform::paths::{self, UnresolvedPath};
use serde_json::Value;

use super::file_error;
use crate::error::ToolError;

/// An absolute path without links, `.`, and `..` at the time it was resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RealPath(PathBuf);

impl RealPath {
    /// Follows the links of an absolute path. Components that don't exist are kept as they are.
    /// Blocking.
    ///
    /// # Errors
    ///
    /// [`ToolError::Failed`]; see [`UnresolvedPath`].
    pub fn of(path: &Path) -> Result<Self, ToolError> {
        paths::resolve(path).map(Self).map_err(|why| {
            let path = path.display();
            ToolError::Failed(match why {
                UnresolvedPath::Circle => {
                    format!("{path} is a symbolic link that leads to itself.")
                }
                UnresolvedPath::MagicLink => format!(
                    "{path} leads through a link of a process in /proc, which is not followed. \
                     Name the file itself."
                ),
                UnresolvedPath::SpecialName => format!(
                    "{path} has a name that means something else to Windows than a file of this \
                     name."
                ),
            })
        })
    }

    /// A path that was resolved before. If a component has become a link since, opening it
    /// fails.
    pub(crate) fn exact(path: PathBuf) -> Self {
        Self(path)
    }

    /// The path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Opens the folder at the path without following links.
    ///
    /// # Errors
    ///
    /// Any error of the system; also if a component has become a link.
    pub(crate) fn open_folder(&self, access: FolderAccess) -> io::Result<OpenFolder> {
        OpenFolder::open(&self.0, access)
    }

    /// Opens a regular file for reading without following links. Returns `None` for anything
    /// else. Never blocks.
    ///
    /// # Errors
    ///
    /// As for [`RealPath::open_folder`]; `NotFound` if it does not exist.
    pub fn open_file(&self) -> io::Result<Option<File>> {
        // Checked before opening, because opening a device can already have an effect.
        if self.0.parent().is_none() {
            return Ok(None);
        }
        let (folder, name) = self.open_parent()?;
        if folder.status(name)?.kind != FileKind::File {
            return Ok(None);
        }
        // Since the check, it may have become a pipe, which must not block.
        let file = folder.file(Path::new(name))?;
        Ok(file.metadata()?.is_file().then_some(file))
    }

    /// Replaces the content of the file atomically. Missing folders are created. Returns the
    /// status of the new file from before it became visible.
    ///
    /// # Errors
    ///
    /// Any error of the system, also if a component has become a link. The old file is
    /// unchanged then.
    pub fn write(&self, content: &[u8]) -> io::Result<FileStatus> {
        super::atomic::write_real(self, content)
    }

    /// Opens the containing folder. Also returns the name in it.
    ///
    /// # Errors
    ///
    /// As for [`RealPath::open_folder`]; also for `/`, which has no parent.
    pub(crate) fn open_parent(&self) -> io::Result<(OpenFolder, &OsStr)> {
        let (parent, name) = self.split()?;
        Ok((OpenFolder::open(parent, FolderAccess::Lookup)?, name))
    }

    /// The containing folder and the name in it.
    ///
    /// # Errors
    ///
    /// The path is `/`, or another root.
    pub(super) fn split(&self) -> io::Result<(&Path, &OsStr)> {
        let parts = self.0.parent().zip(self.0.file_name());
        parts.ok_or_else(|| io::ErrorKind::IsADirectory.into())
    }

    /// The status of the file, or `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Any other error of the system.
    pub fn status(&self) -> io::Result<Option<FileStatus>> {
        // It has no parent to look it up in.
        if self.0.parent().is_none() {
            return FileStatus::at(&self.0).map(Some);
        }
        let found = self
            .open_parent()
            .and_then(|(parent, name)| parent.status(name));
        match found {
            Ok(status) => Ok(Some(status)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The path with all links followed. Components that don't exist are kept as they are, and a
/// dangling link leads to its target. A path that can't be resolved is returned unchanged; it
/// can't be written to either.
pub fn leads_to(path: &Path) -> PathBuf {
    paths::resolve(path).unwrap_or_else(|_| path.to_owned())
}

// Paths given by a model: taken literally, relative to the call's directory. Only a leading
// `~/` is expanded.

/// Resolves `text` against `cwd` without accessing the disk.
///
/// # Errors
///
/// [`ToolError::InvalidInput`] if it is empty, contains a NUL, or starts with `~/` and there is
/// no home directory.
pub fn resolve(cwd: &Path, text: &str) -> Result<PathBuf, ToolError> {
    resolve_from(cwd, std::env::home_dir(), text)
}

/// Returns an absolute path as it is spelled, without `.` and `..`. Follows no links: `x/..` is
/// the folder that `x` is in, wherever `x` leads.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // The parent of the root is the root.
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// The path in the argument `path` of a call; empty if it has none that is valid.
pub(crate) fn named_path(input: &Value, cwd: &Path) -> Vec<PathBuf> {
    let text = input.get("path").and_then(Value::as_str);
    // The call itself reports an invalid path.
    text.and_then(|it| resolve(cwd, it).ok())
        .into_iter()
        .collect()
}

fn resolve_from(cwd: &Path, home: Option<PathBuf>, text: &str) -> Result<PathBuf, ToolError> {
    let invalid = |problem: &str| Err(ToolError::InvalidInput(problem.to_owned()));
    if text.is_empty() {
        return invalid("The path is empty. Nothing was done.");
    }
    if text.contains('\0') {
        return invalid("The path contains a NUL character. Nothing was done.");
    }
    match (text.strip_prefix("~/"), home) {
        // `join` would take a further `/` for the root.
        (Some(rest), Some(home)) => Ok(home.join(rest.trim_start_matches('/'))),
        (Some(_), None) => invalid("The path starts with ~/ but there is no home directory."),
        (None, _) => Ok(cwd.join(text)),
    }
}

// Opens regular files and nothing else, because reading a FIFO, device, or socket may block
// forever or never end.

/// A regular file, opened for reading.
pub(crate) struct Opened {
    /// The file, positioned at its start.
    pub file: File,
    /// Its status after opening.
    pub status: FileStatus,
}

/// Opens `path` for reading without following links. Never blocks.
///
/// # Errors
///
/// [`ToolError::NotFound`] if it does not exist, [`ToolError::Failed`] if it is not a regular
/// file or can't be read.
pub(crate) fn open_regular(path: &RealPath) -> Result<Opened, ToolError> {
    let error = |error| file_error("read", path.as_path(), &error);
    if path.as_path().parent().is_none() {
        // It has no parent in which it could be opened.
        check_regular(path.as_path(), FileKind::Folder)?;
    }
    let (folder, name) = path.open_parent().map_err(error)?;
    open_regular_in(&folder, Path::new(name), path.as_path())
}

/// Opens a file like [`open_regular`], by its name in a folder. Messages show it as `path`.
///
/// # Errors
///
/// As [`open_regular`].
pub(crate) fn open_regular_in(
    folder: &OpenFolder,
    name: &Path,
    path: &Path,
) -> Result<Opened, ToolError> {
    let error = |error| file_error("read", path, &error);
    // Checked before opening, because opening a device can already have an effect.
    let status = folder.status(name.as_os_str()).map_err(error)?;
    check_regular(path, status.kind)?;
    // Never blocks, because the file may have been replaced since the check.
    let file = folder.file(name).map_err(error)?;
    let status = FileStatus::of(&file).map_err(error)?;
    if !status.is_file() {
        return Err(changed(path));
    }
    Ok(Opened { file, status })
}

/// Checks that the type is that of a regular file.
///
/// # Errors
///
/// [`ToolError::Failed`] with what the path is instead.
pub(super) fn check_regular(path: &Path, kind: FileKind) -> Result<(), ToolError> {
    let instead = match kind {
        FileKind::File => return Ok(()),
        FileKind::Folder => "a directory; use bash with ls to list it",
        FileKind::Pipe => "a named pipe, not a file",
        FileKind::Socket => "a socket, not a file",
        FileKind::Link => return Err(changed(path)),
        FileKind::Device | FileKind::Unknown => "a device, not a file",
    };
    Err(ToolError::Failed(format!(
        "{} is {instead}.",
        path.display()
    )))
}

/// The error for a path that is no longer what it was when it was resolved.
fn changed(path: &Path) -> ToolError {
    ToolError::Failed(format!(
        "{} changed to something else in the meantime. Nothing was done. Try again.",
        path.display()
    ))
}

// Creates the folders that a new file needs, without following links.

/// The opened folder of a file. Folders created for it are removed again on drop unless
/// [`Parents::keep`] is called.
pub(crate) struct Parents {
    /// The folder of the file.
    pub folder: OpenFolder,
    /// The created folders, outermost first: parent and name.
    made: Vec<(OpenFolder, Box<OsStr>)>,
}

impl Parents {
    /// Opens the folder of `path` and creates missing folders.
    ///
    /// # Errors
    ///
    /// Any error of the system. Folders created so far are removed.
    pub(crate) fn make(path: &RealPath) -> io::Result<Self> {
        match path.open_parent() {
            Ok((folder, _)) => {
                return Ok(Self {
                    folder,
                    made: Vec::new(),
                });
            }
            // Missing folders are created below.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let (parent, _) = path.split()?;
        let mut it = Self {
            folder: OpenFolder::root_of(parent)?,
            made: Vec::new(),
        };
        for part in parent.components() {
            if let Component::Normal(name) = part {
                it.step(name)?;
            }
        }
        Ok(it)
    }

    fn step(&mut self, name: &OsStr) -> io::Result<()> {
        let open = |folder: &OpenFolder| folder.folder(Path::new(name), FolderAccess::Lookup);
        let next = match open(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match self.folder.make_folder(name) {
                    Ok(()) => self.made.push((self.folder.try_clone()?, name.into())),
                    // Another process created it at the same moment and owns it.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                }
                open(&self.folder)
            }
            opened => opened,
        };
        self.folder = next?;
        Ok(())
    }

    /// Keeps the created folders.
    pub(crate) fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for Parents {
    fn drop(&mut self) {
        while let Some((folder, name)) = self.made.pop() {
            // Windows removes no folder that is held open.
            self.folder = folder;
            // Fails if another process uses the folder by now.
            let _ = self.folder.remove_folder(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::symlink;

    use super::*;

    fn world() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("inside")).unwrap();
        std::fs::create_dir_all(root.join("outside")).unwrap();
        std::fs::write(root.join("outside/f"), "f").unwrap();
        (folder, root)
    }

    #[test]
    fn a_path_leads_where_its_links_do_also_when_nothing_is_there() {
        let (_folder, root) = world();
        symlink(root.join("outside"), root.join("inside/link")).unwrap();
        symlink("../outside/none", root.join("inside/dangling")).unwrap();
        symlink(root.join("inside/circle"), root.join("inside/circle")).unwrap();
        for (path, expected) in [
            ("inside/new/file", "inside/new/file"),
            ("inside/link/file", "outside/file"),
            ("inside/link/../file", "file"),
            ("inside/new/../../outside/x", "outside/x"),
            ("inside/dangling", "outside/none"),
            ("inside/./link", "outside"),
        ] {
            assert_eq!(
                paths::resolve(&root.join(path)),
                Ok(root.join(expected)),
                "{path}"
            );
        }
        assert_eq!(
            paths::resolve(&root.join("inside/circle")),
            Err(UnresolvedPath::Circle)
        );
    }

    #[test]
    fn a_link_made_after_resolving_is_not_followed() {
        let (_folder, root) = world();
        std::fs::create_dir(root.join("inside/d")).unwrap();
        std::fs::write(root.join("inside/d/f"), "f").unwrap();
        let real = RealPath::of(&root.join("inside/d/f")).unwrap();
        assert!(matches!(real.open_file(), Ok(Some(_))));
        assert!(real.status().unwrap().is_some());
        std::fs::remove_dir_all(root.join("inside/d")).unwrap();
        symlink(root.join("outside"), root.join("inside/d")).unwrap();
        assert!(real.open_file().is_err());
        assert!(real.open_parent().is_err());
        assert!(real.status().is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn links_of_processes_are_refused_and_others_below_proc_are_not() {
        for path in [
            "/proc/self/root/etc/hosts",
            "/proc/self/cwd/x",
            "/proc/thread-self/root/x",
            "/dev/fd/0",
        ] {
            assert_eq!(
                paths::resolve(Path::new(path)),
                Err(UnresolvedPath::MagicLink),
                "{path}"
            );
        }
        let own = format!("/proc/{}/mounts", std::process::id());
        assert_eq!(
            paths::resolve(Path::new("/proc/mounts")),
            Ok(PathBuf::from(own))
        );
    }

    fn resolved(text: &str) -> PathBuf {
        resolve_from(Path::new("/p"), Some("/home/me".into()), text).unwrap()
    }

    #[test]
    fn relative_paths_start_at_the_calls_directory() {
        assert_eq!(resolved("a/b"), Path::new("/p/a/b"));
        assert_eq!(resolved("/etc/hosts"), Path::new("/etc/hosts"));
        assert_eq!(resolved("~/x"), Path::new("/home/me/x"));
    }

    #[test]
    fn nothing_else_is_expanded() {
        for text in [
            "~user/x", "$HOME/x", "`id`", "$(id)", "*", "%:p", "{a,b}", "~", "a ",
        ] {
            assert_eq!(resolved(text), Path::new("/p").join(text));
        }
    }

    #[test]
    fn an_empty_path_and_a_nul_are_refused() {
        for text in ["", "a\0b"] {
            let refused = resolve(Path::new("/p"), text);
            assert!(matches!(refused, Err(ToolError::InvalidInput(_))));
        }
    }
}
