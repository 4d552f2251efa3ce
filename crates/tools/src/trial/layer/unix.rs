//! Reads the upper folder of an overlay.
//!
//! The format is that of overlayfs with `userxattr`: a removed file is a character device 0:0, and a
//! folder that hides the one below it has the attribute `user.overlay.opaque`. Source: the kernel's
//! overlayfs.rst.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use platform::paths::visible;

use super::{LayerChange, LayerChanges};
use crate::sandbox::Overlay;

/// The bits of a mode that commands may set: no setuid, setgid, or sticky bit.
const PERMISSIONS: u32 = 0o777;
/// The bits that no change may have.
const SPECIAL: u32 = 0o6000;

/// Reads the layers of a trial. Blocking.
///
/// # Errors
///
/// A layer can't be read.
pub(in crate::trial) fn read(overlays: &[Overlay]) -> io::Result<LayerChanges> {
    let mut found = LayerChanges::default();
    for (number, overlay) in overlays.iter().enumerate() {
        let reader = Reader { overlay, number };
        reader.folder(Path::new(""), false, &mut found)?;
    }
    Ok(found)
}

struct Reader<'a> {
    overlay: &'a Overlay,
    number: usize,
}

impl Reader<'_> {
    /// Reads a folder of the layer. `hides` if nothing of the folder below is seen through it.
    fn folder(&self, path: &Path, hides: bool, found: &mut LayerChanges) -> io::Result<()> {
        let upper = self.overlay.upper.join(path);
        let below = self.names_below(path);
        let is_new = below.is_none();
        let hides = hides || is_new || is_opaque(&upper);
        let mut names = Vec::new();
        for entry in fs::read_dir(&upper)? {
            let name = entry?.file_name();
            self.entry(&path.join(&name), hides, found)?;
            names.push(name);
        }
        if is_new && names.is_empty() {
            found.add(self.change(path, true, true));
        }
        for name in below.into_iter().flatten().filter(|_| hides) {
            if !names.contains(&name) {
                self.removed(&path.join(&name), found);
            }
        }
        Ok(())
    }

    fn entry(&self, path: &Path, hides: bool, found: &mut LayerChanges) -> io::Result<()> {
        let upper = self.overlay.upper.join(path);
        let status = upper.symlink_metadata()?;
        let below = self.below(path);
        let kind = status.file_type();
        if kind.is_char_device() && status.rdev() == 0 {
            self.removed(path, found);
            return Ok(());
        }
        let name = visible(path);
        let change = self.change(path, true, kind.is_dir());
        if kind.is_dir() {
            if below.as_ref().is_some_and(|it| !it.is_dir()) {
                found.obstacle(&change, format!("it replaces {name} by a folder"));
            }
            let mode = |it: &Metadata| it.mode() & PERMISSIONS;
            let old = below.filter(|it| it.is_dir());
            if old.is_some_and(|it| mode(&it) != mode(&status)) {
                found.obstacle(&change, format!("it changes the mode of the folder {name}"));
            }
            if status.mode() & 0o700 != 0o700 {
                found.obstacle(&change, format!("it restricts access to the folder {name}"));
                fs::set_permissions(&upper, fs::Permissions::from_mode(0o700))?;
            }
            return self.folder(path, hides, found);
        }
        if !kind.is_file() && !kind.is_symlink() {
            found.obstacle(
                &change,
                format!("it creates {name}, which is not a regular file"),
            );
            return Ok(());
        } else if status.mode() & SPECIAL != 0 {
            found.obstacle(
                &change,
                format!("it sets the setuid or setgid bit of {name}"),
            );
            return Ok(());
        } else if kind.is_file() && status.mode() & 0o400 == 0 {
            found.obstacle(&change, format!("it makes {name} unreadable"));
        }
        // Its path stands for what replaces it.
        if below.is_some_and(|it| it.is_dir()) {
            self.removed(path, found);
            found.obstacle(&change, format!("it replaces the folder {name} by a file"));
        }
        found.add(change);
        Ok(())
    }

    /// Adds a removed file, or all files of a removed folder.
    fn removed(&self, path: &Path, found: &mut LayerChanges) {
        // It was made and removed in the trial, or has gone meanwhile.
        let Some(status) = self.below(path) else {
            return;
        };
        for name in self.names_below(path).into_iter().flatten() {
            self.removed(&path.join(name), found);
        }
        found.add(self.change(path, false, status.is_dir()));
    }

    /// The metadata of a path in the lower layers, which the command saw unless it changed it.
    fn below(&self, path: &Path) -> Option<Metadata> {
        self.lower()
            .find_map(|it| it.join(path).symlink_metadata().ok())
    }

    /// The names in a folder that the command saw, unless it changed them. `None` if it saw no folder.
    fn names_below(&self, path: &Path) -> Option<BTreeSet<OsString>> {
        self.below(path).filter(Metadata::is_dir)?;
        let folders = self.lower().map(|it| it.join(path));
        let folders = folders.filter(|it| it.symlink_metadata().is_ok_and(|it| it.is_dir()));
        let entries = folders.filter_map(|it| fs::read_dir(it).ok());
        Some(
            entries
                .flatten()
                .flatten()
                .map(|it| it.file_name())
                .collect(),
        )
    }

    /// The folders that are seen through the layer, the first one on top.
    fn lower(&self) -> impl Iterator<Item = &PathBuf> {
        self.overlay.scratch.iter().chain([&self.overlay.folder])
    }

    fn change(&self, path: &Path, exists: bool, is_folder: bool) -> LayerChange {
        LayerChange {
            path: self.overlay.folder.join(path),
            source: exists.then(|| self.overlay.upper.join(path)),
            overlay: self.number,
            is_folder,
            is_shared: false,
        }
    }
}

/// Returns true if a folder of a layer hides the one below it.
fn is_opaque(folder: &Path) -> bool {
    let mut value = [0; 2];
    let read = rustix::fs::lgetxattr(folder, "user.overlay.opaque", &mut value);
    read.is_ok_and(|length| &value[..length] == b"y")
}

/// The number of bytes and of files in a layer, as far as it is within the limits.
pub(in crate::trial) fn size(folder: &Path, bytes: u64, files: u64) -> (u64, u64) {
    let (mut size, mut count) = (0, 0);
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            count += 1;
            if let Ok(status) = entry.path().symlink_metadata() {
                // A sparse file takes less than its length. Blocks beyond the length are reserved for
                // more, and one file alone may reach the limit, at which its writer is stopped.
                size += status.len().min(status.blocks() * 512);
                if status.is_dir() {
                    left.push(entry.path());
                }
            }
            if size > bytes || count > files {
                return (size, count);
            }
        }
    }
    (size, count)
}
