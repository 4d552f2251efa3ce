//! Files: folders that are held open, what the system says about a file, and files that only the
//! user can read.

mod status;
#[cfg(test)]
mod tests;
/// Files by descriptors: every name is looked up in an open folder.
#[cfg(unix)]
mod unix {
    mod attributes;
    pub mod folder;
}
/// Files by paths whose folders are held open, because names cannot be looked up in a handle.
#[cfg(windows)]
mod windows {
    #[allow(missing_docs, reason = "the methods are documented for Unix")]
    pub mod folder;
    pub mod handle;
}

use std::ffi::OsString;
#[cfg(unix)]
use std::fs::{self, Permissions};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

pub use status::{FileId, FileKind, FileStatus};
#[cfg(unix)]
pub use unix::folder::{OldFile, OpenFolder};
#[cfg(windows)]
pub use windows::folder::{OldFile, OpenFolder};

/// Mode of a file that only the user can access.
#[cfg(unix)]
const PRIVATE_FILE: u32 = 0o600;
/// Mode of a folder that only the user can access.
#[cfg(unix)]
const PRIVATE_FOLDER: u32 = 0o700;
/// Permissions of other users than the owner.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// The purpose for which a folder is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderAccess {
    /// To look up names, which needs no permission to list it.
    Lookup,
    /// To list its entries, too.
    List,
}

/// An entry of a folder.
#[derive(Debug)]
pub struct FolderEntry {
    /// Its name.
    pub name: OsString,
    /// Its type. Links are not followed.
    pub kind: FileKind,
}

/// Attributes of a file that is created.
#[derive(Debug, Clone, Copy)]
pub enum NewFileAttributes<'a> {
    /// The defaults for a new file of the user.
    Usual,
    /// The attributes of the file that it replaces: owner, mode, access control list, and extended
    /// attributes. On Windows, attributes such as "hidden" without the access control list, which the
    /// file inherits from its folder.
    Like(&'a OldFile),
}

/// True if a file that another process has locked can be read. False on Windows.
pub const LOCKED_IS_READABLE: bool = cfg!(unix);

/// Options that create a file which only the user can access.
pub trait PrivateOptions {
    /// A file that is created gets mode 0600. On Windows it inherits the access list of its folder,
    /// which is that of the user's profile.
    fn private(&mut self) -> &mut Self;
}

impl PrivateOptions for OpenOptions {
    fn private(&mut self) -> &mut Self {
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(self, PRIVATE_FILE);
        self
    }
}

/// Creates a folder with mode 0700. On Windows it inherits the access list of the folder above.
///
/// # Errors
///
/// Any error of the system; `AlreadyExists` if something has its name.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    private_folders().create(path)
}

/// Creates a folder, and those above it, like [`make_private_folder`], unless it exists.
///
/// # Errors
///
/// A folder cannot be created.
pub fn make_private_folders(path: &Path) -> io::Result<()> {
    private_folders().recursive(true).create(path)
}

/// A builder of folders with mode 0700.
fn private_folders() -> DirBuilder {
    #[cfg(unix)]
    {
        let mut builder = DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, PRIVATE_FOLDER);
        builder
    }
    #[cfg(windows)]
    {
        DirBuilder::new()
    }
}

/// Gives an existing folder mode 0700, if it belongs to this user. Does nothing on Windows, as
/// [`make_private_folder`].
///
/// # Errors
///
/// It does not exist, or cannot be accessed.
pub fn restrict_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if fs::metadata(path)?.permissions().mode() & OTHERS != 0 {
            // Fails for another user's folder, which is tolerable: our files in it have mode 0600.
            let _ = fs::set_permissions(path, Permissions::from_mode(PRIVATE_FOLDER));
        }
    }
    #[cfg(windows)]
    let _ = path;
    Ok(())
}

/// Opens a file for reading, unless the path itself is a link. Never blocks, so it may also be a
/// pipe.
///
/// # Errors
///
/// Any error of the system; also for a link.
pub fn open_no_link(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
    }
    #[cfg(windows)]
    {
        windows::handle::open_file(path, OpenOptions::new().read(true))
    }
}

/// Makes the content of an empty file that of another one, of which it shares the blocks.
///
/// # Errors
///
/// `Unsupported` on file systems that cannot do that, and on all systems but Linux.
pub fn copy_blocks(from: &File, to: &File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        Ok(rustix::fs::ioctl_ficlone(to, from)?)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (from, to);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Returns how many bytes an unprivileged user can still write to the file system of `path`.
///
/// # Errors
///
/// Any error of the system; `Unsupported` on Windows.
pub fn free_space(path: &Path) -> io::Result<u64> {
    #[cfg(unix)]
    {
        let status = rustix::fs::statvfs(path)?;
        Ok(status.f_bavail.saturating_mul(status.f_frsize))
    }
    #[cfg(windows)]
    {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Reads bytes at a position of a file. On Windows this moves the position of the file.
///
/// # Errors
///
/// Any error of the system; `UnexpectedEof` if the file is shorter.
pub fn read_exact_at(file: &File, bytes: &mut [u8], position: u64) -> io::Result<()> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::read_exact_at(file, bytes, position)
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::FileExt;
        let mut read = 0;
        while read < bytes.len() {
            match file.seek_read(&mut bytes[read..], position + read as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => read += count,
            }
        }
        Ok(())
    }
}
