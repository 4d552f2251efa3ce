//! Opens regular files and nothing else.
//!
//! A FIFO, a device or a socket would wait for ever or have no end.

use std::fs::{File, Metadata};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawMode, openat, statat};

use super::{RealPath, file_error};
use crate::error::ToolError;

/// A regular file, open for reading.
pub(crate) struct Opened {
    /// The file, at its start.
    pub file: File,
    /// Its metadata, of the same moment.
    pub metadata: Metadata,
}

/// Opens `path` for reading; follows no link. Never waits.
///
/// # Errors
///
/// [`ToolError::NotFound`] when it does not exist, [`ToolError::Failed`] when it is
/// not a regular file or must not be read.
pub(crate) fn open_regular(path: &RealPath) -> Result<Opened, ToolError> {
    let error = |error| file_error("read", path.as_path(), &error);
    if path.as_path() == Path::new("/") {
        check_regular(path.as_path(), FileType::Directory.as_raw_mode())?;
    }
    let (folder, name) = path.open_parent().map_err(error)?;
    open_regular_in(&folder, Path::new(name), path.as_path())
}

/// As [`open_regular`], for a name in a folder; `path` is how messages call it.
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
    // Looked at before it is opened: opening a device can already do something.
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|it| error(it.into()))?;
    check_regular(path, stat.st_mode)?;
    // Non-blocking, as the file may be another one by now.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty()).map_err(|it| error(it.into()))?;
    let file = File::from(file);
    let metadata = file.metadata().map_err(error)?;
    if !metadata.is_file() {
        return Err(changed(path));
    }
    Ok(Opened { file, metadata })
}

/// # Errors
///
/// [`ToolError::Failed`] says what the path is instead.
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

/// It was a file when its path was resolved.
fn changed(path: &Path) -> ToolError {
    ToolError::Failed(format!(
        "{} became something else meanwhile. Nothing was done. Try again.",
        path.display()
    ))
}
