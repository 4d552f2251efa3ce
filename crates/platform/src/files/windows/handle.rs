//! Handles on files and folders, opened as the file itself and not what a link leads to.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use winapi_util::file::information;

use super::super::{FileKind, FileStatus, FolderAccess};

/// Access to the entries of a folder.
const LIST_DIRECTORY: u32 = 0x01;
/// Access to the names in a folder. Others cannot delete or rename what is open with it, unless it
/// is shared for that; access to attributes alone does not count.
const TRAVERSE: u32 = 0x20;
const READ_ATTRIBUTES: u32 = 0x80;
const WRITE_ATTRIBUTES: u32 = 0x100;
const SYNCHRONIZE: u32 = 0x0010_0000;

const SHARE_READ: u32 = 1;
const SHARE_WRITE: u32 = 2;
const SHARE_DELETE: u32 = 4;

/// Needed to open a folder (`FILE_FLAG_BACKUP_SEMANTICS`).
const FOLDERS: u32 = 0x0200_0000;
/// Opens a link itself (`FILE_FLAG_OPEN_REPARSE_POINT`).
const LINKS: u32 = 0x0020_0000;
/// Flags for opening a file or folder through links.
pub const FOLLOW: u32 = FOLDERS;
/// Flags for opening a file, folder, or link.
pub const NO_FOLLOW: u32 = FOLDERS | LINKS;

pub const READ_ONLY: u32 = 0x01;
pub const DIRECTORY: u32 = 0x10;
pub const REPARSE_POINT: u32 = 0x400;
/// Attributes that a file keeps when it is replaced: hidden, system, archive, not indexed.
const KEPT: u32 = 0x02 | 0x04 | 0x20 | 0x2000;

/// Options for reading the status, with flags such as [`FOLLOW`].
pub fn to_look_at(flags: u32) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.access_mode(READ_ATTRIBUTES).custom_flags(flags);
    options
}

/// Options for changing attributes.
pub fn to_set_attributes() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.access_mode(READ_ATTRIBUTES | WRITE_ATTRIBUTES);
    options.custom_flags(NO_FOLLOW);
    options
}

/// Opens a folder. No program can rename or remove it until the handle is closed.
pub fn hold(path: &Path, access: FolderAccess) -> io::Result<File> {
    let open = |access| {
        OpenOptions::new()
            .access_mode(access)
            .share_mode(SHARE_READ | SHARE_WRITE)
            .custom_flags(NO_FOLLOW)
            .open(path)
    };
    let lookup = TRAVERSE | READ_ATTRIBUTES | SYNCHRONIZE;
    let held = match access {
        FolderAccess::List => open(lookup | LIST_DIRECTORY),
        FolderAccess::Lookup => match open(lookup) {
            // Most users may look up names in folders that they cannot open otherwise. This does
            // not hold the folder, but they cannot rename it either.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => open(READ_ATTRIBUTES),
            opened => opened,
        },
    }?;
    match FileStatus::of(&held)?.kind {
        FileKind::Folder => Ok(held),
        FileKind::Link => Err(is_link()),
        _ => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// Opens a file that is not a link.
pub fn open_file(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let shared = SHARE_READ | SHARE_WRITE | SHARE_DELETE;
    let open = |flags| {
        options
            .clone()
            .share_mode(shared)
            .custom_flags(flags)
            .open(path)
    };
    let file = open(LINKS)?;
    if attributes(&file)? & REPARSE_POINT == 0 {
        return Ok(file);
    }
    let status = FileStatus::of(&file)?;
    if status.kind == FileKind::Link {
        return Err(is_link());
    }
    // Other programs of the system store such a file in their own way, as for deduplication. It is
    // opened again to have its content.
    let content = open(0)?;
    if FileStatus::of(&content)?.id == status.id {
        Ok(content)
    } else {
        Err(is_link())
    }
}

/// The attributes for a file that replaces another one.
pub fn kept_attributes(old: &File) -> io::Result<u32> {
    Ok(attributes(old)? & KEPT)
}

fn attributes(file: &File) -> io::Result<u32> {
    let attributes = information(file)?.file_attributes();
    Ok(u32::try_from(attributes).unwrap_or(u32::MAX))
}

fn is_link() -> io::Error {
    io::Error::other("a part of the path is a link")
}
