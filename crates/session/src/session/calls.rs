//! The calls of a chat: those that run, and what is known about those that wait.

use std::collections::HashMap;

use chat::approval::CallKey;

use super::file_snapshots::FileSnapshots;
use super::first_look::FirstLook;
use super::pace::Pace;
use super::previews::Previews;
use super::refusals::Refusals;
use super::running::Call;

/// Calls that run or wait.
#[derive(Default)]
pub(super) struct Calls {
    pub(super) running: HashMap<CallKey, Call>,
    /// When results are due.
    pub(super) pace: Pace,
    /// The files that waiting calls would change.
    pub(super) snapshots: FileSnapshots,
    pub(super) previews: Previews,
    pub(super) refusals: Refusals,
    pub(super) first_look: FirstLook,
}
