//! Files by descriptors: every name is looked up in an open folder.

mod attributes;
mod folder;

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, lstat, stat};

pub(super) use folder::{Folder, OldFile};

use super::{FileId, FileKind, FileStatus};

pub(super) const LOCKED_IS_READABLE: bool = true;

/// Mode of a file that only the user can access.
const PRIVATE_FILE: u32 = 0o600;
/// Mode of a folder that only the user can access.
const PRIVATE_FOLDER: u32 = 0o700;
/// Permissions of other users than the owner.
const OTHERS: u32 = 0o077;
/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;

pub(super) fn status_of(file: &File) -> io::Result<FileStatus> {
    Ok(status(&fstat(file)?))
}

pub(super) fn status_at(path: &Path) -> io::Result<FileStatus> {
    Ok(status(&stat(path)?))
}

pub(super) fn status_of_link(path: &Path) -> io::Result<FileStatus> {
    Ok(status(&lstat(path)?))
}

#[allow(
    clippy::useless_conversion,
    clippy::unnecessary_cast,
    reason = "other sizes on macOS"
)]
fn status(stat: &Stat) -> FileStatus {
    // A program can set the modification time to any number.
    let time = |seconds: i64, nanos: i64| seconds.saturating_mul(SECOND).saturating_add(nanos);
    FileStatus {
        kind: kind(FileType::from_raw_mode(stat.st_mode)),
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

fn kind(kind: FileType) -> FileKind {
    match kind {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Folder,
        FileType::Symlink => FileKind::Link,
        FileType::Fifo => FileKind::Pipe,
        FileType::Socket => FileKind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => FileKind::Device,
        FileType::Unknown => FileKind::Unknown,
    }
}

pub(super) fn make_private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(PRIVATE_FILE)
}

pub(super) fn private_folders() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(PRIVATE_FOLDER);
    builder
}

pub(super) fn restrict_folder(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.permissions().mode() & OTHERS != 0 {
        // Fails for another user's folder, which is tolerable: our files in it have mode 0600.
        let _ = fs::set_permissions(path, Permissions::from_mode(PRIVATE_FOLDER));
    }
    Ok(())
}

pub(super) fn open_no_link(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(target_os = "linux")]
pub(super) fn copy_blocks(from: &File, to: &File) -> io::Result<()> {
    Ok(rustix::fs::ioctl_ficlone(to, from)?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn copy_blocks(_: &File, _: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn read_exact_at(file: &File, bytes: &mut [u8], position: u64) -> io::Result<()> {
    file.read_exact_at(bytes, position)
}
