//! Files by paths whose folders are held open, because names cannot be looked up in a handle.

mod folder;
mod handle;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::windows::fs::FileExt;
use std::path::Path;

pub(super) use folder::{Folder, OldFile};
pub(super) use handle::status_of;

use super::FileStatus;

pub(super) const LOCKED_IS_READABLE: bool = false;

pub(super) fn status_at(path: &Path) -> io::Result<FileStatus> {
    status_of(&handle::to_look_at(handle::FOLLOW).open(path)?)
}

pub(super) fn status_of_link(path: &Path) -> io::Result<FileStatus> {
    status_of(&handle::to_look_at(handle::NO_FOLLOW).open(path)?)
}

pub(super) fn make_private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

pub(super) fn private_folders() -> DirBuilder {
    DirBuilder::new()
}

pub(super) fn restrict_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn open_no_link(path: &Path) -> io::Result<File> {
    handle::open_file(path, OpenOptions::new().read(true))
}

pub(super) fn copy_blocks(_: &File, _: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn read_exact_at(file: &File, bytes: &mut [u8], position: u64) -> io::Result<()> {
    let mut read = 0;
    while read < bytes.len() {
        match file.seek_read(&mut bytes[read..], position + read as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => read += count,
        }
    }
    Ok(())
}
