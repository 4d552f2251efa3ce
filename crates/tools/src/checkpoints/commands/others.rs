//! What other calls changed while commands ran: edits and restores, in any program. Their own
//! checkpoints have these changes, so that of the commands must not. Also what commands of other
//! programs found when they began.

use std::collections::HashMap;
use std::path::PathBuf;

use super::{Group, registry};
use crate::checkpoints::image::{Image, Name};
use crate::checkpoints::index::Index;
use crate::checkpoints::journal::{FileChange, Span};
use crate::checkpoints::store::Store;

/// Changes by other calls.
#[derive(Debug, Default)]
pub(super) struct OtherChanges {
    /// The changes of each file, in the order in which they were recorded.
    by_path: HashMap<PathBuf, Vec<FileChange>>,
    /// False if nothing at all was recorded meanwhile.
    pub(super) is_any: bool,
}

impl OtherChanges {
    /// Reads the changes that were recorded since a group of commands began, without its own.
    pub(super) fn read(store: &Store, group: &Group) -> Self {
        let recorded = store.read_from(group.journal).unwrap_or_default();
        let mut changes = Self {
            is_any: !recorded.checkpoints.is_empty(),
            ..Self::default()
        };
        let others = recorded.checkpoints.into_iter();
        let others = others.filter(|it| !it.continues(&group.id));
        // Text that is only in the editor is no change of the project.
        for change in others.flat_map(|it| it.files).filter(|it| !it.unsaved) {
            let changes = changes.by_path.entry(change.path.0.clone());
            changes.or_default().push(change);
        }
        for (path, at, seen) in registry::notes_since(store, group.passed) {
            let Some(image) = seen else {
                continue;
            };
            let seen = FileChange {
                span: Span {
                    from: at,
                    until: at,
                },
                ..FileChange::new(path, image.clone(), image)
            };
            let changes = changes.by_path.entry(seen.path.0.clone());
            changes.or_default().push(seen);
        }
        let by_path = changes.by_path.values_mut();
        by_path.for_each(|it| it.sort_by_key(|it| it.span.from));
        changes
    }

    /// The files that they changed.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.by_path.keys()
    }

    /// Returns what commands changed, of all that was found in a span of time: of a file that both
    /// changed, the parts before, between, and after.
    pub(super) fn without(
        &self,
        mut found: Vec<FileChange>,
        index: &Index,
        span: Span,
    ) -> Vec<FileChange> {
        // Commands may have changed these, too, and changed them back.
        let others = self.paths();
        let same = others.filter(|path| found.iter().all(|it| it.path.0 != **path));
        let same = same.filter_map(|path| {
            let image = index.image(path)?;
            Some(FileChange::new(Name(path.clone()), image.clone(), image))
        });
        found.extend(same.collect::<Vec<_>>());
        let parts = found.into_iter().flat_map(|it| self.split(&it, span));
        parts.collect()
    }

    fn split(&self, found: &FileChange, span: Span) -> Vec<FileChange> {
        let mut parts = Vec::new();
        let Span { mut from, until } = span;
        let mut part = |before: &Image, after: &Image, from, until| {
            parts.push(FileChange {
                before: before.clone(),
                after: after.clone(),
                span: Span { from, until },
                ..found.clone()
            });
        };
        let mut now = &found.before;
        for change in self.by_path.get(&found.path.0).into_iter().flatten() {
            let at = change.span.from;
            // The look at the start or the end of the span was before or after it.
            let is_seen = at < from || *now == change.after;
            if is_seen {
                continue;
            } else if at >= until && found.after == change.before {
                break;
            }
            // Of what no checkpoint holds, it is unknown whether it is the same.
            if *now != change.before && !matches!(now, Image::NotCovered(_)) {
                part(now, &change.before, from, at.min(until));
            }
            (now, from) = (&change.after, at.min(until));
        }
        if *now != found.after || found.is_rewritten() {
            part(now, &found.after, from, until);
        }
        parts
    }
}
