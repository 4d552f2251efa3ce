//! A folder by its descriptor.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, RenameFlags, accessat, fchmod,
    fstat, fsync, mkdirat, openat, readlinkat, renameat, renameat_with, statat, symlinkat,
    unlinkat,
};
use rustix::io::{Errno, Result};

use super::super::{FileKind, FileStatus, FolderAccess, FolderEntry, NewFileAttributes};
use super::attributes;

/// Flags for opening a folder only to look up names, which needs no read permission.
#[cfg(target_os = "linux")]
const LOOKUP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
#[cfg(not(target_os = "linux"))]
const LOOKUP: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);
/// Flags for opening a folder to list it.
const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);
/// Flags for opening a file, which may be a pipe.
const FILE: OFlags = OFlags::NONBLOCK.union(LAST);
/// Flags of everything that is opened by its name.
const LAST: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

/// Mode of a new file before the umask.
const NEW_FILE: RawMode = 0o666;
/// Mode of a new file that gets the mode of another file later. Until then only the user can read
/// it.
const PRIVATE: RawMode = 0o600;
/// Mode of a new folder before the umask.
const NEW_FOLDER: RawMode = 0o777;

/// An existing file that will be replaced. On Windows it is not held open, because the system
/// replaces no open file on some disks.
#[derive(Debug)]
pub struct OldFile(File);

impl OldFile {
    /// Its status.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn status(&self) -> io::Result<FileStatus> {
        Ok(FileStatus::from_stat(&fstat(&self.0)?))
    }
}

/// A folder that is held open. No operation follows a link below it, also one that was made just
/// now. On Unix names are looked up in the open folder itself. On Windows, folders of the path
/// cannot be renamed or removed while it is held, so that the path stays that of the folder.
///
/// A name is the name of an entry: neither `.` nor `..`, and without separators.
#[derive(Debug)]
pub struct OpenFolder(OwnedFd);

impl OpenFolder {
    /// Opens an absolute path without following links.
    ///
    /// # Errors
    ///
    /// Any error of the system; also if a component is a link or no folder.
    pub fn open(path: &Path, access: FolderAccess) -> io::Result<Self> {
        let inner = path.strip_prefix("/").unwrap_or(path);
        Ok(Self(below(&Self::root()?, inner, flags(access))?))
    }

