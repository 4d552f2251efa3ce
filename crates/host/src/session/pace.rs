//! When results are written. What they are is the cycle's concern.

use tokio::time::Instant;

use super::{FRAME, Session};

/// When results are written: those of a frame together, because a hundred calls may
/// end within one.
#[derive(Default)]
pub(super) struct Pace {
    last: Option<Instant>,
    /// When results that were not written yet are to be.
    pub(super) due: Option<Instant>,
}

impl Pace {
    /// The cycle writes now, all that it has.
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
    /// When something is due that nobody asks for.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let write = self
            .request
            .as_ref()
            .and_then(|open| open.next_write(self.edit.is_some()));
        let results = self.pace.due.filter(|_| self.edit.is_none());
        [
            write,
            results,
            self.view.next_draw(),
            self.hold.next(),
            self.later.next(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Calls ended; while others run, their results are written when it is time.
    pub(super) fn collect_results(&mut self) {
        if self.cycle.collects_results() {
            self.pace.due = Some(self.pace.next());
        }
    }

    /// Whether more results are to come before it is time to write; then they are
    /// written at that time.
    pub(super) fn results_wait(&mut self) -> bool {
        let next = self.pace.next();
        let wait = self.cycle.collects_results() && next > Instant::now();
        if wait {
            self.pace.due = Some(next);
        }
        wait
    }

    pub(super) fn results_are_due(&mut self) -> bool {
        self.pace
            .due
            .take_if(|due| *due <= Instant::now())
            .is_some()
    }
}
