//! Opens regular files and nothing else, because reading a FIFO, device, or socket may block
//! forever or never end.

use std::fs::{File, Metadata};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawMode, openat, statat};

use super::{RealPath, file_error};
use crate::error::ToolError;

/// A regular file, opened for reading.
pub(crate) struct Opened {
    /// The file, positioned at its start.
    pub file: File,
    /// Its metadata after opening.
    pub metadata: Metadata,
}

/// Opens `path` for reading without following links. Never blocks.
///
/// # Errors
///
/// [`ToolError::NotFound`] if it does not exist, [`ToolError::Failed`] if it is not a regular
/// file or can't be read.
pub(crate) fn open_regular(path: &RealPath) -> Result<Opened, ToolError> {
    let error = |error| file_error("read", path.as_path(), &error);
    if path.as_path() == Path::new("/") {
        // It has no parent in which it could be opened.
        check_regular(path.as_path(), FileType::Directory.as_raw_mode())?;
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
    folder: &OwnedFd,
    name: &Path,
    path: &Path,
) -> Result<Opened, ToolError> {
    let error = |error| file_error("read", path, &error);
    // Checked before opening, because opening a device can already have an effect.
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|it| error(it.into()))?;
    check_regular(path, stat.st_mode)?;
    // Non-blocking, because the file may have been replaced since the check.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty()).map_err(|it| error(it.into()))?;
    let file = File::from(file);
    let metadata = file.metadata().map_err(error)?;
    if !metadata.is_file() {
        return Err(changed(path));
    }
    Ok(Opened { file, metadata })
}

/// Checks that a mode is that of a regular file.
///
/// # Errors
///
/// [`ToolError::Failed`] with what the path is instead.
pub(super) fn check_regular(path: &Path, mode: RawMode) -> Result<(), ToolError> {
    let instead = match FileType::from_raw_mode(mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a directory; use bash with ls to list it",
        FileType::Fifo => "a named pipe, not a file",
        FileType::Socket => "a socket, not a file",
        FileType::Symlink => return Err(changed(path)),
        _ => "a device, not a file",
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
