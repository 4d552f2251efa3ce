//! Creates the folders that a new file needs, without following links.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, RawMode, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use super::RealPath;

/// Mode of a new folder before the umask.
const NEW_FOLDER: RawMode = 0o777;

/// The opened folder of a file. Folders created for it are removed again on drop unless
/// [`Parents::keep`] is called.
pub(super) struct Parents {
    /// The folder of the file.
    pub folder: OwnedFd,
    /// The created folders, outermost first: parent and name.
    made: Vec<(OwnedFd, Box<OsStr>)>,
}

impl Parents {
    /// Opens the folder of `path` and creates missing folders.
    ///
    /// # Errors
    ///
    /// Any error of the system. Folders created so far are removed.
    pub(super) fn make(path: &RealPath) -> io::Result<Self> {
        match path.open_parent() {
            Ok((folder, _)) => {
                return Ok(Self {
                    folder,
                    made: Vec::new(),
                });
            }
            // Missing folders are created below.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let (parent, _) = path.split()?;
        let mut it = Self {
            folder: rustix::fs::open("/", flags(), Mode::empty())?,
            made: Vec::new(),
        };
        let inner = parent.strip_prefix("/").unwrap_or(parent);
        for part in inner {
            it.step(part)?;
        }
        Ok(it)
    }

    fn step(&mut self, name: &OsStr) -> io::Result<()> {
        let open = |folder: &OwnedFd| openat(folder, Path::new(name), flags(), Mode::empty());
        let next = match open(&self.folder) {
            Err(Errno::NOENT) => {
                match mkdirat(&self.folder, name, Mode::from_raw_mode(NEW_FOLDER)) {
                    Ok(()) => self.made.push((self.folder.try_clone()?, name.into())),
                    // Another process created it at the same moment and owns it.
                    Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                open(&self.folder)
            }
            opened => opened,
        };
        self.folder = next?;
        Ok(())
    }

    /// Keeps the created folders.
    pub(super) fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for Parents {
    fn drop(&mut self) {
        for (folder, name) in self.made.iter().rev() {
            // Fails if another process uses the folder by now.
            let _ = unlinkat(folder, &**name, AtFlags::REMOVEDIR);
        }
    }
}

/// Flags for opening a folder only to traverse it, which needs no read permission.
fn flags() -> OFlags {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    let flags = flags | OFlags::PATH;
    flags
}
