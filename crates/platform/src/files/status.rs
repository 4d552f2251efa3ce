//! What the system says about a file.

#[cfg(unix)]
use super::unix as system;
#[cfg(windows)]
use super::windows as system;

use std::fs::File;
use std::io;
use std::path::Path;

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link or, on Windows, a junction.
    Link,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A device.
    Device,
    /// Unknown.
    Unknown,
}

/// Identifies a file on this machine, whatever its names: device and inode, or volume and file
/// index on Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    /// The device; the serial number of the volume on Windows.
    pub device: u64,
    /// The inode; the index of the file on Windows.
    pub inode: u64,
}

/// The status of a file. It changes whenever the content does, if only by a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStatus {
    /// The type.
    pub kind: FileKind,
    /// Size in bytes.
    pub size: u64,
    /// When the content was changed, in nanoseconds since 1970. Programs can set it.
    pub modified: i64,
    /// When content or status were changed, in nanoseconds since 1970. No program can set it,
    /// except on Windows: there it is the later one of creation and last change.
    pub changed: i64,
    /// Which file it is.
    pub id: FileId,
    /// Type and permissions as in `st_mode` of POSIX. On Windows, a file has 0644, or 0444 if it is
    /// read-only.
    pub mode: u32,
    /// Number of names.
    pub links: u64,
}

impl FileStatus {
    /// The status of an open file.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn of(file: &File) -> io::Result<Self> {
        system::status_of(file)
    }

    /// The status of the file that a path leads to.
    ///
    /// # Errors
    ///
    /// Any error of the system; `NotFound` if it does not exist.
    pub fn at(path: &Path) -> io::Result<Self> {
        system::status_at(path)
    }

    /// The status of the file at a path. A link is not followed.
    ///
    /// # Errors
    ///
    /// As for [`FileStatus::at`].
    pub fn of_link(path: &Path) -> io::Result<Self> {
        system::status_of_link(path)
    }

    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == FileKind::File
    }

    /// The permission bits of the mode.
    pub fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }
}
