//! The calls of a chat: those that run, and the previews and snapshots of those that wait.

mod applied;
mod destination;
mod details;
mod diffs;
mod elicitation;
mod file_snapshots;
mod first_look;
mod new_problems;
mod pace;
mod previews;
mod refusals;
mod reviews;
mod running;

use std::collections::HashMap;

use chat::approval::CallKey;
use chat::document;
use chat::marks::Mark;
use tools::SeenFiles;

use self::diffs::Diffs;
pub use self::diffs::{Basis, Diff};
pub use self::elicitation::QuestionEvent;
use self::file_snapshots::FileSnapshots;
pub use self::file_snapshots::SnapshotsTaken;
use self::first_look::FirstLook;
use self::pace::Pace;
use self::previews::Previews;
use self::refusals::Refusals;
use self::reviews::Reviews;
pub(super) use self::running::{ApprovedCall, RunningCall, together};

/// Calls that run or wait.
#[derive(Default)]
pub(super) struct Calls {
    running: HashMap<CallKey, RunningCall>,
    /// When results are due.
    pace: Pace,
    /// The files that waiting calls would change.
    snapshots: FileSnapshots,
    /// The texts of files as the model saw them.
    seen: SeenFiles,
    previews: Previews,
    diffs: Diffs,
    refusals: Refusals,
    reviews: Reviews,
    first_look: FirstLook,
}

impl Calls {
    /// Returns true while no call runs.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Returns the number of running calls.
    pub(super) fn running_count(&self) -> usize {
        self.running.len()
    }

    pub(super) fn running(&self, call: &CallKey) -> Option<&RunningCall> {
        self.running.get(call)
    }

    /// Asks all running calls to stop.
    pub(super) fn stop_all(&self) {
        self.running.values().for_each(RunningCall::stop);
    }

    /// Notes that an answer ended: its calls can be read from now on.
    pub(super) fn answer_ended(&mut self) {
        self.first_look.answered();
    }

    /// Notes that all results so far are being written.
    pub(super) fn results_written(&mut self) {
        self.pace.wrote();
    }

    /// Forgets previews and snapshots of calls that are no longer shown.
    pub(super) fn keep_shown(&self, marks: &[Mark]) {
        self.previews.keep(marks);
        self.diffs.keep(marks);
        self.snapshots.keep(marks);
        self.reviews.keep(marks);
    }
}

/// Returns true if the blocks of a call cover a line.
pub(super) fn covers(call: &document::PairedCall<'_>, line: usize) -> bool {
    let result = call.result.is_some_and(|it| it.lines.contains(&line));
    result || call.tool_use.lines.contains(&line)
}
