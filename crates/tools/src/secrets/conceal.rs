//! Finds the secret files and folders that a sandbox hides from commands.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use platform::files::{FileId, FileStatus};

use super::{Indexes, SecretKind, Secrets, entries, folded, names};
use crate::files::leads_to;
use crate::names::fold;

/// Maximum number of files and folders that a sandbox hides from other than read-only commands; each
/// needs a mount.
const MOST: usize = 128;

/// A secret that a sandbox hides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concealed {
    /// Its real path.
    pub path: PathBuf,
    /// Why it is secret.
    pub kind: SecretKind,
    /// True if it is a folder, which looks empty. A file can't be opened.
    pub is_folder: bool,
    /// Paths in the folder that stay visible: revealed ones, and public files.
    pub seen: Vec<PathBuf>,
}

impl Secrets {
    /// The secrets that exist: in the home folder and the system, directly in the folders `work`,
    /// and among `found`.
    ///
    /// In a folder that contains one of `work`, only the secret entries are hidden. A file is not
    /// hidden if Git's index contains its text.
    pub fn concealed(&self, work: &[PathBuf], found: Vec<PathBuf>) -> Vec<Concealed> {
        let mut indexes = Indexes::default();
        let mut hidden = self.conceal(work, found, |it| !it.is_folder && indexes.hold(&it.path));
        // The deepest ones stay visible, because each mount delays the start of a command.
        hidden.truncate(MOST);
        hidden
    }

    /// The secrets of [`Self::concealed`] without a limit, and also those whose text Git's index contains.
    /// Without those that are not seen anyway.
    pub(crate) fn all_concealed(
        &self,
        work: &[PathBuf],
        found: Vec<PathBuf>,
        is_unseen: impl Fn(&Path) -> bool,
    ) -> Vec<Concealed> {
        self.conceal(work, found, |it| is_unseen(&it.path))
    }

    fn conceal(
        &self,
        work: &[PathBuf],
        found: Vec<PathBuf>,
        mut is_spared: impl FnMut(&Concealed) -> bool,
    ) -> Vec<Concealed> {
        let mut candidates = self.candidates();
        for folder in work {
            candidates.extend(suspects(folder));
        }
        candidates.extend(found);
        let mut hidden = BTreeMap::new();
        while let Some(path) = candidates.pop() {
            let Some(one) = self.existing(&path) else {
                continue;
            };
            // Several names may lead to one secret.
            let is_known = hidden.contains_key(&one.path);
            if is_known || is_spared(&one) {
                continue;
            }
            if one.is_folder && work.iter().any(|it| leads_to(it).starts_with(&one.path)) {
                candidates.extend(entries(&one.path));
                continue;
            }
            hidden.insert(one.path.clone(), one);
        }
        outermost(hidden)
    }

    /// The secret at a path, if it exists and is not revealed.
    fn existing(&self, path: &Path) -> Option<Concealed> {
        // Most candidates don't exist, which is cheap to find out.
        path.symlink_metadata().ok()?;
        let real = leads_to(path);
        let is_folder = real.symlink_metadata().ok()?.is_dir();
        if self.is_revealed(&real) {
            return None;
        }
        let kind = self.place(&real, is_folder);
        // Commands need certificates, which often have the names of keys.
        let status = FileStatus::of_link(&real).ok()?;
        if kind == Some(SecretKind::Key) && super::names::is_public(&real, &status) {
            return None;
        }
        // A link with a secret name makes its target secret.
        let kind = kind.or_else(|| self.unrevealed(path, is_folder))?;
        let seen = if is_folder {
            self.seen(&real)
        } else {
            Vec::new()
        };
        Some(Concealed {
            path: real,
            kind,
            is_folder,
            seen,
        })
    }

