//! What is found when a command begins and when it ends.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Group;
use super::others::OtherChanges;
use super::registry;
use crate::checkpoints::image::Name;
use crate::checkpoints::index::{IgnoredChanges, Index, Passed, now_ns};
use crate::checkpoints::journal::{FileChange, Span};
use crate::checkpoints::store::Store;

/// What was found when a command ended.
#[derive(Default)]
pub(super) struct Ended {
    pub(super) group: Group,
    pub(super) changes: Vec<FileChange>,
    /// What other calls changed meanwhile.
    pub(super) others: OtherChanges,
    pub(super) ignored: IgnoredChanges,
    /// Why the changes were not found.
    pub(super) lost: Option<String>,
}

impl Ended {
    /// Whether there is anything to record or to report.
    pub(super) fn has_news(&self) -> bool {
        let IgnoredChanges { files, unseen } = &self.ignored;
        !self.changes.is_empty() || !files.is_empty() || !unseen.is_empty() || self.lost.is_some()
    }

    /// Takes what changed since the last pass, without the changes of other calls.
    pub(super) fn take(
        &mut self,
        changes: Vec<FileChange>,
        index: &Index,
        store: &Store,
        until: i64,
    ) {
        let from = std::mem::replace(&mut self.group.passed, until);
        // After the pass, because a call records its changes after it has made them.
        self.others = OtherChanges::read(store, &self.group);
        let back = self.others.unchanged(&changes, index);
        let changes = changes.into_iter().chain(back);
        let left = changes.flat_map(|it| self.others.split(it, Span { from, until }));
        self.changes = left.collect();
    }
}

/// Shows programs whose commands run since a time what their commands have changed until now.
pub(super) fn show_seen(store: &Store, index: &Index, passed: Passed, since: i64) {
    let paths: BTreeSet<PathBuf> = passed
        .read
        .into_iter()
        .chain(index.changed_since(since))
        .collect();
    let now = now_ns();
    let seen = paths.into_iter().filter_map(|path| {
        let image = index.image(&path)?;
        Some((Name(path), now, image))
    });
    let seen: Vec<_> = seen.collect();
    registry::record_seen(store, &seen);
}
