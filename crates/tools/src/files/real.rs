//! Paths that are resolved once and then opened without following links.
//!
//! A decision about a path would be worthless if the path could become a link before the file
//! is opened. So links are followed once, the decision is about the result, and every later
//! open refuses links.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use platform::files::{FileKind, FileStatus, FolderAccess, OpenFolder};
use platform::paths::{self, UnresolvedPath};

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

#[cfg(test)]
mod tests;