    /// Opens a path to list it. The folder itself must be no link, but those above it may be,
    /// which is faster. On Windows this holds only the folder itself.
    ///
    /// # Errors
    ///
    /// Any error of the system; also if the path is a link or no folder.
    pub fn open_last(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, path, LIST | LAST, Mode::empty())?))
    }

    /// Opens the root that an absolute path begins with, to look up names.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn root_of(_path: &Path) -> io::Result<Self> {
        Ok(Self(Self::root()?))
    }

    fn root() -> Result<OwnedFd> {
        rustix::fs::open("/", LOOKUP | OFlags::CLOEXEC, Mode::empty())
    }

    /// Opens a folder below this one. The path is relative and has no `..`; empty for this
    /// folder.
    ///
    /// # Errors
    ///
    /// As for [`OpenFolder::open`].
    pub fn folder(&self, path: &Path, access: FolderAccess) -> io::Result<Self> {
        Ok(Self(below(&self.0, path, flags(access))?))
    }

    /// Opens a file below this folder for reading. Never blocks, so it may also be a pipe. The
    /// path is relative and has no `..`.
    ///
    /// # Errors
    ///
    /// Any error of the system; also if a component is a link.
    pub fn file(&self, path: &Path) -> io::Result<File> {
        Ok(below(&self.0, path, OFlags::RDONLY | OFlags::NONBLOCK)?.into())
    }

    /// Opens an existing file to overwrite it. Also returns whether it can be read. Never blocks.
    ///
    /// # Errors
    ///
    /// As for [`OpenFolder::file`].
    pub fn file_to_overwrite(&self, name: &OsStr) -> io::Result<(File, bool)> {
        let open = |how| openat(&self.0, name, FILE | how, Mode::empty()).map(File::from);
        match open(OFlags::RDWR) {
            Ok(file) => Ok((file, true)),
            Err(_) => Ok((open(OFlags::WRONLY)?, false)),
        }
    }

    /// Opens an existing file that will be replaced: for reading or, without permission for
    /// that, for writing. Never blocks.
    ///
    /// # Errors
    ///
    /// As for [`OpenFolder::file`].
    pub fn file_to_replace(&self, name: &OsStr) -> io::Result<OldFile> {
        let open = |how| openat(&self.0, name, FILE | how, Mode::empty()).map(File::from);
        let opened = match open(OFlags::RDONLY) {
            Err(Errno::ACCESS) => open(OFlags::WRONLY),
            opened => opened,
        };
        Ok(OldFile(opened?))
    }

    /// Checks that the user may write an existing file. Returns no error on Windows, where only the
    /// attempt shows that.
    ///
    /// # Errors
    ///
    /// `PermissionDenied`, `ReadOnlyFilesystem`, or another error of the system.
    pub fn check_writable(&self, name: &OsStr) -> io::Result<()> {
        Ok(accessat(&self.0, name, Access::WRITE_OK, AtFlags::empty())?)
    }

    /// Creates a file, opened for writing.
    ///
    /// # Errors
    ///
    /// Any error of the system; `AlreadyExists` if something has the name, and `Unsupported` if
    /// the attributes cannot be given to it.
    pub fn create(&self, name: &OsStr, attributes: NewFileAttributes<'_>) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | LAST;
        let file: File = openat(&self.0, name, flags, mode(attributes))?.into();
        copied(file, attributes).inspect_err(|_| {
            // If this fails too, the file stays, and is empty.
            let _ = self.remove_file(name);
        })
    }

    /// Creates a file without a name, which the system removes if this process is killed.
    ///
    /// # Errors
    ///
    /// As for [`OpenFolder::create`]; `Unsupported` on all systems but Linux.
    pub fn create_unnamed(&self, attributes: NewFileAttributes<'_>) -> io::Result<File> {
        #[cfg(target_os = "linux")]
        {
            let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
            let file = openat(&self.0, ".", flags, mode(attributes))?;
            copied(file.into(), attributes)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = attributes;
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    /// Gives a name to a file without one.
    ///
    /// # Errors
    ///
    /// Any error of the system; `AlreadyExists` if something has the name.
    pub fn give_name(&self, file: &File, name: &OsStr) -> io::Result<()> {
        use std::os::fd::{AsFd, AsRawFd};
        // Linking the descriptor itself needs a capability that users lack.
        let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
        let flags = AtFlags::SYMLINK_FOLLOW;
        Ok(rustix::fs::linkat(CWD, &*link, &self.0, name, flags)?)
    }

    /// The status of an entry. A link is not followed.
    ///
    /// # Errors
    ///
    /// Any error of the system; `NotFound` if it does not exist.
    pub fn status(&self, name: &OsStr) -> io::Result<FileStatus> {
        Ok(FileStatus::from_stat(&statat(
            &self.0,
            name,
            AtFlags::SYMLINK_NOFOLLOW,
        )?))
    }

    /// The status of the folder itself.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn own_status(&self) -> io::Result<FileStatus> {
        Ok(FileStatus::from_stat(&fstat(&self.0)?))
    }

    /// The entries, in any order. The folder was opened with [`FolderAccess::List`].
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn entries(&self) -> io::Result<impl Iterator<Item = io::Result<FolderEntry>> + '_> {
        let entries = Dir::read_from(&self.0)?;
        let named = entries.filter(|it| {
            let name = it.as_ref().map(|it| it.file_name().to_bytes());
            !matches!(name, Ok(b"." | b".."))
        });
        Ok(named.map(|entry| {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            let kind = match entry.file_type() {
                // Some file systems don't report it with the name.
                FileType::Unknown => {
                    let status = self.status(&name);
                    status.map_or(FileKind::Unknown, |it| it.kind)
                }
                known => FileKind::from_type(known),
            };
            Ok(FolderEntry { name, kind })
        }))
    }

    /// The target of a link, as it is stored.
    ///
    /// # Errors
    ///
    /// Any error of the system, or the file is not a link.
    pub fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        let target = readlinkat(&self.0, name, Vec::new())?.into_bytes();
        Ok(OsString::from_vec(target).into())
    }

    /// Creates a symbolic link. Windows permits that to few users.
    ///
    /// # Errors
    ///
    /// Any error of the system; `AlreadyExists` if something has the name.
    pub fn make_link(&self, target: &Path, name: &OsStr) -> io::Result<()> {
        Ok(symlinkat(target, &self.0, name)?)
    }

    /// Creates a folder.
    ///
    /// # Errors
    ///
    /// Any error of the system; `AlreadyExists` if something has the name.
    pub fn make_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(mkdirat(&self.0, name, Mode::from_raw_mode(NEW_FOLDER))?)
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Renames a file in this folder. Replaces a file of the new name in one step.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    /// Renames a file to a name in another folder, unless something has that name.
    ///
    /// # Errors
    ///
    /// Any error of the system; `AlreadyExists` if something has the name. `Unsupported` or
    /// `InvalidInput` if the file system cannot do that in one step.
    pub fn rename_to_free(&self, from: &OsStr, folder: &Self, to: &OsStr) -> io::Result<()> {
        let flags = RenameFlags::NOREPLACE;
        Ok(renameat_with(&self.0, from, &folder.0, to, flags)?)
    }

    /// Sets the permission bits of a file or folder. On Windows, a mode without 0200 makes it
    /// read-only, and nothing else has an effect. Never blocks.
    ///
    /// # Errors
    ///
    /// As for [`OpenFolder::file`].
    pub fn set_permissions(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        // By descriptor, because a change by name would follow a link.
        let file = openat(&self.0, name, OFlags::RDONLY | FILE, Mode::empty())?;
        #[allow(clippy::unnecessary_cast, reason = "16 bits on macOS")]
        let mode = Mode::from_raw_mode(mode as RawMode);
        Ok(fchmod(&file, mode)?)
    }

    /// Waits until renames in the folder are on the disk. Does nothing on Windows, where the
    /// journal of the file system has them.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn sync(&self) -> io::Result<()> {
        let folder = openat(&self.0, ".", LIST | OFlags::CLOEXEC, Mode::empty())?;
        Ok(fsync(folder)?)
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

