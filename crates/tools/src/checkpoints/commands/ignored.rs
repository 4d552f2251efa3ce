//! What a command did to ignored files, in words.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use platform::paths::below;

use crate::checkpoints::index::{IgnoredChange, IgnoredChanges, IgnoredKind};
use crate::checkpoints::recorder::MOST_NAMED;

/// Most files of a place that are named one by one.
const FEW: usize = 2;

/// What changed in one place.
#[derive(Default)]
struct Place<'a> {
    files: Vec<&'a IgnoredChange>,
    /// True if something in it may be gone.
    may_lack: bool,
}

/// The ignored files that a command changed, in words.
pub(super) struct IgnoredWords {
    /// Their names, or the number of those in a folder.
    pub(super) names: Vec<String>,
    /// Sentences for the user.
    pub(super) text: String,
}

/// Describes the ignored files that changed, without those that another change explains. `None`
/// if there are none.
pub(super) fn describe(
    changes: &IgnoredChanges,
    explained: &HashSet<PathBuf>,
    root: &Path,
) -> Option<IgnoredWords> {
    let mut places: BTreeMap<&Path, Place> = BTreeMap::new();
    let unexplained = changes.files.iter();
    for change in unexplained.filter(|it| !explained.contains(&it.path)) {
        let place = places.entry(&change.place).or_default();
        match change.kind {
            IgnoredKind::Folder => place.may_lack = true,
            IgnoredKind::Written | IgnoredKind::Removed => place.files.push(change),
        }
    }
    let mut named: Vec<String> = places
        .iter()
        .flat_map(|(path, place)| place.names(path, root))
        .collect();
    shorten(&mut named, "places");
    let mut sentences = Vec::new();
    if !named.is_empty() {
        sentences.push(format!(
            ":Flemma undo cannot restore ignored files that changed: {}.",
            named.join("; ")
        ));
    }
    let mut unseen: Vec<String> = changes.unseen.iter().map(|it| folder(it, root)).collect();
    shorten(&mut unseen, "folders");
    if !unseen.is_empty() {
        sentences.push(format!(
            "There are too many ignored files to look at all of them, so others in {} may have changed, too.",
            unseen.join(", ")
        ));
    }
    (!sentences.is_empty()).then(|| IgnoredWords {
        names: named,
        text: sentences.join(" "),
    })
}

impl Place<'_> {
    fn names(&self, path: &Path, root: &Path) -> Vec<String> {
        let at = folder(path, root);
        if self.files.is_empty() {
            return vec![format!("{at} (some may be gone)")];
        }
        let mut names: Vec<String> = match self.files.len() {
            ..=FEW => self.files.iter().map(|it| name(it, root)).collect(),
            count => vec![format!("{count} files in {at}")],
        };
        if let Some(last) = names.last_mut().filter(|_| self.may_lack) {
            last.push_str(" (others may be gone)");
        }
        names
    }
}

fn name(change: &IgnoredChange, root: &Path) -> String {
    let is_folder = change.kind == IgnoredKind::Removed && change.place == change.path;
    let name = if is_folder {
        folder(&change.path, root)
    } else {
        below(&change.path, root)
    };
    match change.kind {
        IgnoredKind::Removed => format!("{name} (removed)"),
        IgnoredKind::Written | IgnoredKind::Folder => name,
    }
}

fn folder(path: &Path, root: &Path) -> String {
    if path == root {
        "./".to_owned()
    } else {
        format!("{}/", below(path, root))
    }
}

fn shorten(names: &mut Vec<String>, what: &str) {
    if let more @ 1.. = names.len().saturating_sub(MOST_NAMED) {
        names.truncate(MOST_NAMED);
        names.push(format!("{more} more {what}"));
    }
}
