//! The open request of a chat, and what is remembered of earlier ones.

use std::collections::BTreeSet;

use super::answer::Open;
use super::references::References;

/// The request that is open, if one is, and what was said about requests.
#[derive(Default)]
pub(super) struct Request {
    pub(super) open: Option<Open>,
    pub(super) references: References,
    /// What the user was told about requests, so that it is said once.
    remarks: BTreeSet<String>,
    /// Why the last answer was cut off, until the text says so.
    interrupted: Option<&'static str>,
}

impl Request {
    /// Returns true for a remark that the user has not seen yet.
    pub(super) fn is_new_remark(&mut self, text: &str) -> bool {
        self.remarks.insert(text.to_owned())
    }

    /// Why the last answer was cut off, if the text does not say so yet.
    pub(super) fn interrupted(&self) -> Option<&'static str> {
        self.interrupted
    }

    pub(super) fn interrupt(&mut self, reason: &'static str) {
        self.interrupted = Some(reason);
    }

    pub(super) fn forget_interruption(&mut self) {
        self.interrupted = None;
    }
}