fn flags(access: FolderAccess) -> OFlags {
    match access {
        FolderAccess::Lookup => LOOKUP,
        FolderAccess::List => LIST,
    }
}

fn mode(attributes: NewFileAttributes<'_>) -> Mode {
    Mode::from_raw_mode(match attributes {
        NewFileAttributes::Usual => NEW_FILE,
        NewFileAttributes::Like(_) => PRIVATE,
    })
}

/// A new file with the attributes that it is to have.
fn copied(new: File, attributes: NewFileAttributes<'_>) -> io::Result<File> {
    if let NewFileAttributes::Like(old) = attributes {
        // Fails for another user's file, or one that can't be read.
        attributes::copy(&old.0, &new).map_err(|_| io::Error::from(io::ErrorKind::Unsupported))?;
    }
    Ok(new)
}

/// Opens a relative path without `..` below a folder, without following links.
///
/// # Errors
///
/// Any error of the system; `ELOOP` or `ENOTDIR` if a component is a link.
fn below(folder: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let flags = flags | LAST;
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (None, _) => return openat(folder, ".", flags, Mode::empty()),
        (Some(Component::Normal(name)), None) => {
            return openat(folder, name, flags, Mode::empty());
        }
        _ => {}
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let how = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        match openat2(folder, path, flags, Mode::empty(), how) {
            // The kernel is too old, a system call filter does not know the call, or a folder
            // was renamed during it (EAGAIN).
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
            opened => return opened,
        }
    }
    step_by_step(folder, path, flags)
}

/// [`below`] for kernels without `openat2`.
fn step_by_step(folder: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let mut step: Option<OwnedFd> = None;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        // Another one could lead out of the folder.
        let Component::Normal(name) = part else {
            return Err(Errno::INVAL);
        };
        let how = match parts.peek() {
            None => flags,
            Some(_) => LOOKUP | LAST,
        };
        let within = step.as_ref().unwrap_or(folder);
        step = Some(openat(within, name, how, Mode::empty())?);
    }
    step.ok_or(Errno::INVAL)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_kernel_without_the_call_follows_no_link_either() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("outside")).unwrap();
        std::fs::write(root.join("outside/f"), "f").unwrap();
        symlink("outside", root.join("link")).unwrap();
        symlink("f", root.join("outside/g")).unwrap();
        let top = OpenFolder::open_last(root).unwrap().0;
        let flags = OFlags::RDONLY | LAST;
        let open = |path: &str| step_by_step(&top, Path::new(path), flags).is_ok();
        assert!(open("outside/f"));
        assert!(!open("link/f"));
        assert!(!open("outside/g"));
        assert!(!open("outside/../outside/f"));
    }
}
