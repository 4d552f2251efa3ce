//! Finds programs by name, and makes the `PATH` of approved commands.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use platform::paths::canonicalize;
use platform::{programs, user};

/// System folders. Only their programs are approved.
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
/// Why no command is approved because it only reads. `None` where commands are looked at.
pub(super) const REFUSED: Option<&str> = system::REFUSED;
/// Folders of programs, in search order.
#[derive(Debug, Clone, Default)]
pub(super) struct Folders(Vec<PathBuf>);

impl Folders {
    /// The folders of a `PATH`.
    pub(super) fn of(path: Option<&OsStr>) -> Self {
        let folders = path.into_iter().flat_map(std::env::split_paths);
        Self(folders.collect())
    }

    /// The folders that approved commands get: system folders and absolute folders outside
    /// `project`, without those that all users can write to. System folders come first if no view
    /// holds the command.
    pub(super) fn safe(&self, project: &[PathBuf], is_viewed: bool) -> Self {
        let more = SYSTEM.iter().map(PathBuf::from);
        let more = more.filter(|it| !self.0.contains(it) && it.is_dir());
        let is_outside = |it: &PathBuf| {
            // A link outside of the project may lead into it.
            let real = canonicalize(it).unwrap_or_default();
            let inside = |root: &PathBuf| it.starts_with(root) || real.starts_with(root);
            is_system(it) || it.is_absolute() && !project.iter().any(inside)
        };
        let given = self.0.iter().filter(|it| is_outside(it)).cloned();
        let mut all: Vec<PathBuf> = given.chain(more).collect();
        // Any user could put a program there.
        all.retain(|it| !is_writable_by_all(it));
        if !is_viewed {
            // The sort is stable, so each group keeps its order.
            all.sort_by_key(|it| !is_system(it));
        }
        Self(all)
    }

    /// The value of `PATH`.
    pub(super) fn value(&self) -> OsString {
        // A `PATH` can't contain a folder with a colon in its name.
        std::env::join_paths(&self.0).unwrap_or_else(|_| SYSTEM.join(":").into())
    }

    /// The first program with this name.
    pub(super) fn find(&self, name: &str) -> Option<PathBuf> {
        let files = self.0.iter().map(|it| it.join(name));
        files
            .into_iter()
            .find(|it| it.is_file() && programs::check(it).is_ok())
    }
}

/// Whether a program is in a system folder.
pub(super) fn is_system_program(file: &Path) -> bool {
    file.parent().is_some_and(is_system)
}

fn is_system(folder: &Path) -> bool {
    SYSTEM.iter().any(|it| Path::new(it) == folder)
}

fn is_writable_by_all(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|it| user::all_can_write(&it))
}
