//! A folder by its path, with handles that keep the path as it is.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::fs::{FileTypeExt, OpenOptionsExt, symlink_dir, symlink_file};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::super::{FileKind, FileStatus, FolderAccess, FolderEntry, NewFileAttributes};
use super::handle::{self, NO_FOLLOW, hold, open_file, to_look_at};

/// Errors of file systems without hard links (`ERROR_INVALID_FUNCTION`, `ERROR_NOT_SUPPORTED`).
const NO_HARD_LINKS: [i32; 2] = [1, 50];
/// The bit of a mode that permits its owner to write.
const WRITABLE: u32 = 0o200;

/// An existing file that will be replaced. It is not held open, because the system replaces no open
/// file on some disks.
#[derive(Debug)]
pub struct OldFile {
    status: FileStatus,
    attributes: u32,
}

impl OldFile {
    pub fn status(&self) -> io::Result<FileStatus> {
        Ok(self.status)
    }
}

/// A folder that is held open. No operation follows a link below it. Folders of its path cannot be
/// renamed or removed while it is held, so that the path stays that of the folder.
#[derive(Debug)]
pub struct OpenFolder {
    path: PathBuf,
    /// This folder and those above it.
    held: Vec<Arc<File>>,
}

impl OpenFolder {
    pub fn open(path: &Path, access: FolderAccess) -> io::Result<Self> {
        let root = Self::root_of(path)?;
        let mut inner = path.components();
        // The prefix and the root.
        inner.nth(1);
        root.folder(inner.as_path(), access)
    }

    pub fn open_last(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            held: vec![Arc::new(hold(path, FolderAccess::List)?)],
        })
    }

    pub fn root_of(path: &Path) -> io::Result<Self> {
        let mut parts = path.components();
        let (Some(Component::Prefix(_)), Some(Component::RootDir)) = (parts.next(), parts.next())
        else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the path begins at no drive",
            ));
        };
        let path: PathBuf = path.components().take(2).collect();
        Ok(Self {
            held: vec![Arc::new(hold(&path, FolderAccess::Lookup)?)],
            path,
        })
    }

    pub fn folder(&self, path: &Path, access: FolderAccess) -> io::Result<Self> {
        let mut folder = self.try_clone()?;
        let mut parts = path.components().peekable();
        if parts.peek().is_none() && access == FolderAccess::List {
            folder.held.push(Arc::new(hold(&self.path, access)?));
        }
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            folder.path.push(name);
            let access = match parts.peek() {
                None => access,
                Some(_) => FolderAccess::Lookup,
            };
            folder.held.push(Arc::new(hold(&folder.path, access)?));
        }
        Ok(folder)
    }

    pub fn file(&self, path: &Path) -> io::Result<File> {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        let above = path.parent().unwrap_or(Path::new(""));
        // Held until the file is open.
        let folder = self.folder(above, FolderAccess::Lookup)?;
        open_file(&folder.path.join(name), OpenOptions::new().read(true))
    }

    pub fn file_to_overwrite(&self, name: &OsStr) -> io::Result<(File, bool)> {
        let options = &mut OpenOptions::new();
        let options = options.read(true).write(true);
        open_file(&self.path.join(name), options).map(|file| (file, true))
    }

    pub fn file_to_replace(&self, name: &OsStr) -> io::Result<OldFile> {
        let old = self.file(Path::new(name))?;
        Ok(OldFile {
            status: FileStatus::of(&old)?,
            attributes: handle::kept_attributes(&old)?,
        })
    }

    pub fn check_writable(&self, _: &OsStr) -> io::Result<()> {
        Ok(())
    }

    pub fn create(&self, name: &OsStr, attributes: NewFileAttributes<'_>) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if let NewFileAttributes::Like(old) = attributes {
            options.attributes(old.attributes);
        }
        options.open(self.path.join(name))
    }

    pub fn create_unnamed(&self, _: NewFileAttributes<'_>) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn give_name(&self, _: &File, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn status(&self, name: &OsStr) -> io::Result<FileStatus> {
        let file = to_look_at(NO_FOLLOW).open(self.path.join(name))?;
        FileStatus::of(&file)
    }

    pub fn own_status(&self) -> io::Result<FileStatus> {
        let own = self.held.last().ok_or(io::ErrorKind::NotFound)?;
        FileStatus::of(own)
    }

    pub fn entries(&self) -> io::Result<impl Iterator<Item = io::Result<FolderEntry>> + '_> {
        let entries = fs::read_dir(&self.path)?;
        Ok(entries.map(|entry| {
            let entry = entry?;
            let kind = entry.file_type()?;
            let kind = match kind.is_symlink() {
                true => FileKind::Link,
                false if kind.is_dir() => FileKind::Folder,
                false => FileKind::File,
            };
            let name = entry.file_name();
            Ok(FolderEntry { name, kind })
        }))
    }

    pub fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        fs::read_link(self.path.join(name))
    }

    pub fn make_link(&self, target: &Path, name: &OsStr) -> io::Result<()> {
        let link = self.path.join(name);
        // The system has two kinds of links, by what they lead to.
        if self.path.join(target).is_dir() {
            symlink_dir(target, link)
        } else {
            symlink_file(target, link)
        }
    }

    pub fn make_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::create_dir(self.path.join(name))
    }

    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        let path = self.path.join(name);
        // A link to a folder is removed like a folder, which leaves its target.
        if fs::symlink_metadata(&path)?.file_type().is_symlink_dir() {
            fs::remove_dir(path)
        } else {
            fs::remove_file(path)
        }
    }

    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_dir(self.path.join(name))
    }

    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    pub fn rename_to_free(&self, from: &OsStr, folder: &Self, to: &OsStr) -> io::Result<()> {
        let (from, to) = (self.path.join(from), folder.path.join(to));
        // A rename would replace a file. A second name is given only if it is free.
        fs::hard_link(&from, &to).map_err(|error| match error.raw_os_error() {
            Some(code) if NO_HARD_LINKS.contains(&code) => io::ErrorKind::Unsupported.into(),
            _ => error,
        })?;
        fs::remove_file(&from).inspect_err(|_| {
            // If this fails too, the file has both names.
            let _ = fs::remove_file(&to);
        })
    }

    pub fn set_permissions(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        let file = handle::to_set_attributes().open(self.path.join(name))?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        let mut permissions = metadata.permissions();
        permissions.set_readonly(mode & WRITABLE == 0);
        file.set_permissions(permissions)
    }

    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            path: self.path.clone(),
            held: self.held.clone(),
        })
    }
}
