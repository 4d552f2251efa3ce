//! The trials of pending calls, before these are asked about (`--trial`), and remarks about calls.

use std::collections::{HashMap, HashSet};

use chat::tool::ToolUseId;
use session::frontend::CallTrial;
use session::protocol::DiffItem;

/// The calls that were tried.
#[derive(Debug)]
pub struct Trials {
    is_wanted: bool,
    /// The calls whose trials were started, by message and ID.
    begun: HashSet<(usize, ToolUseId)>,
    /// What they showed.
    ended: HashMap<ToolUseId, CallTrial>,
    /// What else is to be known about calls.
    remarks: HashMap<ToolUseId, Vec<String>>,
}

impl Trials {
    /// Creates a record without trials.
    pub fn new(is_wanted: bool) -> Self {
        Self {
            is_wanted,
            begun: HashSet::new(),
            ended: HashMap::new(),
            remarks: HashMap::new(),
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

    /// Records what is to be known about a call.
    pub fn remark(&mut self, call: ToolUseId, remark: String) {
        self.remarks.entry(call).or_default().push(remark);
    }

    /// Returns what a call would change. `None` if it was not tried.
    pub fn diff(&self, call: &ToolUseId) -> Option<Vec<DiffItem>> {
        self.ended.get(call).map(|it| it.diff.clone())
    }

    /// Returns what is to be known about a call, and what its trial showed, in lines.
    pub fn lines(&self, call: &ToolUseId) -> impl Iterator<Item = &String> {
        let tried = self.ended.get(call).into_iter();
        let tried = tried.flat_map(|it| &it.lines);
        self.remarks(call).chain(tried)
    }

    /// Returns what is to be known about a call, in sentences.
    pub fn remarks(&self, call: &ToolUseId) -> impl Iterator<Item = &String> {
        self.remarks.get(call).into_iter().flatten()
    }
}
