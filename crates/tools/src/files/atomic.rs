//! Writes a file whole or not at all.
//!
//! A new file is written beside the old one, where the system can without a name,
//! synced, and renamed over it. Owner, mode, access control list and extended attributes
//! are kept; a hard link is broken, so that no other name changes. Where a new file
//! cannot be made like the old one (nothing may be made in its folder, or it belongs to
//! another user), or while a sandbox protects it with a mount, the old one is written in
//! place. That keeps all of these, but a power cut in the middle can leave half of it. Nothing is left behind after a failure, but for
//! what [`sweep`] removes.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    Access, AtFlags, CWD, Mode, OFlags, RawMode, accessat, fsync, linkat, openat, renameat,
    unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::parents::Parents;
use super::{RealPath, attributes};
use crate::mounts::unless_mounted;

/// Mode of a new file before the user's umask.
const NEW_FILE: RawMode = 0o666;
/// Mode of a file that will get that of another one: until then it is the user's alone.
const PRIVATE: RawMode = 0o600;
/// Mode bits, any of which lets a user write a file.
const WRITABLE: u32 = 0o222;

/// How the names of files begin that are to be renamed.
const PREFIX: &str = ".flemma-";
/// Tells the names of one process apart.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Makes `content` the content of the file that `path` leads to. Missing parents are
/// made. Returns what the new file was before anybody else could see it.
///
/// # Errors
///
/// Any error of the file system; the old file is then as it was.
pub fn write(path: &Path, content: &[u8]) -> io::Result<Metadata> {
    let path = RealPath::of(path).map_err(|why| io::Error::other(why.to_string()))?;
    write_real(&path, content)
}

/// As [`write`], for a path that was resolved: no link is followed.
///
/// # Errors
///
/// As of [`write`]; also when a part of the path has become a link.
pub(crate) fn write_real(path: &RealPath, content: &[u8]) -> io::Result<Metadata> {
    let (_, name) = path.split()?;
    let parents = Parents::make(path)?;
    let written = replace(&parents.folder, path, name, content)?;
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
            return put(path, name, content, |is_named| {
                New::make(folder, NEW_FILE, is_named)
            });
        }
        Err(error) => return Err(error.into()),
    };
    let metadata = old.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    // A rename asks only the folder; a read-only file means it.
    if metadata.mode() & WRITABLE == 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    accessat(folder, name, Access::WRITE_OK, AtFlags::empty())?;
    let put = put(path, name, content, |is_named| {
        New::like(folder, &old, &metadata, is_named)
    });
    match put {
        Err(error) if needs_no_folder(&error) => in_place(folder, name, &metadata, content),
        put => put,
    }
}

/// Writes a new file and renames it to `name`.
fn put<'f>(
    path: &Path,
    name: &OsStr,
    content: &[u8],
    make: impl Fn(bool) -> io::Result<New<'f>>,
) -> io::Result<Metadata> {
    let attempt = |is_named| {
        let mut new = make(is_named)?;
        let written = fill(&mut new.file, content)?;
        new.rename(path, name)?;
        Ok(written)
    };
    // Not every file system has files without a name.
    attempt(false).or_else(|error: io::Error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::ResourceBusy => {
            Err(error)
        }
        _ => attempt(true),
    })
}

/// Returns true for errors of making or renaming a file, which writing in place does
/// without.
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

/// Opens what is there for looking at it; a file that cannot be read has no list of
/// attributes that could be copied, and is written in place.
fn open_old(folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(folder, name, flags | OFlags::RDONLY, Mode::empty()) {
        Err(Errno::ACCESS) => openat(folder, name, flags | OFlags::WRONLY, Mode::empty()),
        opened => opened,
    }
    .map(File::from)
}

/// Writes the old file itself; after a failure, what it held is written back.
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
        Err(_) => (open(OFlags::WRONLY)?, false),
    };
    let now = file.metadata()?;
    if (now.dev(), now.ino()) != (old.dev(), old.ino()) {
        return Err(io::Error::other("it became another file meanwhile"));
    }
    let mut before = Vec::new();
    if is_readable {
        file.read_to_end(&mut before)?;
    }
    if let Err(error) = overwrite(&mut file, content) {
        if is_readable {
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
    new.sync_all()?;
    new.metadata()
}

/// A file that is to be renamed over another; removed unless that happens.
struct New<'f> {
    folder: &'f OwnedFd,
    file: File,
    /// Its name until then; none where the system takes it away when we are killed.
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

    /// As an old file, but empty.
    ///
    /// # Errors
    ///
    /// It cannot be made, or `Unsupported`: it cannot be made like the old one.
    fn like(
        folder: &'f OwnedFd,
        old: &File,
        metadata: &Metadata,
        is_named: bool,
    ) -> io::Result<Self> {
        let new = Self::make(folder, PRIVATE, is_named)?;
        // Another user's file, or one that cannot be read.
        attributes::copy(old, metadata, &new.file)
            .map_err(|_| io::Error::from(io::ErrorKind::Unsupported))?;
        Ok(new)
    }

    /// Puts it where `name` is, which is `path` as a whole.
    ///
    /// # Errors
    ///
    /// Any error of the system; `ResourceBusy` while a command has the file mounted.
    fn rename(mut self, path: &Path, name: &OsStr) -> io::Result<()> {
        // No file can be linked over one that is there.
        let named = match self.name.take() {
            Some(named) => named,
            None => with_free_name(|free| give_name(&self.file, self.folder, free))?.1,
        };
        self.name = Some(named.clone());
        let rename = || renameat(self.folder, &*named, self.folder, name);
        unless_mounted(path, rename).unwrap_or(Err(Errno::BUSY))?;
        self.name = None;
        Ok(())
    }
}

impl Drop for New<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = unlinkat(self.folder, &**name, AtFlags::empty());
        }
    }
}

/// Does something with the first name that is not taken.
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

/// Removes what programs that were killed in the middle of [`write`] left in a folder: a
/// file that had its name and was not renamed yet. Those of programs that run stay.
pub fn sweep(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let pid = rest.and_then(|rest| rest.split_once('-')?.0.parse().ok());
        let is_over = |pid| test_kill_process(pid) == Err(Errno::SRCH);
        if pid.and_then(Pid::from_raw).is_some_and(is_over) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A file without a name: the system takes it away when we are killed.
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
    let link = format!("/proc/self/fd/{}", new.as_fd().as_raw_fd());
    linkat(CWD, &*link, folder, name, AtFlags::SYMLINK_FOLLOW)
}

#[cfg(test)]
#[path = "atomic_tests.rs"]
mod tests;
