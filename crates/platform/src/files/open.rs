//! Files and folders that only the user can access, and operations on open files.

#[cfg(unix)]
use super::unix as system;
#[cfg(windows)]
use super::windows as system;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Whether a file that another process has locked can be read. False on Windows.
pub const LOCKED_IS_READABLE: bool = system::LOCKED_IS_READABLE;

/// Options that create a file which only the user can access.
pub trait PrivateOptions {
    /// A file that is created gets mode 0600. On Windows it inherits the access list of its folder,
    /// which is that of the user's profile.
    fn private(&mut self) -> &mut Self;
}

impl PrivateOptions for OpenOptions {
    fn private(&mut self) -> &mut Self {
        system::make_private(self)
    }
}

/// Creates a folder with mode 0700. On Windows it inherits the access list of the folder above.
///
/// # Errors
///
/// Any error of the system; `AlreadyExists` if something has its name.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    system::private_folders().create(path)
}

/// Creates a folder, and those above it, like [`make_private_folder`], unless it exists.
///
/// # Errors
///
/// A folder cannot be created.
pub fn make_private_folders(path: &Path) -> io::Result<()> {
    system::private_folders().recursive(true).create(path)
}

/// Gives an existing folder mode 0700, if it belongs to this user. Does nothing on Windows, as
/// [`make_private_folder`].
///
/// # Errors
///
/// It does not exist, or cannot be accessed.
pub fn restrict_folder(path: &Path) -> io::Result<()> {
    system::restrict_folder(path)
}

/// Opens a file for reading, unless the path itself is a link. Never blocks, so it may also be a
/// pipe.
///
/// # Errors
///
/// Any error of the system; also for a link.
pub fn open_no_link(path: &Path) -> io::Result<File> {
    system::open_no_link(path)
}

/// Makes the content of an empty file that of another one, of which it shares the blocks.
///
/// # Errors
///
/// `Unsupported` on file systems that cannot do that, and on all systems but Linux.
pub fn copy_blocks(from: &File, to: &File) -> io::Result<()> {
    system::copy_blocks(from, to)
}

/// Reads bytes at a position of a file. On Windows this moves the position of the file.
///
/// # Errors
///
/// Any error of the system; `UnexpectedEof` if the file is shorter.
pub fn read_exact_at(file: &File, bytes: &mut [u8], position: u64) -> io::Result<()> {
    system::read_exact_at(file, bytes, position)
}
