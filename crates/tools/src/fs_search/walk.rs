//! Walks a folder in order without following links.
//!
//! Each folder and file is opened relative to the resolved root, so a link that appears in the
//! meantime leads nowhere.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use platform::files::{FileKind, FileStatus, FolderAccess, OpenFolder};

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
            if self.count(&path.join(entry.name()), &entry, rules.as_ref()) {
                entries.push(entry);
            }
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok((entries, rules))
    }

    /// Counts an entry. Returns true if it is neither ignored nor secret.
    fn count(&mut self, path: &Path, entry: &Entry, rules: Option<&Rules>) -> bool {
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

    /// Returns true if an open file is a hard link to a secret file.
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

// Ignore rules: `.gitignore`, `.ignore`, `.git/info/exclude`, and the user's global list of
// Git.

/// Maximum size of an ignore file in bytes (1 MiB).
const MOST_BYTES: u64 = 1024 * 1024;

/// The rules for the entries of one folder, including those of the folders above it. Cheap to
/// clone.
#[derive(Clone)]
pub(super) struct Rules(Option<Arc<Level>>);

struct Level {
    /// The rules of the folder above. A repository starts anew with only the user's rules.
    above: Rules,
    /// The folder's own files, highest precedence first.
    files: Vec<Gitignore>,
}

impl Rules {
    /// No rules.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// The user's rules and those of the folders above `root`, up to the nearest repository.
    /// `folder` is `root`, opened.
    pub(super) fn of(root: &RealPath, folder: &OpenFolder) -> Self {
        let mut folders = Vec::new();
        let mut is_repository = has_git(folder);
        for above in root.as_path().ancestors().skip(1) {
            // As in Git, no rules above a repository apply to it.
            if is_repository {
                break;
            }
            let Some(opened) = open_folder(above) else {
                continue;
            };
            is_repository = has_git(&opened);
            folders.push((above, opened));
        }
        let (global, _) = Gitignore::global();
        let mut rules = Self(Some(Arc::new(Level {
            above: Self::none(),
            files: vec![global],
        })));
        // From the outermost folder inwards.
        for (path, opened) in folders.into_iter().rev() {
            rules = rules.within(path, &opened);
        }
        rules
    }

    /// The rules for the entries of `folder`, which is at `path`.
    pub(super) fn within(&self, path: &Path, folder: &OpenFolder) -> Self {
        let names = [".ignore", ".gitignore", ".git/info/exclude"];
        let files = names.iter().filter_map(|name| read(path, folder, name));
        let files: Vec<Gitignore> = files.collect();
        if has_git(folder) {
            let above = self.of_the_user();
            return Self(Some(Arc::new(Level { above, files })));
        }
        if files.is_empty() {
            return self.clone();
        }
        let above = self.clone();
        Self(Some(Arc::new(Level { above, files })))
    }

    /// The outermost level, which has the user's own rules.
    fn of_the_user(&self) -> Self {
        let mut rules = self;
        while let Some(level) = &rules.0
            && level.above.0.is_some()
        {
            rules = &level.above;
        }
        rules.clone()
    }

    /// Returns true if the rules exclude `path`, which is absolute.
    pub(super) fn leave_out(&self, path: &Path, is_folder: bool) -> bool {
        let mut rules = self;
        while let Some(level) = &rules.0 {
            for file in &level.files {
                // The rules nearest to the path decide.
                match file.matched(path, is_folder) {
                    Match::None => {}
                    found => return found.is_ignore(),
                }
            }
            rules = &level.above;
        }
        false
    }
}

fn open_folder(path: &Path) -> Option<OpenFolder> {
    let real = RealPath::of(path).ok()?;
    real.open_folder(FolderAccess::List).ok()
}

fn has_git(folder: &OpenFolder) -> bool {
    folder.status(OsStr::new(".git")).is_ok()
}

/// Parses an ignore file. One that can't be read has no rules, as in Git.
fn read(root: &Path, folder: &OpenFolder, name: &str) -> Option<Gitignore> {
    // Does not block, even if it is a pipe.
    let file = folder.file(Path::new(name)).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new(root);
    // Git skips a byte order mark, too.
    for line in text.trim_start_matches('\u{feff}').lines() {
        // Git, too, skips a line that is not a valid pattern.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
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
