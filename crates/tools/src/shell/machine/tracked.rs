//! Checks that Git shows no secret that the repository tracks.
//!
//! Compares with the index. What only older commits contain is not checked.

use std::path::{Path, PathBuf};

use super::Inspection;
use crate::files::{leads_to, without_dots};
use crate::secrets::{SecretFile, blob_name};
use crate::shell::Unsafe;
use crate::shell::contents::{Contents, Name, Source, is_plain_path, name};
use crate::shell::git_index::ObjectName;
use crate::shell::programs::Search;
use crate::shell::repository::WorkTree;

/// Largest secret that is compared with the index (1 MB).
const MOST: u64 = 1024 * 1024;

/// A secret file in the index of a repository.
struct TrackedSecret {
    file: SecretFile,
    object: ObjectName,
}

/// What limits the output of a Git command.
#[derive(Default)]
struct Scope {
    /// Whether all files may be shown.
    is_open: bool,
    /// Whether paths limit what is shown of revisions.
    is_limited: bool,
    /// Whether a revision is named.
    has_revision: bool,
    /// Whether a path in a revision is named.
    has_path: bool,
    /// Whether an object is named by its hash, so it may be any file.
    has_object: bool,
    /// The files and folders that are shown.
    paths: Vec<PathBuf>,
}

impl Inspection<'_> {
    /// Refuses to show secrets that a repository tracks, if Git runs in `folder`. The first of the
    /// working trees contains the folder, and the others are submodules.
    pub(super) fn contents(
        &self,
        shown: &Contents<'_>,
        folder: &Path,
        trees: &[WorkTree],
    ) -> Result<(), Unsafe> {
        let top = trees.first().map(|it| &*it.top);
        if shown.source == Source::WorkingTree {
            self.outside(shown, folder, top)?;
        }
        let tracked = trees.iter().flat_map(|it| self.tracked(it));
        let tracked: Vec<TrackedSecret> = tracked.collect();
        if tracked.is_empty() {
            return Ok(());
        }
        let scope = self.scope(shown, folder, top.unwrap_or(folder))?;
        match tracked.iter().find(|it| scope.shows(shown.source, it)) {
            Some(TrackedSecret { file, .. }) => Err(Unsafe::Secret {
                program: "git".to_owned(),
                path: file.path.clone(),
                grant: Some(file.grant()),
            }),
            None => Ok(()),
        }
    }

    /// The secrets in the index of a repository.
    fn tracked(&self, tree: &WorkTree) -> Vec<TrackedSecret> {
        let secrets = &self.machine.secrets;
        let folders = tree.index.folders.iter().map(|it| tree.top.join(it));
        let folders = folders.filter(|it| secrets.below(it, true).is_some());
        let folders: Vec<PathBuf> = folders.collect();
        let secret = |(path, object): &(PathBuf, ObjectName)| {
            let path = tree.top.join(path);
            let kind = secrets.below(&path, false).or_else(|| {
                let is_inside = folders.iter().any(|it| path.starts_with(it));
                is_inside.then(|| secrets.kind(&path))?
            })?;
            Some(TrackedSecret {
                file: SecretFile { kind, path },
                object: *object,
            })
        };
        tree.index.files.iter().filter_map(secret).collect()
    }

    /// Checks the folders that `git diff` compares like `diff -r`: outside of a repository, or if
    /// one of them is outside.
    fn outside(
        &self,
        shown: &Contents<'_>,
        folder: &Path,
        top: Option<&Path>,
    ) -> Result<(), Unsafe> {
        let words = shown.named.iter().chain(shown.limits.iter().flatten());
        let paths = self.all("git", &words.copied().collect::<Vec<_>>())?;
        let is_inside = |it: &PathBuf| top.is_some_and(|top| leads_to(it).starts_with(top));
        if paths.iter().all(is_inside) {
            return Ok(());
        }
        let search = Search {
            hidden: true,
            here: false,
        };
        let folders = paths.iter().filter(|it| it.is_dir() && *it != folder);
        folders
            .into_iter()
            .try_for_each(|it| self.deep("git", it, search))
    }

    fn scope(&self, shown: &Contents<'_>, folder: &Path, top: &Path) -> Result<Scope, Unsafe> {
        let mut scope = Scope::default();
        for word in &shown.named {
            let exists = folder.join(&word.value).symlink_metadata().is_ok();
            if shown.limits.is_none() && (word.is_pattern() || exists) {
                // Git refuses a word that could be a path and a revision.
                scope.is_limited = true;
                scope.paths.extend(self.all("git", &[word])?);
            } else {
                scope.add(name(&word.value), [top, folder]);
            }
        }
        for word in shown.limits.iter().flatten() {
            scope.is_limited = true;
            scope.is_open |= !word.is_pattern() && !is_plain_path(&word.value);
            scope.paths.extend(self.all("git", &[word])?);
        }
        let lines = shown.lines_of.iter();
        scope
            .paths
            .extend(lines.flat_map(|it| [top.join(it), folder.join(it)]));
        scope.is_limited |= !shown.lines_of.is_empty();
        if shown.source == Source::Folder && !scope.is_limited {
            scope.paths.push(folder.to_owned());
            scope.is_limited = true;
        }
        let real = scope.paths.iter().map(|it| leads_to(it));
        let real: Vec<PathBuf> = real.collect();
        scope.paths = scope.paths.iter().map(|it| without_dots(it)).collect();
        scope.paths.extend(real);
        Ok(scope)
    }
}

impl Scope {
    /// Adds what a word names. A path in a revision begins at the first folder, or with a dot at
    /// the second.
    fn add(&mut self, name: Name<'_>, folders: [&Path; 2]) {
        match name {
            Name::Path(path) => {
                self.has_path = true;
                self.paths.extend(folders.map(|it| it.join(path)));
            }
            Name::Object => self.has_object = true,
            Name::Other => self.has_revision = true,
        }
    }

    /// Whether a command shows a tracked secret.
    fn shows(&self, source: Source, secret: &TrackedSecret) -> bool {
        let is_named = self.paths.iter().any(|it| secret.file.path.starts_with(it));
        match source {
            // The hash may be that of any content, and a commit is shown with all its changes.
            Source::Objects | Source::WorkingTree | Source::Named if self.has_object => {
                return true;
            }
            Source::Named => return is_named,
            _ => {}
        }
        // Without a path, all files are shown.
        let is_everything = self.has_revision || self.has_object || self.paths.is_empty();
        let is_shown = is_named || self.is_open || (!self.is_limited && is_everything);
        let compares_index = source == Source::WorkingTree && !self.has_revision && !self.has_path;
        is_shown && (!compares_index || secret.is_changed())
    }
}

impl TrackedSecret {
    /// Whether its content may differ from that in the index.
    fn is_changed(&self) -> bool {
        let path = &self.file.path;
        let size = path.symlink_metadata();
        if size.is_ok_and(|it| it.len() > MOST) {
            return true;
        }
        let text = std::fs::read(path);
        // In a repository with SHA-256, the names differ, too.
        text.map_or(true, |text| self.object[..20] != blob_name(&text))
    }
}
