//! The calls of a chat: those that run, and the previews and snapshots of those that wait.

mod allow;
mod applied;
mod approve;
mod decision;
mod destination;
mod details;
mod diffs;
mod elicitation;
mod file_snapshots;
mod first_look;
mod marks;
mod new_problems;
mod pace;
mod previews;
mod reasons;
mod refusals;
mod reviews;
mod run_changes;
mod running;
mod trials;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use chat::approval::CallKey;
use chat::document;
use chat::marks::Mark;
use tools::SeenFiles;

pub(super) use self::allow::{allowed, offer_rules};
pub(super) use self::approve::reject;
use self::decision::Windows;
pub(super) use self::details::within_bounds;
use self::diffs::Diffs;
pub use self::diffs::{Basis, Diff};
pub use self::elicitation::QuestionEvent;
use self::file_snapshots::FileSnapshots;
pub use self::file_snapshots::SnapshotsTaken;
pub(super) use self::file_snapshots::decides;
use self::first_look::FirstLook;
pub(super) use self::marks::OpenCall;
use self::pace::Pace;
use self::previews::Previews;
use self::reasons::Reasons;
use self::refusals::Refusals;
use self::reviews::Reviews;
pub use self::run_changes::ChangedFile;
use self::run_changes::RunChanges;
pub(super) use self::run_changes::unified;
pub(super) use self::running::{ApprovedCall, RunningCall, report_end, together};
use self::trials::Trials;
pub use self::trials::Tried;

/// Calls that run or wait.
#[derive(Default)]
pub(super) struct Calls {
    running: HashMap<CallKey, RunningCall>,
    /// Numbers their questions.
    last_question: u64,
    /// When results are due.
    pace: Pace,
    /// The files that waiting calls would change.
    snapshots: FileSnapshots,
    /// The texts of files as the model saw them.
    seen: SeenFiles,
    previews: Previews,
    reasons: Reasons,
    diffs: Diffs,
    refusals: Refusals,
    reviews: Reviews,
    run_changes: RunChanges,
    trials: Trials,
    /// True if changes that a killed program was making were looked for.
    has_recovered: Cell<bool>,
    first_look: FirstLook,
    windows: RefCell<Windows>,
}

impl Calls {
    /// Returns true while no call runs.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Returns true while calls are being tried, or about to be.
    pub(super) fn are_tried(&self) -> bool {
        self.trials.are_any_underway()
    }

    /// Returns the texts of files as the model saw them.
    pub(super) fn seen(&self) -> SeenFiles {
        self.seen.clone()
    }

    /// Returns the number of running calls.
    pub(super) fn running_count(&self) -> usize {
        self.running.len()
    }

    pub(super) fn running(&self, call: &CallKey) -> Option<&RunningCall> {
        self.running.get(call)
    }

    /// Notes that changes of a killed program are looked for. Returns true the first time.
    pub(super) fn begin_recovery(&self) -> bool {
        !self.has_recovered.replace(true)
    }

    /// Asks all running calls and trials to stop.
    pub(super) fn stop_all(&self) {
        self.trials.stop_all();
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
        self.reasons.keep(marks);
        self.diffs.keep(marks);
        self.snapshots.keep(marks);
        self.reviews.keep(marks);
        self.trials.keep(marks);
        self.windows.borrow_mut().keep(marks);
    }
}

/// Returns true if the blocks of a call cover a line.
pub(super) fn covers(call: &document::PairedCall<'_>, line: usize) -> bool {
    let result = call.result.is_some_and(|it| it.lines.contains(&line));
    result || call.tool_use.lines.contains(&line)
}
