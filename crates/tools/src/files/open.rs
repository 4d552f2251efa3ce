//! Opens regular files and nothing else.
//!
//! A FIFO, a device or a socket would wait for ever or have no end.

use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::file_error;
use crate::tool::ToolError;

/// A regular file, open for reading.
pub(crate) struct Opened {
    /// The file, at its start.
    pub file: File,
    /// Its metadata, of the same moment.
    pub metadata: Metadata,
}

/// Opens `path` for reading. Never waits.
///
/// # Errors
///
/// [`ToolError::NotFound`] when it does not exist, [`ToolError::Failed`] when it is
/// not a regular file or must not be read.
pub(crate) fn open_regular(path: &Path) -> Result<Opened, ToolError> {
    let error = |error| file_error("read", path, &error);
    // Looked at before it is opened: opening a device can already do something.
    check_regular(path, &path.metadata().map_err(error)?)?;
    // Non-blocking, as the file may be another one by now.
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(path)
        .map_err(error)?;
    let metadata = file.metadata().map_err(error)?;
    check_regular(path, &metadata)?;
    Ok(Opened { file, metadata })
}

/// # Errors
///
/// [`ToolError::Failed`] says what the path is instead.
pub(super) fn check_regular(path: &Path, metadata: &Metadata) -> Result<(), ToolError> {
    let kind = metadata.file_type();
    let instead = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        "a directory; use bash with ls to list it"
    } else if kind.is_fifo() {
        "a named pipe, not a file"
    } else if kind.is_socket() {
        "a socket, not a file"
    } else {
        "a device, not a file"
    };
    Err(ToolError::Failed(format!(
        "{} is {instead}.",
        path.display()
    )))
}
