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
//! After a failure, nothing is left behind except files that [`crate::private::sweep`] removes.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use platform::files::{FileStatus, NewFileAttributes, OpenFolder};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::RealPath;
use super::path::Parents;
use crate::mounts::unless_mounted;
use crate::private::with_free_name;

/// Mode bits that allow writing.
const WRITABLE: u32 = 0o222;

/// Makes `content` the content of the file that `path` leads to. Missing folders are created.
/// Returns the status of the new file from before it became visible.
///
/// # Errors
///
/// Any error of the file system. The old file is unchanged then.
pub fn write(path: &Path, content: &[u8]) -> io::Result<FileStatus> {
    let path = RealPath::of(path).map_err(|why| io::Error::other(why.to_string()))?;
    write_real(&path, content)
}

/// Writes a file like [`write`], for a resolved path: no link is followed.
///
/// # Errors
///
/// As for [`write`], or a component of the path has become a link.
pub(crate) fn write_real(path: &RealPath, content: &[u8]) -> io::Result<FileStatus> {
    let written = write_unsynced(path, content)?;
    sync_folder(path);
    Ok(written)
}

/// Writes a file like [`write_real`], without waiting until the rename is on the disk. The caller
/// calls [`sync_folder`], once for all files of a folder.
///
/// # Errors
///
/// As for [`write_real`].
pub(crate) fn write_unsynced(path: &RealPath, content: &[u8]) -> io::Result<FileStatus> {
    write_by(path, |folder, name| replace(folder, path, name, content))
}

/// Waits until the renames in the folder of a file are on the disk. That they survive a power cut
/// is best effort.
pub(crate) fn sync_folder(path: &RealPath) {
    let _ = path.open_parent().and_then(|(folder, _)| folder.sync());
}

/// Writes a new file like [`write_real`].
///
/// # Errors
///
/// As for [`write_real`], or `AlreadyExists`. What is there is unchanged then.
pub(crate) fn create_real(path: &RealPath, content: &[u8]) -> io::Result<FileStatus> {
    let written = write_by(path, |folder, name| {
        let make = |is_named| New::make(folder, NewFileAttributes::Usual, is_named);
        put(path.as_path(), name, content, make, Place::Free)
    })?;
    sync_folder(path);
    Ok(written)
}

fn write_by(
    path: &RealPath,
    write: impl FnOnce(&OpenFolder, &OsStr) -> io::Result<FileStatus>,
) -> io::Result<FileStatus> {
    let (_, name) = path.split()?;
    let parents = Parents::make(path)?;
    let written = write(&parents.folder, name)?;
    parents.keep();
    Ok(written)
}

fn replace(
    folder: &OpenFolder,
    path: &RealPath,
    name: &OsStr,
    content: &[u8],
) -> io::Result<FileStatus> {
    let path = path.as_path();
    let old = match folder.file_to_replace(name) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let make = |is_named| New::make(folder, NewFileAttributes::Usual, is_named);
            return put(path, name, content, make, Place::Any);
        }
        Err(error) => return Err(error),
    };
    let status = old.status()?;
    if !status.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    // A rename only needs permission for the folder, but a read-only file should stay as it is.
    if status.mode & WRITABLE == 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    // Mode bits don't tell about access control lists and read-only file systems.
    folder.check_writable(name)?;
    // Fails if its attributes can't be copied: for another user's file, or one that can't be read.
    let make = |is_named| New::make(folder, NewFileAttributes::Like(&old), is_named);
    match put(path, name, content, make, Place::Any) {
        Err(error) if needs_no_folder(&error) => in_place(folder, name, &status, content),
        put => put,
    }
}

/// Says if a file may already have the name of a new one.
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
) -> io::Result<FileStatus> {
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

/// Returns true if making or renaming a file failed in a way that does not affect writing in place.
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

/// Overwrites the existing file. After a failure, the old content is restored.
fn in_place(
    folder: &OpenFolder,
    name: &OsStr,
    old: &FileStatus,
    content: &[u8],
) -> io::Result<FileStatus> {
    // Without read permission it can be written, but not restored after a failure.
    let (mut file, is_readable) = folder.file_to_overwrite(name)?;
    // Another file may have taken the name since its attributes were read.
    if FileStatus::of(&file)?.id != old.id {
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
    FileStatus::of(&file)
}

fn overwrite(file: &mut File, content: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    file.sync_all()
}

fn fill(new: &mut File, content: &[u8]) -> io::Result<FileStatus> {
    new.write_all(content)?;
    // Synced before the rename: after a power cut, the name then leads to the old content or to
    // all of the new one, never to a part.
    new.sync_all()?;
    FileStatus::of(new)
}

/// A temporary file that will replace another. It is removed unless that happens.
struct New<'f> {
    folder: &'f OpenFolder,
    file: File,
    /// Its name until the rename; `None` if the system removes the file when this process is
    /// killed.
    name: Option<String>,
}

impl<'f> New<'f> {
    /// Creates an empty file.
    ///
    /// # Errors
    ///
    /// It can't be created, or `Unsupported` if the attributes can't be copied.
    fn make(
        folder: &'f OpenFolder,
        attributes: NewFileAttributes<'_>,
        is_named: bool,
    ) -> io::Result<Self> {
        let (file, name) = if is_named {
            let create = |name: &str| folder.create(name.as_ref(), attributes);
            let (file, name) = with_free_name(create)?;
            (file, Some(name))
        } else {
            (folder.create_unnamed(attributes)?, None)
        };
        Ok(Self { folder, file, name })
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
            None => with_free_name(|free| self.folder.give_name(&self.file, free.as_ref()))?.1,
        };
        // From here on, a failure removes it.
        self.name = Some(named.clone());
        let named = OsStr::new(&named);
        let rename = || match place {
            Place::Any => self.folder.rename(named, name),
            Place::Free => rename_to_free(self.folder, named, name),
        };
        let busy = || Err(io::ErrorKind::ResourceBusy.into());
        unless_mounted(path, rename).unwrap_or_else(busy)?;
        self.name = None;
        Ok(())
    }
}

