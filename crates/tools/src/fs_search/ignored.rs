//! Ignore rules: `.gitignore`, `.ignore`, `.git/info/exclude`, and the user's global list of
//! Git.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use platform::files::{FolderAccess, OpenFolder};

use crate::files::RealPath;

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

    /// Whether the rules exclude `path`, which is absolute.
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