    /// Paths in the home folder and the system that are secret if they exist.
    fn candidates(&self) -> Vec<PathBuf> {
        let home = self.home.iter();
        let mut candidates: Vec<PathBuf> = home.clone().flat_map(|it| names::in_home(it)).collect();
        candidates.extend(names::IN_SYSTEM.iter().map(PathBuf::from));
        let moved = self.moved.iter();
        candidates.extend(moved.flat_map(|(place, usual)| names::moved(place, usual)));
        candidates.extend(self.ours.iter().flat_map(|it| entries(it)));
        candidates.extend(home.flat_map(|it| suspects(it)));
        candidates
    }

    /// The candidates that are files, and the entries of those that are folders.
    pub(super) fn files_in_home(&self) -> Vec<PathBuf> {
        let candidates = self.candidates().into_iter();
        let files = candidates.flat_map(|path| {
            if path.is_dir() {
                entries(&path)
            } else {
                vec![path]
            }
        });
        files.collect()
    }

    /// The paths in a hidden folder that stay visible.
    fn seen(&self, folder: &Path) -> Vec<PathBuf> {
        let revealed = self.revealed.iter();
        let revealed = revealed.filter(|it| it.starts_with(folder)).cloned();
        let public = entries(folder).into_iter().filter(|path| {
            let name = path.components().next_back().map(folded);
            // A link may lead to a file that is not public.
            name.is_some_and(|it| names::is_public_name(&it))
                && path.symlink_metadata().is_ok_and(|it| it.is_file())
        });
        let mut seen: Vec<PathBuf> = revealed.chain(public).collect();
        seen.sort();
        seen.dedup();
        seen
    }
}

/// The entries of a folder that may be secrets by their names.
fn suspects(folder: &Path) -> Vec<PathBuf> {
    let mut entries = entries(folder);
    entries.retain(|path| is_suspect(path));
    entries
}

/// Returns true if a path may be a secret by its last name.
pub(crate) fn is_suspect(path: &Path) -> bool {
    let Some(name) = path.file_name() else {
        return false;
    };
    // Folding is the most expensive part, and most names need none.
    let is_folded = |name: &&str| {
        let is_plain = |it: u8| it.is_ascii_graphic() && !it.is_ascii_uppercase() && it != b':';
        !name.ends_with('.') && name.bytes().all(is_plain)
    };
    match name.to_str().filter(is_folded) {
        Some(name) => names::may_be_secret(name),
        None => names::may_be_secret(&fold(&name.to_string_lossy())),
    }
}

/// Removes paths below another one, and sorts by depth.
fn outermost(hidden: BTreeMap<PathBuf, Concealed>) -> Vec<Concealed> {
    let mut outer: Vec<Concealed> = Vec::new();
    for (path, one) in hidden {
        let is_inside = |it: &Concealed| it.is_folder && path.starts_with(&it.path);
        if !outer.iter().any(is_inside) {
            outer.push(one);
        }
    }
    outer.sort_by_key(|it| (it.path.components().count(), it.path.clone()));
    outer
}

// Recognizes hard links to secret files by device and inode.

/// Secret files by device and inode, read when the first file with several names is checked.
#[derive(Debug, Clone, Default)]
pub(super) struct Inodes(Arc<OnceLock<HashMap<FileId, SecretKind>>>);

impl Inodes {
    /// Why the file with this status is secret under another of its names. `secrets`
    /// lists the secret files.
    pub(super) fn find<I>(
        &self,
        status: &FileStatus,
        secrets: impl FnOnce() -> I,
    ) -> Option<SecretKind>
    where
        I: Iterator<Item = (FileStatus, SecretKind)>,
    {
        // Most files have a single name, so nothing needs to be read.
        if !status.is_file() || status.links < 2 {
            return None;
        }
        let known = self.0.get_or_init(|| {
            let files = secrets().filter(|(status, _)| status.is_file());
            files.map(|(status, kind)| (status.id, kind)).collect()
        });
        known.get(&status.id).copied()
    }
}

/// Always equal, because a cache doesn't affect which files are secret.
impl PartialEq for Inodes {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Inodes {}
