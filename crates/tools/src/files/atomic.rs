//! Writes a file whole or not at all.
//!
//! A new file is written beside the old one, without a name if the system supports it, synced, and
//! renamed over it. Owner, mode, access control list, and extended attributes are kept. A hard link
//! is broken, so that the file under its other names does not change.
//!
//! The old file is written in place if no new file can be created with its attributes (the folder
//! is read-only, or the file belongs to another user), or while a sandbox protects it with a mount.
//! Then a power cut can leave half of the content.
//!
//! After a failure, nothing is left behind except files that [`sweep`] removes.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    Access, AtFlags, CWD, Mode, OFlags, RawMode, RenameFlags, accessat, fsync, linkat, openat,
    renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::parents::Parents;
use super::{RealPath, attributes};
use crate::mounts::unless_mounted;

/// Mode of a new file before the umask.
const NEW_FILE: RawMode = 0o666;
/// Mode of a temporary file that gets the mode of another file later. Until then only the user
/// can read it.
const PRIVATE: RawMode = 0o600;
/// Mode bits that allow writing.
const WRITABLE: u32 = 0o222;

/// Prefix of temporary file names.
const PREFIX: &str = ".flemma-";
/// Distinguishes the temporary files of one process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Makes `content` the content of the file that `path` leads to. Missing folders are created.
/// Returns the metadata of the new file from before it became visible.
///
/// # Errors
///
/// Any error of the file system. The old file is unchanged then.
pub fn write(path: &Path, content: &[u8]) -> io::Result<Metadata> {
    let path = RealPath::of(path).map_err(|why| io::Error::other(why.to_string()))?;
    write_real(&path, content)
}

/// Writes a file like [`write`], for a resolved path: no link is followed.
///
/// # Errors
///
/// As for [`write`], or a component of the path has become a link.
pub(crate) fn write_real(path: &RealPath, content: &[u8]) -> io::Result<Metadata> {
    write_by(path, |folder, name| replace(folder, path, name, content))
}

/// Writes a new file like [`write_real`].
///
/// # Errors
///
/// As for [`write_real`], or `AlreadyExists`. What is there is unchanged then.
pub(crate) fn create_real(path: &RealPath, content: &[u8]) -> io::Result<Metadata> {
    write_by(path, |folder, name| {
        let make = |is_named| New::make(folder, NEW_FILE, is_named);
        put(path.as_path(), name, content, make, Place::Free)
    })
}

fn write_by(
    path: &RealPath,
    write: impl FnOnce(&OwnedFd, &OsStr) -> io::Result<Metadata>,
) -> io::Result<Metadata> {
    let (_, name) = path.split()?;
    let parents = Parents::make(path)?;
    let written = write(&parents.folder, name)?;
    // The rename has happened; that it survives a power cut is best effort.
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let _ = openat(&parents.folder, ".", folder, Mode::empty()).and_then(fsync);
    parents.keep();
    Ok(written)
}

fn replace(
    folder: &OwnedFd,
    path: &RealPath,
    name: &OsStr,
    content: &[u8],
) -> io::Result<Metadata> {
    let path = path.as_path();
    let old = match open_old(folder, name) {
        Ok(old) => old,
        Err(Errno::NOENT) => {
            let make = |is_named| New::make(folder, NEW_FILE, is_named);
            return put(path, name, content, make, Place::Any);
        }
        Err(error) => return Err(error.into()),
    };
    let metadata = old.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    // A rename only needs permission for the folder, but a read-only file should stay as it is.
    if metadata.mode() & WRITABLE == 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    // Mode bits don't tell about access control lists and read-only file systems.
    accessat(folder, name, Access::WRITE_OK, AtFlags::empty())?;
    let make = |is_named| New::like(folder, &old, &metadata, is_named);
    match put(path, name, content, make, Place::Any) {
        Err(error) if needs_no_folder(&error) => in_place(folder, name, &metadata, content),
        put => put,
    }
}

/// Whether a file may already have the name of a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The new file replaces it.
    Any,
    /// The name must be free.
    Free,
}

/// Writes a new file and renames it to `name`.
fn put<'f>(
    path: &Path,
    name: &OsStr,
    content: &[u8],
    make: impl Fn(bool) -> io::Result<New<'f>>,
    place: Place,
) -> io::Result<Metadata> {
    let attempt = |is_named| {
        let mut new = make(is_named)?;
        let written = fill(&mut new.file, content)?;
        new.rename(path, name, place)?;
        Ok(written)
    };
    // Some file systems don't support unnamed files.
    attempt(false).or_else(|error: io::Error| match error.kind() {
        // A file with a name would fail in the same way.
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::ResourceBusy
        | io::ErrorKind::AlreadyExists => Err(error),
        _ => attempt(true),
    })
}

/// Whether making or renaming a file failed in a way that does not affect writing in place.
fn needs_no_folder(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied
            | io::ErrorKind::Unsupported
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::ResourceBusy
            | io::ErrorKind::CrossesDevices
    )
}

/// Opens the existing file. A file that can't be read is opened for writing only; its
/// attributes can't be copied, so it is written in place.
fn open_old(folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<File> {
    // Opening a pipe must not block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(folder, name, flags | OFlags::RDONLY, Mode::empty()) {
        Err(Errno::ACCESS) => openat(folder, name, flags | OFlags::WRONLY, Mode::empty()),
        opened => opened,
    }
    .map(File::from)
}

