//! Effects of a command that no restore reverts: changes of Git's HEAD, index, and stash, and
//! of folders without files or with a repository of their own.
//!
//! Reads Git's files itself, because Git could run what the repository configures. Sources:
//! gitrepository-layout(5), gitrevisions(7).

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use platform::files::FileStatus;
use platform::paths;
use serde::{Deserialize, Serialize};

use super::file_state::StoredPath;
use super::index::{Folders, Stamp, now_ns};
use crate::git_index::{MAX_INDEX, git_folder, staged};
use crate::objects::Hash;

/// Maximum bytes of a text that are read, such as packed-refs.
const MAX_TEXT: u64 = 8 * 1024 * 1024;
/// Letters of an ID that are shown.
const SHORT: usize = 7;
/// The name of a repository in its folder.
pub(super) const REPOSITORY: &str = ".git";
/// Beginning of the names of branches.
const BRANCHES: &str = "refs/heads/";

/// Changes by commands to Git's state and to folders.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Aside {
    /// Git before and after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) git: Option<(GitState, GitState)>,
    /// Folders that were empty or a repository in the end, and not before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    folders: Vec<StoredPath>,
    /// Folders that were empty or a repository before, and not in the end; true for repositories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gone: Vec<(StoredPath, bool)>,
}

/// Where a repository is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GitState {
    /// The name of the branch; `None` for a detached HEAD.
    branch: Option<String>,
    /// The ID of the commit.
    commit: Option<String>,
    /// The ID of the newest entry of the stash.
    stash: Option<String>,
    /// The hash of what is staged; `None` if it is not known.
    #[serde(default)]
    index: Option<Hash>,
}

impl GitState {
    /// The state of the repository with this working tree; `None` if there is none. `last` is the
    /// index of this working tree.
    pub(super) fn of(root: &Path, last: &LastIndex) -> Option<Self> {
        let folder = git_folder(root)?;
        let common = text(&folder.join("commondir"));
        let common = common.map_or_else(|| folder.clone(), |it| folder.join(it));
        let id = |name: &str| {
            let loose = [&folder, &common].map(|it| text(&it.join(name)));
            loose.into_iter().flatten().next().or_else(|| {
                let packed = text(&common.join("packed-refs"))?;
                let mut lines = packed.lines().filter_map(|it| it.split_once(' '));
                lines.find(|it| it.1 == name).map(|it| it.0.to_owned())
            })
        };
        let head = text(&folder.join("HEAD"))?;
        let name = head.strip_prefix("ref: ");
        let is_plain = |it: &&str| it.starts_with("refs/") && !it.contains("..");
        Some(Self {
            branch: name.map(|it| it.strip_prefix(BRANCHES).unwrap_or(it).to_owned()),
            commit: match name {
                Some(name) => Some(name).filter(is_plain).and_then(id),
                None => Some(head.clone()),
            },
            stash: id("refs/stash"),
            index: last.staged(&folder.join("index")),
        })
    }

    fn head(&self) -> String {
        let commit = self.commit.as_deref().unwrap_or("no commit");
        let commit = commit.get(..SHORT).filter(|_| self.commit.is_some());
        let commit = commit.unwrap_or("no commit");
        match &self.branch {
            Some(branch) => format!("{commit} on {}", paths::visible(Path::new(branch))),
            None => format!("{commit} (detached)"),
        }
    }
}

/// What was staged in the index that was read last. An index may have megabytes, and most commands
/// leave it as it is.
#[derive(Debug, Default)]
pub(super) struct LastIndex(Mutex<(Stamp, Option<Hash>)>);

impl LastIndex {
    /// Identifies what is staged in the index at `path`, which is read only if its stamp is new. `None`
    /// if it cannot be read.
    fn staged(&self, path: &Path) -> Option<Hash> {
        let now = now_ns();
        let file = open(path)?;
        let stamp = Stamp::of(&FileStatus::of(&file).ok()?);
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0 != stamp {
            let staged = content(file, MAX_INDEX).and_then(|it| staged(&it));
            *last = (stamp.settled(now), staged);
        }
        last.1
    }
}

