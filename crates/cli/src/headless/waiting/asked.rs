//! The calls that were asked about.

use std::collections::HashSet;

use chat::tool::ToolUseId;

/// How often `--yes` approves a call again because its file has changed.
const MAX_SHOWN_AGAIN: usize = 10;

/// The calls that were asked about, by message and ID; none is asked about twice.
#[derive(Debug)]
pub struct AskedCalls {
    asked: HashSet<(usize, ToolUseId)>,
    /// How many calls were shown again because their file changed.
    shown_again: usize,
    yes: bool,
}

impl AskedCalls {
    /// Creates a record without calls. With `yes`, all questions are answered with yes.
    pub fn new(yes: bool) -> Self {
        Self {
            asked: HashSet::new(),
            shown_again: 0,
            yes,
        }
    }

    /// Returns true if all questions are answered with yes.
    pub fn are_approved(&self) -> bool {
        self.yes
    }

    /// Records that a call is asked about. Returns false if it was asked about before.
    pub fn insert(&mut self, key: &(usize, ToolUseId)) -> bool {
        self.asked.insert(key.clone())
    }

    /// Lets a call be asked about once more, because its file has changed since it was approved.
    pub fn show_again(&mut self, id: &ToolUseId) {
        self.shown_again += 1;
        // No user ends the loop if a program changes the file again after each yes.
        if !self.yes || self.shown_again <= MAX_SHOWN_AGAIN {
            self.asked.retain(|(_, asked)| asked != id);
        }
    }
}
