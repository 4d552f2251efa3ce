//! Which file a program's name leads to, and the `PATH` that approved commands get.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Folders whose programs belong to the system. Only these are trusted.
pub(super) const SYSTEM: [&str; 9] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/opt/homebrew/bin",
    "/run/current-system/sw/bin",
    "/nix/var/nix/profiles/default/bin",
];
/// Parts of the paths of programs that choose another program by files of the project.
const SHIMS: [&str; 9] = [
    "asdf", "corepack", "mise", "nodenv", "pyenv", "rbenv", "rustup", "shims", "volta",
];

/// In what order folders of programs are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Those of the system come first.
    SystemFirst,
    /// As in `PATH`.
    Given,
}

/// Folders of programs, in the order in which they are searched.
#[derive(Debug, Clone, Default)]
pub(super) struct Folders(Vec<PathBuf>);

impl Folders {
    /// Those of a `PATH`.
    pub(super) fn of(path: Option<&OsStr>) -> Self {
        let folders = path.into_iter().flat_map(std::env::split_paths);
        Self(folders.collect())
    }

    /// The folders that approved commands get: the absolute ones outside `project`, those
    /// of the system first. `which` gets them in their own order, so that it finds what the
    /// user would.
    pub(super) fn safe(&self, project: &[PathBuf], order: Order) -> Self {
        let more = SYSTEM.iter().map(PathBuf::from);
        let more = more.filter(|it| !self.0.contains(it) && it.is_dir());
        let is_outside = |it: &PathBuf| {
            let real = it.canonicalize().unwrap_or_default();
            let inside = |root: &PathBuf| it.starts_with(root) || real.starts_with(root);
            is_system(it) || it.is_absolute() && !project.iter().any(inside)
        };
        let given = self.0.iter().filter(|it| is_outside(it)).cloned();
        let mut all: Vec<PathBuf> = given.chain(more).collect();
        all.retain(|it| !is_writable_by_all(it));
        if order == Order::SystemFirst {
            // Stable: among themselves they keep their order.
            all.sort_by_key(|it| !is_system(it));
        }
        Self(all)
    }

    /// As a `PATH`.
    pub(super) fn value(&self) -> OsString {
        // A folder with a colon in its name can be in none.
        std::env::join_paths(&self.0).unwrap_or_else(|_| SYSTEM.join(":").into())
    }

    /// The first program of that name.
    pub(super) fn find(&self, name: &str) -> Option<PathBuf> {
        let files = self.0.iter().map(|it| it.join(name));
        files
            .into_iter()
            .find(|it| it.is_file() && access(it, Access::EXEC_OK).is_ok())
    }
}

/// Whether a program is in a folder of the system.
pub(super) fn is_system_program(file: &Path) -> bool {
    file.parent().is_some_and(is_system)
}

/// Whether a program chooses another one by files of the project.
pub(super) fn is_shim(file: &Path) -> bool {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let mut parts = real.components().filter_map(|it| it.as_os_str().to_str());
    parts.any(|part| SHIMS.contains(&part))
}

fn is_system(folder: &Path) -> bool {
    SYSTEM.iter().any(|it| Path::new(it) == folder)
}

fn is_writable_by_all(folder: &Path) -> bool {
    folder
        .metadata()
        .is_ok_and(|it| it.permissions().mode() & 0o002 != 0)
}
