//! Which files of a project Git ignores, by the rules as they are outside of a trial.
//!
//! Sources: gitignore(5), gitrepository-layout(5).

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::git_index::GitIndex;

/// The rules of the repositories that paths are in.
#[derive(Default)]
pub(super) struct IgnoreRules {
    /// The `.gitignore` of each folder.
    of_folders: HashMap<PathBuf, Gitignore>,
    repositories: HashMap<PathBuf, Repository>,
}

/// What holds for a whole repository.
struct Repository {
    exclude: Gitignore,
    user: Gitignore,
    /// The files in Git's index, which are never ignored. `None` if it can't be read.
    tracked: Option<HashSet<PathBuf>>,
}

impl IgnoreRules {
    /// The outermost ignored file or folder that `path` is, or is in. `None` if it is not ignored: also
    /// without a repository, and if Git's index can't be read.
    pub(super) fn ignored(&mut self, path: &Path, is_folder: bool) -> Option<PathBuf> {
        let root = path
            .ancestors()
            .skip(1)
            .find(|it| it.join(".git").exists())?;
        let root = root.to_owned();
        self.repositories
            .entry(root.clone())
            .or_insert_with(|| Repository::of(&root));
        let inside = path.strip_prefix(&root).ok()?;
        let mut at = root.clone();
        let mut parts = inside.components().peekable();
        let mut ignored = None;
        while let Some(part) = parts.next() {
            at.push(part);
            if self.match_rules(&at, is_folder || parts.peek().is_some(), &root) {
                ignored = Some(at.clone());
                break;
            }
        }
        let ignored = ignored?;
        let tracked = self.repositories.get(&root)?.tracked.as_ref()?;
        (!tracked.contains(inside)).then_some(ignored)
    }

    /// Whether a rule matches a path itself.
    fn match_rules(&mut self, path: &Path, is_folder: bool, root: &Path) -> bool {
        let folders = path.ancestors().skip(1);
        let folders: Vec<&Path> = folders.take_while(|it| it.starts_with(root)).collect();
        for folder in folders {
            let rules = self
                .of_folders
                .entry(folder.to_owned())
                // Rules with a mistake are left out, as Git does.
                .or_insert_with(|| Gitignore::new(folder.join(".gitignore")).0);
            match rules.matched(path, is_folder) {
                Match::None => {}
                found => return found.is_ignore(),
            }
        }
        self.repositories.get(root).is_some_and(|repository| {
            let mut rules = [&repository.exclude, &repository.user].into_iter();
            let found = rules.find_map(|it| match it.matched(path, is_folder) {
                Match::None => None,
                found => Some(found.is_ignore()),
            });
            found.unwrap_or_default()
        })
    }
}

impl Repository {
    fn of(root: &Path) -> Self {
        let mut builder = GitignoreBuilder::new(root);
        // Missing in a linked worktree, whose `.git` is a file.
        let _ = builder.add(root.join(".git/info/exclude"));
        Self {
            exclude: builder.build().unwrap_or_else(|_| Gitignore::empty()),
            user: GitignoreBuilder::new(root).build_global().0,
            tracked: GitIndex::of(root).map(|it| it.files.into_iter().collect()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn files_are_ignored_as_git_ignores_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            assert!(
                git.arg("-C")
                    .arg(&root)
                    .args(words)
                    .output()
                    .unwrap()
                    .status
                    .success()
            );
        };
        git(&["init", "-q"]);
        write(".gitignore", "target/\n*.log\n!keep.log\n/build\n");
        write("sub/.gitignore", "local\n!a.log\n");
        write(".git/info/exclude", "mine\n");
        write("target/tracked", "x");
        git(&["add", "-f", "target/tracked"]);
        let mut rules = IgnoreRules::default();
        for (path, expected) in [
            ("target/debug/x", Some("target")),
            ("sub/target/x", Some("sub/target")),
            ("target/tracked", None),
            ("a.log", Some("a.log")),
            ("keep.log", None),
            ("sub/a.log", None),
            ("sub/b.log", Some("sub/b.log")),
            ("sub/local/deep/x", Some("sub/local")),
            ("local", None),
            ("build/x", Some("build")),
            ("sub/build/x", None),
            ("mine", Some("mine")),
            ("src/new.rs", None),
        ] {
            let found = rules.ignored(&root.join(path), false);
            assert_eq!(found, expected.map(|it| root.join(it)), "{path}");
        }
        assert_eq!(
            rules.ignored(&root.join("target"), true),
            Some(root.join("target"))
        );
        assert_eq!(rules.ignored(&root.join("target"), false), None);
        let plain = tempfile::tempdir().unwrap();
        fs::write(plain.path().join(".gitignore"), "x\n").unwrap();
        assert_eq!(rules.ignored(&plain.path().join("x"), false), None);
    }
}
