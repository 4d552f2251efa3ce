//! Walks a folder in order without following links.
//!
//! Each folder and file is opened relative to the resolved root, so a link that appears in the
//! meantime leads nowhere.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use platform::files::{FileKind, FileStatus, FolderAccess, OpenFolder};

use super::ignored::Rules;
use super::{Deadline, is_skipped};
use crate::error::ToolError;
use crate::files::{Opened, RealPath, file_error, open_regular_in};
use crate::secrets::Secrets;

/// An entry of a folder.
#[derive(Debug)]
pub(super) struct Entry {
    /// The path relative to the root of the walk.
    pub path: PathBuf,
    /// The type. Links are not followed.
    pub kind: FileKind,
}

impl Entry {
    pub(super) fn is_folder(&self) -> bool {
        self.kind == FileKind::Folder
    }

    pub(super) fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }
}

/// A folder that is searched with everything below it.
pub(super) struct Tree {
    root: OpenFolder,
    path: RealPath,
    until: Deadline,
    /// The number of folders that could not be read.
    pub unread: usize,
    /// Secret entries that are left out, relative to the root, and whether each is a folder.
    pub skipped: Vec<(PathBuf, bool)>,
    /// Decides what is secret. `None` if the call may read everything in the folder.
    secrets: Option<Arc<Secrets>>,
    /// The number of entries that ignore files exclude.
    ignored: usize,
    /// The number of entries that they don't exclude.
    kept: usize,
}

impl Tree {
    /// Opens a folder. Secret entries below it are left out.
    ///
    /// # Errors
    ///
    /// The folder can't be read.
    pub(super) fn open(
        path: &RealPath,
        until: &Deadline,
        secrets: Option<Arc<Secrets>>,
    ) -> Result<Self, ToolError> {
        let root = path.open_folder(FolderAccess::List);
        let root = root.map_err(|error| file_error("listed", path.as_path(), &error))?;
        Ok(Self {
            root,
            path: path.clone(),
            until: until.clone(),
            unread: 0,
            skipped: Vec::new(),
            secrets,
            ignored: 0,
            kept: 0,
        })
    }

    /// The ignore rules above the folder.
    pub(super) fn rules(&self) -> Rules {
        Rules::of(&self.path, &self.root)
    }

    /// The number of excluded entries, if ignore files exclude all of them.
    pub(super) fn all_ignored(&self) -> Option<usize> {
        (self.kept == 0 && self.ignored > 0).then_some(self.ignored)
    }

