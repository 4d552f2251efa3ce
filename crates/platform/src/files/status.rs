//! The status of a file, as the system reports it.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(unix)]
use rustix::fs::{FileType, Stat, fstat, lstat, stat};

#[cfg(windows)]
use super::windows::handle::{self, DIRECTORY, READ_ONLY, REPARSE_POINT};

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

#[cfg(unix)]
impl FileKind {
    pub(super) fn from_type(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            FileType::Unknown => Self::Unknown,
        }
    }
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
        #[cfg(unix)]
        {
            Ok(Self::from_stat(&fstat(file)?))
        }
        #[cfg(windows)]
        {
            let information = winapi_util::file::information(file)?;
            let attributes = u32::try_from(information.file_attributes()).unwrap_or(u32::MAX);
            let kind =
                if attributes & REPARSE_POINT != 0 && file.metadata()?.file_type().is_symlink() {
                    FileKind::Link
                } else if attributes & DIRECTORY != 0 {
                    FileKind::Folder
                } else {
                    FileKind::File
                };
            let modified = nanoseconds(information.last_write_time());
            Ok(Self {
                kind,
                size: information.file_size(),
                modified,
                // A copy of a file keeps the time of its content, but gets one of its creation.
                changed: modified.max(nanoseconds(information.creation_time())),
                id: FileId {
                    device: information.volume_serial_number(),
                    inode: information.file_index(),
                },
                mode: mode(kind, attributes & READ_ONLY != 0),
                links: information.number_of_links(),
            })
        }
    }

    /// The status of the file that a path leads to.
    ///
    /// # Errors
    ///
    /// Any error of the system; `NotFound` if it does not exist.
    pub fn at(path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        {
            Ok(Self::from_stat(&stat(path)?))
        }
        #[cfg(windows)]
        {
            Self::of(&handle::to_look_at(handle::FOLLOW).open(path)?)
        }
    }

    /// The status of the file at a path. A link is not followed.
    ///
    /// # Errors
    ///
    /// As for [`FileStatus::at`].
    pub fn of_link(path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        {
            Ok(Self::from_stat(&lstat(path)?))
        }
        #[cfg(windows)]
        {
            Self::of(&handle::to_look_at(handle::NO_FOLLOW).open(path)?)
        }
    }

    /// Returns true if it is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == FileKind::File
    }

    /// The permission bits of the mode.
    pub fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    #[cfg(unix)]
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_cast,
        reason = "other sizes on macOS"
    )]
    pub(super) fn from_stat(stat: &Stat) -> Self {
        /// Nanoseconds of a second.
        const SECOND: i64 = 1_000_000_000;
        // A program can set the modification time to any number.
        let time = |seconds: i64, nanos: i64| seconds.saturating_mul(SECOND).saturating_add(nanos);
        Self {
            kind: FileKind::from_type(FileType::from_raw_mode(stat.st_mode)),
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            id: FileId {
                device: u64::try_from(stat.st_dev).unwrap_or_default(),
                inode: u64::from(stat.st_ino),
            },
            mode: u32::from(stat.st_mode),
            links: u64::from(stat.st_nlink),
        }
    }
}

/// A mode for a file, as if it had one.
#[cfg(windows)]
fn mode(kind: FileKind, is_read_only: bool) -> u32 {
    match (kind, is_read_only) {
        (FileKind::Folder, _) => 0o040_755,
        (FileKind::Link, _) => 0o120_777,
        (_, true) => 0o100_444,
        (_, false) => 0o100_644,
    }
}

/// A time in nanoseconds since 1970.
#[cfg(windows)]
fn nanoseconds(time: Option<u64>) -> i64 {
    /// The time 1970 in units of 100 nanoseconds since 1601.
    const UNIX_EPOCH: u64 = 116_444_736_000_000_000;
    let since = time.unwrap_or_default().saturating_sub(UNIX_EPOCH);
    i64::try_from(since.saturating_mul(100)).unwrap_or(i64::MAX)
}
