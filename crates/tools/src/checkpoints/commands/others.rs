//! What other calls changed while commands ran: edits and restores, in any program. Their own
//! checkpoints have these changes, so that of the commands must not.
//!
//! Also what commands of other programs found when they began, which shows what the commands
//! before them had changed until then.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::{Group, registry};
use crate::checkpoints::image::{Image, Name};
use crate::checkpoints::index::Index;
use crate::checkpoints::journal::{Checkpoint, FileChange, Span};
use crate::checkpoints::store::Store;

/// Changes by other calls.
#[derive(Debug, Default)]
pub(super) struct OtherChanges {
    by_path: HashMap<PathBuf, Vec<OtherChange>>,
    /// False if nothing at all was recorded meanwhile.
    pub(super) is_any: bool,
}

/// A change by another call, or a look at a file, which is a change from one state to the same.
#[derive(Debug)]
struct OtherChange {
    /// The end of the millisecond in which it was recorded, in nanoseconds since 1970.
    at: i64,
    before: Image,
    after: Image,
}

impl OtherChanges {
    /// Reads the changes that were recorded since a group of commands began, without its own.
    pub(super) fn read(store: &Store, group: &Group) -> Self {
        let lines = store.read_from(group.journal).unwrap_or_default();
        let dropped = lines.iter().filter(|it| it.dropped);
        let dropped: HashSet<&str> = dropped.map(|it| &*it.id).collect();
        let mut changes = Self {
            is_any: !lines.is_empty(),
            ..Self::default()
        };
        for line in &lines {
            if !dropped.contains(&*line.id) && !line.continues(&group.id) {
                changes.add(line);
            }
        }
        for (path, at, image) in registry::seen_since(store, group.since) {
            let changes = changes.by_path.entry(path.0).or_default();
            changes.push(OtherChange {
                at,
                before: image.clone(),
                after: image,
            });
        }
        let by_path = changes.by_path.values_mut();
        by_path.for_each(|it| it.sort_by_key(|it| it.at));
        changes
    }

    fn add(&mut self, line: &Checkpoint) {
        // Text that is only in the editor is no change of the project.
        for change in line.files.iter().filter(|it| !it.unsaved) {
            let changes = self.by_path.entry(change.path.0.clone()).or_default();
            changes.push(OtherChange {
                at: line.end(),
                before: change.before.clone(),
                after: change.after.clone(),
            });
        }
    }

    /// Returns a change from one state to the same for each of their files that no `found` change
    /// is about, because it may have changed and changed back.
    pub(super) fn unchanged(&self, found: &[FileChange], index: &Index) -> Vec<FileChange> {
        let found: HashSet<&PathBuf> = found.iter().map(|it| &it.path.0).collect();
        let left = self.by_path.keys().filter(|it| !found.contains(it));
        let left = left.filter_map(|path| {
            let image = index.image(path)?;
            Some(FileChange::new(Name(path.clone()), image.clone(), image))
        });
        left.collect()
    }

    /// The files that they changed.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.by_path.keys()
    }

    /// Returns what is left of a change that was found in a span of time: the parts before,
    /// between, and after those of other calls.
    pub(super) fn split(&self, found: FileChange, span: Span) -> Vec<FileChange> {
        let mut parts = Vec::new();
        let Span { mut from, until } = span;
        let mut part = |before, after, from, until| {
            parts.push(FileChange {
                before,
                after,
                span: Some(Span { from, until }),
                ..found.clone()
            });
        };
        let mut now = found.before.clone();
        for OtherChange { at, before, after } in
            self.by_path.get(&found.path.0).into_iter().flatten()
        {
            // The pass at the start or the end of the span was before or after it.
            let is_seen = *at < from || now == *after;
            let is_later = *at >= until && found.after == *before;
            if is_seen {
                continue;
            } else if is_later {
                break;
            }
            // Of what no checkpoint holds, it is unknown whether it is the same.
            if now != *before && !matches!(now, Image::NotCovered(_)) {
                part(now, before.clone(), from, (*at).min(until));
            }
            now = after.clone();
            from = (*at).clamp(from, until);
        }
        if now != found.after || found.is_rewritten() {
            part(now, found.after.clone(), from, until);
        }
        parts
    }
}
