//! A folder that is held open, so that names in it are looked up there and nowhere else.

#[cfg(unix)]
use super::unix as system;
#[cfg(windows)]
use super::windows as system;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::{FileKind, FileStatus};

/// A folder that is held open. No operation follows a link below it, also one that was made just
/// now. On Unix names are looked up in the open folder itself. On Windows, folders of the path
/// cannot be renamed or removed while it is held, so that the path stays that of the folder.
///
/// A name is the name of an entry: neither `.` nor `..`, and without separators.
#[derive(Debug)]
pub struct OpenFolder(pub(super) system::Folder);

/// What a folder is opened for.
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

/// An existing file that will be replaced. On Windows it is not held open, because the system
/// replaces no open file on some disks.
#[derive(Debug)]
pub struct OldFile(pub(super) system::OldFile);

impl OldFile {
    /// Its status.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn status(&self) -> io::Result<FileStatus> {
        self.0.status()
    }
}

/// Attributes of a file that is created.
#[derive(Debug, Clone, Copy)]
pub enum NewFileAttributes<'a> {
    /// Those of any new file of the user.
    Usual,
    /// Those of another file that it replaces: owner, mode, access control list, and extended
    /// attributes. On Windows attributes such as "hidden", but no access list: the file inherits
    /// that of its folder.
    Like(&'a OldFile),
}

impl OpenFolder {
    /// Opens an absolute path without following links.
    ///
    /// # Errors
    ///
    /// Any error of the system; also if a component is a link or no folder.
    pub fn open(path: &Path, access: FolderAccess) -> io::Result<Self> {
        system::Folder::open(path, access).map(Self)
    }

    /// Opens a path to list it. The folder itself must be no link, but those above it may be,
    /// which is faster. On Windows this holds only the folder itself.
    ///
    /// # Errors
    ///
    /// Any error of the system; also if the path is a link or no folder.
    pub fn open_last(path: &Path) -> io::Result<Self> {
        system::Folder::open_last(path).map(Self)
    }

    /// Opens the root that an absolute path begins with, to look up names.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn root_of(path: &Path) -> io::Result<Self> {
        system::Folder::root_of(path).map(Self)
    }

    /// Opens a folder below this one. The path is relative and has no `..`; empty for this
    /// folder.
    ///
    /// # Errors
    ///
    /// As for [`OpenFolder::open`].
    pub fn folder(&self, path: &Path, access: FolderAccess) -> io::Result<Self> {
        self.0.folder(path, access).map(Self)
    }

    /// Opens a file below this folder for reading. Never blocks, so it may also be a pipe. The
    /// path is relative and has no `..`.
    ///
    /// # Errors
    ///
    /// Any error of the system; also if a component is a link.
    pub fn file(&self, path: &Path) -> io::Result<File> {
        self.0.file(path)
    }

    /// Opens an existing file to overwrite it. Also returns whether it can be read. Never blocks.
    ///
    /// # Errors
    ///
    /// As for [`OpenFolder::file`].
    pub fn file_to_overwrite(&self, name: &OsStr) -> io::Result<(File, bool)> {
        self.0.file_to_overwrite(name)
    }

    /// Opens an existing file that will be replaced: for reading or, without permission for
    /// that, for writing. Never blocks.
    ///
    /// # Errors
    ///
    /// As for [`OpenFolder::file`].
    pub fn file_to_replace(&self, name: &OsStr) -> io::Result<OldFile> {
        self.0.file_to_replace(name).map(OldFile)
    }

    /// Checks that the user may write an existing file. Returns no error on Windows, where only the
    /// attempt shows that.
    ///
    /// # Errors
    ///
    /// `PermissionDenied`, `ReadOnlyFilesystem`, or another error of the system.
    pub fn check_writable(&self, name: &OsStr) -> io::Result<()> {
        self.0.check_writable(name)
    }

    /// Creates a file, opened for writing.
    ///
    /// # Errors
    ///
    /// Any error of the system; `AlreadyExists` if something has the name, and `Unsupported` if
    /// the attributes cannot be given to it.
    pub fn create(&self, name: &OsStr, attributes: NewFileAttributes<'_>) -> io::Result<File> {
        self.0.create(name, attributes)
    }

    /// Creates a file without a name, which the system removes if this process is killed.
    ///
    /// # Errors
    ///
    /// As for [`OpenFolder::create`]; `Unsupported` on all systems but Linux.
    pub fn create_unnamed(&self, attributes: NewFileAttributes<'_>) -> io::Result<File> {
        self.0.create_unnamed(attributes)
    }

    /// Gives a name to a file without one.
    ///
    /// # Errors
    ///
    /// Any error of the system; `AlreadyExists` if something has the name.
    pub fn give_name(&self, file: &File, name: &OsStr) -> io::Result<()> {
        self.0.give_name(file, name)
    }

    /// The status of an entry. A link is not followed.
    ///
    /// # Errors
    ///
    /// Any error of the system; `NotFound` if it does not exist.
    pub fn status(&self, name: &OsStr) -> io::Result<FileStatus> {
        self.0.status(name)
    }

    /// The status of the folder itself.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn own_status(&self) -> io::Result<FileStatus> {
        self.0.own_status()
    }

    /// The entries, in any order. The folder was opened with [`FolderAccess::List`].
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn entries(&self) -> io::Result<impl Iterator<Item = io::Result<FolderEntry>> + '_> {
        self.0.entries()
    }

    /// The target of a link, as it is stored.
    ///
    /// # Errors
    ///
    /// Any error of the system; also if it is no link.
    pub fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        self.0.read_link(name)
    }

    /// Creates a symbolic link. Windows permits that to few users.
    ///
    /// # Errors
    ///
    /// Any error of the system; `AlreadyExists` if something has the name.
    pub fn make_link(&self, target: &Path, name: &OsStr) -> io::Result<()> {
        self.0.make_link(target, name)
    }

    /// Creates a folder.
    ///
    /// # Errors
    ///
    /// Any error of the system; `AlreadyExists` if something has the name.
    pub fn make_folder(&self, name: &OsStr) -> io::Result<()> {
        self.0.make_folder(name)
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        self.0.remove_file(name)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        self.0.remove_folder(name)
    }

    /// Renames a file in this folder. Replaces a file of the new name in one step.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.0.rename(from, to)
    }

    /// Renames a file to a name in another folder, unless something has that name.
    ///
    /// # Errors
    ///
    /// Any error of the system; `AlreadyExists` if something has the name. `Unsupported` or
    /// `InvalidInput` if the file system cannot do that in one step.
    pub fn rename_to_free(&self, from: &OsStr, folder: &Self, to: &OsStr) -> io::Result<()> {
        self.0.rename_to_free(from, &folder.0, to)
    }

    /// Sets the permission bits of a file or folder. On Windows, a mode without 0200 makes it
    /// read-only, and nothing else has an effect. Never blocks.
    ///
    /// # Errors
    ///
    /// As for [`OpenFolder::file`].
    pub fn set_permissions(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        self.0.set_permissions(name, mode)
    }

    /// Waits until renames in the folder are on the disk. Does nothing on Windows, where the
    /// journal of the file system has them.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    /// Another handle on the same folder.
    ///
    /// # Errors
    ///
    /// The process has too many open files.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }
}
