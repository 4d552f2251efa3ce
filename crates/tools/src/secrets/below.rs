//! Finds the secrets below a folder, and those that a repository tracks.

use std::path::{Path, PathBuf};

use super::{Secrets, is_suspect};
use crate::git_index::{GitIndex, git_folder};

/// Maximum number of entries that a search for secrets visits.
const ENTRIES: usize = 30_000;
/// Folders of downloaded or generated files. They contain no secrets of the user.
const SHALLOW: [&str; 5] = ["node_modules", "target", "__pycache__", "objects", ".venv"];
/// How deep submodules may be in each other.
const DEEPEST: usize = 4;

/// A repository that tracks secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrackingRepository {
    /// The folder with the contents of all its files.
    pub objects: PathBuf,
    /// The secrets.
    pub files: Vec<PathBuf>,
}

/// The top of the repository that a folder is in.
pub(crate) fn repository_above(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|it| it.join(".git").exists())
}

/// The Git folder that all working trees of the repository with this Git folder share.
pub(crate) fn common_folder(git: &Path) -> PathBuf {
    let text = std::fs::read_to_string(git.join("commondir"));
    text.map_or_else(|_| git.to_owned(), |it| git.join(it.trim_end()))
}

impl Secrets {
    /// The home folder.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The paths below a folder that may be secret by their names, and whether all entries were
    /// visited. Does not follow links.
    pub(crate) fn suspects_below(top: &Path) -> (Vec<PathBuf>, bool) {
        let (mut found, mut left) = (Vec::new(), ENTRIES);
        let mut open = vec![top.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                left = match left.checked_sub(1) {
                    Some(left) => left,
                    None => return (found, false),
                };
                let path = entry.path();
                let is_shallow = SHALLOW.iter().any(|it| entry.file_name() == *it);
                let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
                if is_folder && !is_shallow {
                    open.push(path.clone());
                }
                if is_suspect(&path) {
                    found.push(path);
                }
            }
        }
        (found, true)
    }

    /// The repositories that track secrets: the one that `folder` is in, and its submodules.
    pub(crate) fn tracked(&self, folder: &Path) -> Vec<TrackingRepository> {
        let mut found = Vec::new();
        let top = repository_above(folder).map(|it| (it.to_owned(), 0));
        let mut open: Vec<(PathBuf, usize)> = top.into_iter().collect();
        while let Some((top, depth)) = open.pop() {
            let Some((git, index)) = git_folder(&top).zip(GitIndex::of(&top)) else {
                continue;
            };
            let files = index.files.iter().map(|it| top.join(it));
            let files: Vec<PathBuf> = files.filter(|it| self.below(it, false).is_some()).collect();
            if !files.is_empty() {
                let objects = common_folder(&git).join("objects");
                found.push(TrackingRepository { objects, files });
            }
            if depth < DEEPEST {
                let modules = index.modules.iter().map(|it| (top.join(it), depth + 1));
                open.extend(modules);
            }
        }
        found
    }
}
