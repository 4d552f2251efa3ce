//! The open request of a chat, and the state that is kept of earlier ones.

mod answer;
mod build_request;
mod context;
mod contexts;
mod dry_run;
mod progress;
mod references;
mod result_files;
mod send;
mod sent;
mod shorten;
mod summary;
mod unknown_price;
mod usage;

use std::collections::BTreeSet;

use agent::answer::Ids;
use chat::text::Lines;
use tokio::time::Instant;

pub(super) use self::answer::AnswerWrite;
use self::answer::Open;
pub(super) use self::dry_run::report_call;
pub(super) use self::progress::RequestProgress;
use self::references::References;
pub use self::references::Unresolved;
pub(super) use self::result_files::ResultFiles;
use self::sent::Sent;
pub use self::sent::SentReport;
pub(super) use self::summary::AfterDraft;
use self::summary::Summaries;
pub use self::summary::{Draft, Drafted};
use self::unknown_price::AgreedModels;
pub(super) use self::usage::{report_usage, usage_text};

/// The request that is open, if one is, and what was reported about requests.
#[derive(Default)]
pub(super) struct Request {
    open: Option<Open>,
    references: References,
    pub(super) sent: Sent,
    /// Remarks about requests that were shown, so that each is shown once.
    remarks: BTreeSet<String>,
    agreed: AgreedModels,
    summaries: Summaries,
    /// Why the last answer was cut off, until the text says so.
    interrupted: Option<&'static str>,
}

impl Request {
    /// Returns true from the key that sends until the answer has ended in the buffer.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the open request, if it has this number.
    fn open_as(&mut self, number: u64) -> Option<&mut Open> {
        // Inputs of a request that was cancelled may still be in the queue.
        self.open.as_mut().filter(|open| open.number == number)
    }

    /// Ends the request without writing any more of its answer.
    pub(super) fn stop(&mut self) {
        if let Some(open) = self.open.take() {
            open.stop();
        }
    }

    /// Notes that the user changed the text while the answer arrives.
    pub(super) fn note_change(&mut self) {
        if let Some(open) = &mut self.open {
            open.touch();
        }
    }

    /// Follows a change of the text: `count` lines replaced `lines`.
    pub(super) fn follow_change(&mut self, lines: &Lines, count: usize) {
        self.sent.follow_change(lines, count);
        if let Some(open) = &mut self.open {
            open.move_line(lines, count);
        }
    }

    /// Returns when more of the answer is due to be written.
    pub(super) fn next_write(&self, is_busy: bool) -> Option<Instant> {
        self.open.as_ref()?.next_write(is_busy)
    }

    /// Returns the editor's anchor at which the answer grows.
    pub(super) fn anchor(&self) -> Option<u64> {
        self.open.as_ref()?.anchor()
    }

    /// Sets the ids of the chat's calls for the request with this number.
    pub(super) fn set_ids(&mut self, number: u64, ids: Ids) {
        if let Some(open) = self.open_as(number) {
            open.set_ids(ids);
        }
    }

    /// Forgets which files this chat may send.
    pub(super) fn forget_agreed(&mut self) {
        self.references.agreed.clear();
    }

    /// Returns why the last answer was cut off, if the text does not say so yet.
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
