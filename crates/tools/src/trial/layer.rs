//! The changes of a command in a trial, read from the layer that received them.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::collections::BTreeMap;
use std::path::PathBuf;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use crate::checkpoints::{Captured, FileState};
use crate::files::RealPath;

pub(super) use system::{read, size};

/// One change of a file, link, or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LayerChange {
    /// The path, as the command saw it.
    pub path: PathBuf,
    /// Where the layer has it. `None` if the command removed it.
    pub source: Option<PathBuf>,
    /// Which overlay it is in.
    pub overlay: usize,
    /// True if it is a folder: a new one without files, or one that was removed.
    pub is_folder: bool,
    /// True if later trials need what the layer has, so that it is copied and not moved.
    pub is_shared: bool,
}

/// A change that nothing could make again outside of the trial.
#[derive(Debug, Clone)]
pub(crate) struct Obstacle {
    /// The kind of change.
    pub at: LayerChange,
    /// Why not: a clause about the command.
    pub why: String,
}

/// Most obstacles that are kept: one is shown.
const MOST_OBSTACLES: usize = 100;

/// A command's changes.
#[derive(Debug, Default)]
pub(crate) struct LayerChanges {
    /// The changes, by path.
    pub changes: BTreeMap<PathBuf, LayerChange>,
    /// The changes that nothing could make again outside of the trial.
    pub obstacles: Vec<Obstacle>,
}

impl LayerChanges {
    fn add(&mut self, change: LayerChange) {
        self.changes.insert(change.path.clone(), change);
    }

    fn obstacle(&mut self, at: &LayerChange, why: String) {
        if self.obstacles.len() < MOST_OBSTACLES {
            let at = at.clone();
            self.obstacles.push(Obstacle { at, why });
        }
    }
}

impl LayerChange {
    /// The states of its path outside of the trial and after the command. `None` if that is
    /// the same, as for a file that was only touched. Reads both files.
    pub(crate) fn file_states(&self) -> Option<(FileState, FileState)> {
        let before = Captured::on_disk(&RealPath::exact(self.path.clone())).file_state;
        let after = match &self.source {
            Some(source) => Captured::on_disk(&RealPath::exact(source.clone())).file_state,
            None => FileState::Absent,
        };
        (before != after).then_some((before, after))
    }
}
