//! The limits of the commands of one chat.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::view::{self, View};
use super::{Missing, paths};
use crate::secrets::{Concealed, Secrets};

/// The limits of one chat's commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Writable folders, as absolute paths.
    pub writable: Vec<PathBuf>,
    /// Paths below `writable` that are read-only. A path that does not exist can still be created.
    pub kept: Vec<PathBuf>,
    /// Paths below `writable` that are renamed if a command creates them.
    pub never_made: Vec<PathBuf>,
    /// Folders that the user works in. Below them, `names` can be neither written nor created.
    pub work: Vec<PathBuf>,
    /// Names of protected files.
    pub names: Names,
    /// Folders that look empty, such as those with sockets of the editor.
    pub hidden: Vec<PathBuf>,
    /// Files and sockets that look empty.
    pub masked: Vec<PathBuf>,
    /// Decides which files are hidden because they are secret. `None` if none are.
    pub secrets: Option<Arc<Secrets>>,
    /// The hidden secrets that exist, once they were searched.
    pub concealed: Option<Vec<Concealed>>,
    /// The folder that commands see as `/tmp`; the machine's own if absent.
    pub tmp: Option<Tmp>,
    /// Files and folders below the machine's `/tmp` that remain visible.
    pub shown: Vec<PathBuf>,
    /// Sockets that can be reached. All others that exist when a command starts can't.
    pub sockets: Vec<PathBuf>,
    /// Permissions that the user could grant, and how a result names a missing one.
    pub missing: Vec<Missing>,
    /// The home folder, if little of it is seen.
    pub home: Option<NarrowHome>,
    /// Whether the network can be reached.
    pub network: bool,
    /// Whether a command keeps the user's privileges.
    pub privileged: bool,
}

/// A home folder of which only some files and folders are seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NarrowHome {
    /// The folder.
    pub folder: PathBuf,
    /// Real paths in it that are seen.
    pub seen: Vec<PathBuf>,
    /// Whether commands can list it, and write files in it that are lost when they end.
    pub is_writable: bool,
}

impl NarrowHome {
    /// Whether a path is in the folder and not seen.
    pub(super) fn hides(&self, path: &Path) -> bool {
        path.starts_with(&self.folder) && !self.seen.iter().any(|it| path.starts_with(it))
    }
}

/// A folder that is mounted as `/tmp`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tmp {
    /// The folder, which is created on first use; see [`tmp_folder`].
    pub folder: PathBuf,
    /// Whether it is writable. It also is if [`SandboxLimits::writable`] contains `/tmp`.
    pub writable: bool,
}

impl SandboxLimits {
    /// The limits with real paths. If another folder is mounted as `/tmp`, `writable` no longer
    /// contains `/tmp` itself.
    pub(super) fn real(&self) -> Self {
        let is_tmp = |path: &Path| Path::new(view::TMP).starts_with(path);
        let tmp = self.tmp.clone().map(|tmp| Tmp {
            writable: tmp.writable || self.writable.iter().any(|path| is_tmp(path)),
            ..tmp
        });
        // The chat's folder takes its place.
        let is_replaced = |path: &&PathBuf| tmp.is_some() && *path == Path::new(view::TMP);
        let (below, others): (Vec<_>, Vec<_>) = paths::each_real(&self.writable)
            .filter(|path| !is_replaced(&path))
            .partition(|path| tmp.is_some() && path.starts_with(view::TMP));
        // Kept apart, because a writable "/" doesn't include folders below the machine's `/tmp`.
        let mut writable = paths::outermost(others);
        writable.extend(paths::outermost(below));
        Self {
            writable,
            kept: paths::real(&self.kept),
            hidden: paths::real(&self.hidden),
            masked: paths::real(&self.masked),
            shown: paths::real(&self.shown),
            sockets: paths::real(&self.sockets),
            tmp,
            ..self.clone()
        }
    }

    /// What commands see below `/tmp`, unless they see the machine's.
    pub(super) fn view(&self) -> Option<View<'_>> {
        let shown = self.shown.iter().chain(&self.writable);
        let is_below = |path: &&Path| path.starts_with(view::TMP);
        Some(View {
            tmp: &self.tmp.as_ref()?.folder,
            shown: shown.map(PathBuf::as_path).filter(is_below).collect(),
        })
    }
}

/// Names of protected files and folders, besides those of Git.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Names that can be neither written nor created, in any folder.
    pub kept: Vec<String>,
    /// Folders of generated or installed files, whose subfolders are not scanned.
    pub shallow: Vec<String>,
}