impl Aside {
    /// The effects of a command before which Git was in the state `before`, and after which it is in
    /// the state `after`.
    pub(super) fn new(before: Option<GitState>, after: Option<GitState>, folders: Folders) -> Self {
        Self {
            git: before.zip(after).filter(|(before, after)| before != after),
            folders: folders.new.into_iter().map(StoredPath).collect(),
            gone: { folders.gone.into_iter() }
                .map(|(it, is)| (StoredPath(it), is))
                .collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what a later command did.
    pub(super) fn add(&mut self, later: Self) {
        self.git = match (self.git.take(), later.git) {
            (Some((before, _)), Some((_, after))) => Some((before, after)),
            (one, other) => one.or(other),
        };
        self.folders.extend(later.folders);
        self.gone.extend(later.gone);
    }

    /// Sentences about what stays when the files are restored.
    pub(super) fn remarks(&self, root: &Path) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some((before, after)) = &self.git {
            let mut what = Vec::new();
            if (&before.branch, &before.commit) != (&after.branch, &after.commit) {
                what.push(format!("HEAD was {}, is {}", before.head(), after.head()));
            }
            if before.stash != after.stash {
                what.push("the stash has other entries".to_owned());
            }
            if before.index != after.index {
                what.push("the index has other entries".to_owned());
            }
            let mut remark = format!(
                "The call changed Git: {}. Only files are restored; HEAD, branches, index, and stash stay.",
                what.join("; ")
            );
            if before.branch != after.branch {
                remark.push_str(" The restored files are those of the other branch.");
            }
            remarks.push(remark);
        }
        remarks.extend(self.about_repositories(root));
        let empty = self.folders.iter().map(|it| &*it.0);
        let empty = empty.filter(|it| !is_repository(it) && is_without_files(it));
        remarks.extend(named("New empty folders stay", empty, root));
        let gone = self.gone.iter().filter(|(_, is)| !is).map(|(it, _)| &*it.0);
        let gone = gone.filter(|it| it.symlink_metadata().is_err());
        remarks.extend(named("Empty folders stay away", gone, root));
        remarks
    }

    /// Sentences about repositories that stay, or stay away.
    pub(super) fn about_repositories(&self, root: &Path) -> Vec<String> {
        let new = self.folders.iter().map(|it| &*it.0);
        let new = new.filter(|it| is_repository(it));
        let gone = self.gone.iter().filter(|(_, is)| *is).map(|(it, _)| &*it.0);
        let gone = gone.filter(|it| !is_repository(it));
        let remarks = [
            named("New repositories stay", new, root),
            named("Removed repositories cannot be restored", gone, root),
        ];
        remarks.into_iter().flatten().collect()
    }
}

/// A sentence with the names of folders, if there are any.
fn named<'a>(what: &str, folders: impl Iterator<Item = &'a Path>, root: &Path) -> Option<String> {
    let names = folders.map(|it| {
        if it == root {
            REPOSITORY.to_owned()
        } else {
            paths::below(it, root)
        }
    });
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| format!("{what}: {}.", names.join(", ")))
}

/// Returns true if a restore leaves this new folder although no file in it has a checkpoint.
pub(super) fn stays(folder: &Path) -> bool {
    is_repository(folder) || is_without_files(folder)
}

fn is_repository(folder: &Path) -> bool {
    folder.join(REPOSITORY).symlink_metadata().is_ok()
}

fn is_without_files(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut it| it.next().is_none())
}

/// The text of a small file, without the line end.
fn text(path: &Path) -> Option<String> {
    let text = String::from_utf8(content(open(path)?, MAX_TEXT)?).ok()?;
    Some(text.trim_end().to_owned())
}

fn open(path: &Path) -> Option<File> {
    // Opening anything else could wait.
    let is_file = fs::metadata(path).is_ok_and(|it| it.is_file());
    is_file.then(|| File::open(path).ok())?
}

fn content(file: File, most: u64) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    file.take(most).read_to_end(&mut content).ok()?;
    Some(content)
}