/// Renames a file in a folder, unless another has the new name.
fn rename_to_free(folder: &OpenFolder, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let renamed = folder.rename_to_free(from, folder, to);
    let kind = renamed.as_ref().err().map(io::Error::kind);
    // Some file systems lack this, so a file that appears in this moment would be replaced.
    if let Some(io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) = kind {
        return match folder.status(to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => folder.rename(from, to),
            found => Err(found.err().unwrap_or(io::ErrorKind::AlreadyExists.into())),
        };
    }
    renamed
}

impl Drop for New<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // If this fails, `private::sweep` removes the file later.
            let _ = self.folder.remove_file(name.as_ref());
        }
    }
}

// Locks that serialize calls which modify the same file. Other processes are not excluded.

/// A lock that is held.
pub(crate) type FileLock = OwnedMutexGuard<()>;

/// One lock per path. Clones share the locks.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileLocks(Arc<Mutex<HashMap<PathBuf, Weak<AsyncMutex<()>>>>>);

impl FileLocks {
    /// Waits for the lock of `path`, which should be a real path.
    pub(crate) async fn lock(&self, path: &Path) -> FileLock {
        self.of(path).lock_owned().await
    }

    fn of(&self, path: &Path) -> Arc<AsyncMutex<()>> {
        // A panic elsewhere can't leave the map in a bad state.
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Otherwise the locks of all files that were ever changed would stay.
        locks.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = locks.get(path).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::new(AsyncMutex::new(()));
        locks.insert(path.to_owned(), Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use rustix::buffer::spare_capacity;
    use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

    use super::*;

    const ACL: &str = "system.posix_acl_access";

    /// An access control list as Linux stores it: one more user may read, the mask gives read
    /// and write, the file's group nothing.
    fn list() -> Vec<u8> {
        const NOBODY: u32 = u32::MAX;
        let mut bytes = 2u32.to_le_bytes().to_vec();
        for (tag, permissions, id) in [
            (0x01u16, 6u16, NOBODY),
            (0x02, 4, 12_345),
            (0x04, 0, NOBODY),
            (0x10, 6, NOBODY),
            (0x20, 0, NOBODY),
        ] {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(permissions.to_le_bytes());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }

    fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
        let mut value = Vec::with_capacity(1024);
        fgetxattr(File::open(path).unwrap(), name, spare_capacity(&mut value)).ok()?;
        Some(value)
    }

    /// Returns false where the file system has no such attribute.
    fn set(path: &Path, name: &str, value: &[u8]) -> bool {
        let file = File::open(path).unwrap();
        fsetxattr(&file, name, value, XattrFlags::empty()).is_ok()
    }

    #[test]
    fn mode_access_control_list_and_attributes_stay_and_setuid_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o4640)).unwrap();
        let has_list = set(&path, ACL, &list());
        let has_attribute = set(&path, "user.note", b"mine");
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        // With a list, the bits of the group are its mask.
        let mode = if has_list { 0o660 } else { 0o640 };
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
        assert_eq!(attribute(&path, ACL), has_list.then(list));
        let note = attribute(&path, "user.note");
        assert_eq!(note, has_attribute.then(|| b"mine".to_vec()));
    }

    #[test]
    fn the_list_that_a_folder_gives_to_new_files_does_not_open_an_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        set(folder.path(), "system.posix_acl_default", &list());
        write(&path, b"new").unwrap();
        assert_eq!(attribute(&path, ACL), None);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    }

    #[test]
    fn a_file_without_write_permission_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let refused = write(&path, b"new").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn what_is_written_in_place_is_the_same_file_with_all_of_its_content_new() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "a longer text").unwrap();
        let old = FileStatus::at(&path).unwrap();
        let real = RealPath::of(&path).unwrap();
        let (parent, name) = real.open_parent().unwrap();
        let written = in_place(&parent, name, &old, b"new").unwrap();
        assert_eq!(written.id, old.id);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let other = folder.path().join("other");
        fs::write(&other, "other").unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(in_place(&parent, name, &old, b"newer").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"other");
    }

    #[test]
    fn a_file_gets_its_name_also_where_every_file_has_one() {
        let folder = tempfile::tempdir().unwrap();
        let real = RealPath::of(&folder.path().join("f")).unwrap();
        let (parent, name) = real.open_parent().unwrap();
        for is_named in [true, false] {
            let mut new = New::make(&parent, NewFileAttributes::Usual, is_named).unwrap();
            fill(&mut new.file, b"new").unwrap();
            new.rename(real.as_path(), name, Place::Any).unwrap();
        }
        drop(New::make(&parent, NewFileAttributes::Usual, true).unwrap());
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1);
    }

    #[test]
    fn a_new_file_takes_the_place_of_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let real = RealPath::of(&folder.path().join("deep/f")).unwrap();
        create_real(&real, b"one").unwrap();
        let refused = create_real(&real, b"two").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(real.as_path()).unwrap(), b"one");
        // Nothing is left beside it.
        let names = fs::read_dir(folder.path().join("deep")).unwrap();
        assert_eq!(names.count(), 1);
    }
}