    /// The entries of `folder`, sorted by name, and its ignore rules. `above` are the rules of
    /// the folder above; without them, nothing is ignored.
    pub(super) fn entries(
        &mut self,
        folder: &Path,
        above: Option<&Rules>,
    ) -> (Vec<Entry>, Option<Rules>) {
        match self.read(folder, above) {
            Ok(read) => read,
            // The folder was removed in the meantime.
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), None),
            Err(_) => {
                self.unread += 1;
                (Vec::new(), None)
            }
        }
    }

    fn read(
        &mut self,
        folder: &Path,
        above: Option<&Rules>,
    ) -> io::Result<(Vec<Entry>, Option<Rules>)> {
        let opened = self.root.folder(folder, FolderAccess::List)?;
        let path = self.path.as_path().join(folder);
        // From the opened folder, so that rules and entries belong together.
        let rules = above.map(|above| above.within(&path, &opened));
        let mut entries = Vec::new();
        for entry in opened.entries()? {
            let entry = entry?;
            // Checked for each entry, because a single folder may have millions.
            if self.until.is_over() {
                break;
            }
            let entry = Entry {
                path: folder.join(entry.name),
                kind: entry.kind,
            };
            if self.is_listed(&path.join(entry.name()), &entry, rules.as_ref()) {
                entries.push(entry);
            }
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok((entries, rules))
    }

    /// Whether an entry is neither ignored nor secret. Counts those that are.
    fn is_listed(&mut self, path: &Path, entry: &Entry, rules: Option<&Rules>) -> bool {
        let is_folder = entry.is_folder();
        if rules.is_some_and(|it| it.leave_out(path, is_folder)) {
            self.ignored += 1;
            return false;
        }
        // Counted before secrets are left out: a folder with only secrets is not "all ignored".
        self.kept += 1;
        let secrets = self.secrets.as_ref();
        let is_secret = secrets.is_some_and(|it| it.below(path, is_folder).is_some());
        if is_secret {
            self.skipped.push((entry.path.clone(), is_folder));
        }
        !is_secret
    }

    /// Opens a file of the tree.
    ///
    /// # Errors
    ///
    /// It can't be read, or is no longer a regular file.
    pub(super) fn open_file(&self, path: &Path) -> Result<Opened, ToolError> {
        let shown = self.path.as_path().join(path);
        let parent = path.parent().unwrap_or(Path::new(""));
        // Opened again from the root, because the folder may be a link by now.
        let folder = self.root.folder(parent, FolderAccess::List);
        let folder = folder.map_err(|error| file_error("read", &shown, &error))?;
        let name = path.file_name().unwrap_or_default();
        open_regular_in(&folder, Path::new(name), &shown)
    }

    /// Whether an open file is a hard link to a secret file.
    pub(super) fn is_linked(&self, status: &FileStatus) -> bool {
        let secrets = self.secrets.as_ref();
        secrets.is_some_and(|it| it.linked(status).is_some())
    }

    /// The target of a link, as stored.
    pub(super) fn target(&self, path: &Path) -> Option<String> {
        let parent = path.parent().unwrap_or(Path::new(""));
        let folder = self.root.folder(parent, FolderAccess::List).ok()?;
        let target = folder.read_link(path.file_name()?).ok()?;
        Some(target.to_string_lossy().into_owned())
    }
}

/// Iterates over a tree, each folder before its entries.
pub(super) struct Walk<'t> {
    pub tree: &'t mut Tree,
    /// The remaining entries of the folders on the way, the innermost last.
    stack: Vec<(std::vec::IntoIter<Entry>, Option<Rules>)>,
}

impl<'t> Walk<'t> {
    /// Starts a walk. It skips what ignore files exclude, and folders such as `.git`.
    pub(super) fn new(tree: &'t mut Tree) -> Self {
        let rules = tree.rules();
        let (entries, rules) = tree.entries(Path::new(""), Some(&rules));
        Self {
            tree,
            stack: vec![(entries.into_iter(), rules)],
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let (entries, rules) = self.stack.last_mut()?;
            let Some(entry) = entries.next() else {
                self.stack.pop();
                continue;
            };
            if entry.is_folder() {
                // Not an entry either, while `ls` lists such a folder.
                if is_skipped(entry.name()) {
                    continue;
                }
                let rules = rules.clone();
                let (inner, rules) = self.tree.entries(&entry.path, rules.as_ref());
                self.stack.push((inner.into_iter(), rules));
            }
            return Some(entry);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[test]
    fn a_folder_that_became_a_link_is_counted_and_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("in/d/deep")).unwrap();
        std::fs::write(root.join("out"), "").unwrap();
        let until = Deadline {
            cancel: CancellationToken::new(),
            limit: std::time::Duration::MAX,
            end: std::time::Instant::now() + std::time::Duration::from_secs(3600),
        };
        let real = RealPath::of(&root.join("in")).unwrap();
        let mut tree = Tree::open(&real, &until, None).unwrap();
        assert_eq!(tree.entries(Path::new("d"), None).0.len(), 1);
        std::fs::remove_dir_all(root.join("in/d")).unwrap();
        std::os::unix::fs::symlink(&root, root.join("in/d")).unwrap();
        assert_eq!(tree.entries(Path::new("d"), None).0.len(), 0);
        assert_eq!(tree.unread, 1);
        assert!(tree.open_file(Path::new("d/out")).is_err());
        // What is gone is no folder that could not be read.
        assert_eq!(tree.entries(Path::new("none"), None).0.len(), 0);
        assert_eq!(tree.unread, 1);
    }
}
