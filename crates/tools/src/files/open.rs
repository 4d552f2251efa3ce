//! Opens regular files and nothing else, because reading a FIFO, device, or socket may block
//! forever or never end.

use std::fs::File;
use std::path::Path;

use platform::files::{FileKind, FileStatus, OpenFolder};

use super::{RealPath, file_error};
use crate::error::ToolError;

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