/// Overwrites the existing file. After a failure, the old content is restored.
fn in_place(
    folder: &OwnedFd,
    name: &OsStr,
    old: &Metadata,
    content: &[u8],
) -> io::Result<Metadata> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let open = |how| openat(folder, name, flags | how, Mode::empty()).map(File::from);
    let (mut file, is_readable) = match open(OFlags::RDWR) {
        Ok(file) => (file, true),
        // Without read permission it can be written, but not restored after a failure.
        Err(_) => (open(OFlags::WRONLY)?, false),
    };
    let now = file.metadata()?;
    // Another file may have taken the name since its attributes were read.
    if (now.dev(), now.ino()) != (old.dev(), old.ino()) {
        return Err(io::Error::other("it became another file meanwhile"));
    }
    let mut before = Vec::new();
    if is_readable {
        file.read_to_end(&mut before)?;
    }
    if let Err(error) = overwrite(&mut file, content) {
        if is_readable {
            // If this fails too, nothing more can be done.
            let _ = overwrite(&mut file, &before);
        }
        return Err(error);
    }
    file.metadata()
}

fn overwrite(file: &mut File, content: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    file.sync_all()
}

fn fill(new: &mut File, content: &[u8]) -> io::Result<Metadata> {
    new.write_all(content)?;
    // Synced before the rename: after a power cut, the name then leads to the old content or to
    // all of the new one, never to a part.
    new.sync_all()?;
    new.metadata()
}

/// A temporary file that will replace another. It is removed unless that happens.
struct New<'f> {
    folder: &'f OwnedFd,
    file: File,
    /// Its name until the rename; `None` if the system removes the file when this process is
    /// killed.
    name: Option<String>,
}

impl<'f> New<'f> {
    fn make(folder: &'f OwnedFd, mode: RawMode, is_named: bool) -> io::Result<Self> {
        if !is_named {
            let (file, name) = (nameless(folder, mode)?, None);
            return Ok(Self { folder, file, name });
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        let (file, name) = with_free_name(|name| openat(folder, name, flags, mode))?;
        Ok(Self {
            folder,
            file: file.into(),
            name: Some(name),
        })
    }

    /// Creates an empty file with the attributes of an old one.
    ///
    /// # Errors
    ///
    /// It can't be created, or `Unsupported` if the attributes can't be copied.
    fn like(
        folder: &'f OwnedFd,
        old: &File,
        metadata: &Metadata,
        is_named: bool,
    ) -> io::Result<Self> {
        let new = Self::make(folder, PRIVATE, is_named)?;
        // Fails for another user's file, or one that can't be read.
        attributes::copy(old, metadata, &new.file)
            .map_err(|_| io::Error::from(io::ErrorKind::Unsupported))?;
        Ok(new)
    }

    /// Renames the file to `name`. `path` is the whole path of `name`.
    ///
    /// # Errors
    ///
    /// Any error of the system; `ResourceBusy` while a command has the file mounted.
    fn rename(mut self, path: &Path, name: &OsStr, place: Place) -> io::Result<()> {
        // An unnamed file gets a temporary name first, because linkat(2) can't replace a file.
        let named = match self.name.take() {
            Some(named) => named,
            None => with_free_name(|free| give_name(&self.file, self.folder, free))?.1,
        };
        // From here on, a failure removes it.
        self.name = Some(named.clone());
        let rename = || match place {
            Place::Any => renameat(self.folder, &*named, self.folder, name),
            Place::Free => rename_to_free(self.folder, &named, name),
        };
        unless_mounted(path, rename).unwrap_or(Err(Errno::BUSY))?;
        self.name = None;
        Ok(())
    }
}

/// Renames a file in a folder, unless another has the new name.
fn rename_to_free(folder: &OwnedFd, from: &str, to: &OsStr) -> rustix::io::Result<()> {
    match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        // Some file systems lack this, so a file that appears in this moment would be replaced.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            match statat(folder, to, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => renameat(folder, from, folder, to),
                found => Err(found.err().unwrap_or(Errno::EXIST)),
            }
        }
        renamed => renamed,
    }
}

impl Drop for New<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // If this fails, `sweep` removes the file later.
            let _ = unlinkat(self.folder, &**name, AtFlags::empty());
        }
    }
}

/// Calls `attempt` with names until one is free.
fn with_free_name<T>(
    mut attempt: impl FnMut(&str) -> rustix::io::Result<T>,
) -> io::Result<(T, String)> {
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{number}", prefix());
        match attempt(&name) {
            Ok(done) => return Ok((done, name)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn prefix() -> String {
    format!("{PREFIX}{}-", std::process::id())
}

/// Removes temporary files that killed processes left in a folder. Files of running processes
/// stay.
pub fn sweep(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        // The name has the process id behind the prefix; see `prefix`.
        let pid = rest.and_then(|rest| rest.split_once('-')?.0.parse().ok());
        // Only ESRCH means that the process has ended. EPERM is a process of another user.
        let is_over = |pid| test_kill_process(pid) == Err(Errno::SRCH);
        if pid.and_then(Pid::from_raw).is_some_and(is_over) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Creates an unnamed file, which the system removes if this process is killed.
#[cfg(target_os = "linux")]
fn nameless(folder: &OwnedFd, mode: RawMode) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(openat(folder, ".", flags, Mode::from_raw_mode(mode))?.into())
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &OwnedFd, _: RawMode) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

fn give_name(new: &File, folder: &OwnedFd, name: &str) -> rustix::io::Result<()> {
    use std::os::fd::AsRawFd;
    // Linking the descriptor itself needs a capability that users lack.
    let link = format!("/proc/self/fd/{}", new.as_fd().as_raw_fd());
    linkat(CWD, &*link, folder, name, AtFlags::SYMLINK_FOLLOW)
}

#[cfg(test)]
#[path = "atomic_tests.rs"]
mod tests;
