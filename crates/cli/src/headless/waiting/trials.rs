//! The trials of pending calls, before these are asked about (`--trial`).

use std::collections::{HashMap, HashSet};

use chat::tool::ToolUseId;

use crate::frontend::CallTrial;
use crate::protocol::DiffItem;

/// The calls that were tried.
#[derive(Debug)]
pub struct Trials {
    is_wanted: bool,
    /// The calls whose trials were started, by message and ID.
    begun: HashSet<(usize, ToolUseId)>,
    /// What they showed.
    ended: HashMap<ToolUseId, CallTrial>,
}

impl Trials {
    /// Creates a record without trials.
    pub fn new(is_wanted: bool) -> Self {
        Self {
            is_wanted,
            begun: HashSet::new(),
            ended: HashMap::new(),
        }
    }

    /// Returns true if a call is to be tried now: once, and if the user wants trials.
    pub fn begin(&mut self, call: &(usize, ToolUseId)) -> bool {
        self.is_wanted && self.begun.insert(call.clone())
    }

    /// Records what a trial showed.
    pub fn end(&mut self, trial: CallTrial) {
        self.ended.insert(trial.call.id.clone(), trial);
    }

    /// Returns what a call would change. `None` if it was not tried.
    pub fn diff(&self, call: &ToolUseId) -> Option<Vec<DiffItem>> {
        self.ended.get(call).map(|it| it.diff.clone())
    }

    /// Returns what the trial of a call showed, in lines.
    pub fn lines(&self, call: &ToolUseId) -> &[String] {
        self.ended.get(call).map_or(&[], |it| &it.lines)
    }
}
