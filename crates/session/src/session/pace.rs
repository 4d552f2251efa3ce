//! When results are written: those of one frame together, because each edit costs a
//! round trip and a drawn screen. Without this, 100 approved reads take 65 to 79 ms
//! instead of 42; the budget is 30.

use tokio::time::Instant;

use super::{FRAME, Session};

/// When results were written, and when the next are due.
#[derive(Default)]
pub(super) struct Pace {
    last: Option<Instant>,
    /// When results are written that still wait.
    pub(super) due: Option<Instant>,
}

impl Pace {
    /// Notes that the cycle writes now, all that it has.
    pub(super) fn wrote(&mut self) {
        *self = Self {
            last: Some(Instant::now()),
            due: None,
        };
    }

    fn next(&self) -> Instant {
        self.last.map_or_else(Instant::now, |last| last + FRAME)
    }
}

impl Session {
    /// When something is due without an input.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let write = self
            .request
            .open
            .as_ref()
            .and_then(|open| open.next_write(self.buffer.in_flight.is_some()));
        let results = self
            .calls
            .pace
            .due
            .filter(|_| self.buffer.in_flight.is_none());
        [write, results, self.view.next_draw(), self.disk.lock.next()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Schedules the results of calls that ended while others run.
    pub(super) fn collect_results(&mut self) {
        if self.cycle.collects_results() {
            self.calls.pace.due = Some(self.calls.pace.next());
        }
    }

    /// Whether results should wait for more of them, until the frame is over.
    pub(super) fn results_wait(&mut self) -> bool {
        let next = self.calls.pace.next();
        let wait = self.cycle.collects_results() && next > Instant::now();
        if wait {
            self.calls.pace.due = Some(next);
        }
        wait
    }

    pub(super) fn results_are_due(&mut self) -> bool {
        self.calls
            .pace
            .due
            .take_if(|due| *due <= Instant::now())
            .is_some()
    }
}
