//! Creates the folders that a new file needs, without following links.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path};

use platform::files::{FolderAccess, OpenFolder};

use super::RealPath;

/// The opened folder of a file. Folders created for it are removed again on drop unless
/// [`Parents::keep`] is called.
pub(crate) struct Parents {
    /// The folder of the file.
    pub folder: OpenFolder,
    /// The created folders, outermost first: parent and name.
    made: Vec<(OpenFolder, Box<OsStr>)>,
}

impl Parents {
    /// Opens the folder of `path` and creates missing folders.
    ///
    /// # Errors
    ///
    /// Any error of the system. Folders created so far are removed.
    pub(crate) fn make(path: &RealPath) -> io::Result<Self> {
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
            folder: OpenFolder::root_of(parent)?,
            made: Vec::new(),
        };
        for part in parent.components() {
            if let Component::Normal(name) = part {
                it.step(name)?;
            }
        }
        Ok(it)
    }

    fn step(&mut self, name: &OsStr) -> io::Result<()> {
        let open = |folder: &OpenFolder| folder.folder(Path::new(name), FolderAccess::Lookup);
        let next = match open(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match self.folder.make_folder(name) {
                    Ok(()) => self.made.push((self.folder.try_clone()?, name.into())),
                    // Another process created it at the same moment and owns it.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                }
                open(&self.folder)
            }
            opened => opened,
        };
        self.folder = next?;
        Ok(())
    }

    /// Keeps the created folders.
    pub(crate) fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for Parents {
    fn drop(&mut self) {
        while let Some((folder, name)) = self.made.pop() {
            // Windows removes no folder that is held open.
            self.folder = folder;
            // Fails if another process uses the folder by now.
            let _ = self.folder.remove_folder(&name);
        }
    }
}
