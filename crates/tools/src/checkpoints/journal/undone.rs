//! What restores have reverted: whole checkpoints, and single files of others.

use std::collections::HashSet;

use super::{Checkpoint, Reverted};
use crate::checkpoints::image::Name;

/// What was reverted, and not restored since.
#[derive(Debug, Default)]
pub(super) struct Undone<'j> {
    /// Ids of checkpoints.
    pub(super) checkpoints: HashSet<&'j str>,
    /// Single files of other checkpoints.
    files: HashSet<(&'j str, &'j Name)>,
}

impl<'j> Undone<'j> {
    /// Notes a restore of these checkpoints.
    pub(super) fn add(&mut self, reverted: &'j Reverted) {
        for id in &reverted.of {
            if reverted.only.is_empty() {
                self.checkpoints.insert(id);
            } else {
                self.files
                    .extend(reverted.only.iter().map(|it| (&**id, it)));
            }
        }
    }

    /// Forgets a restore that was itself reverted.
    pub(super) fn remove(&mut self, reverted: &'j Reverted) {
        for id in &reverted.of {
            if reverted.only.is_empty() {
                self.checkpoints.remove(&**id);
            } else {
                for only in &reverted.only {
                    self.files.remove(&(&**id, only));
                }
            }
        }
    }

    pub(super) fn has_file(&self, id: &str, path: &Name) -> bool {
        self.checkpoints.contains(id) || self.files.contains(&(id, path))
    }

    /// Whether nothing of a checkpoint is left to revert.
    pub(super) fn has(&self, checkpoint: &Checkpoint) -> bool {
        let Checkpoint { id, files, .. } = checkpoint;
        let is_rest = !files.is_empty() && files.iter().all(|it| self.has_file(id, &it.path));
        self.checkpoints.contains(&**id) || is_rest
    }

    /// Whether anything of a checkpoint was reverted.
    pub(super) fn touches(&self, id: &str) -> bool {
        self.checkpoints.contains(id) || self.files.iter().any(|it| it.0 == id)
    }
}
