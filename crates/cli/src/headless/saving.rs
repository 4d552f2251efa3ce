//! When a chat's file is written: after each step, and while an answer arrives so often that
//! little is lost if the process is killed, but writing takes little time.

use std::time::Duration;

use session::protocol::Action;
use tokio::time::Instant;

use super::HeadlessRun;

/// Minimum time between two writes while an answer arrives. At most a second of text may be
/// lost ("Reliability", first promise).
const INTERVAL: Duration = Duration::from_millis(200);
/// Writing takes at most one part in this many of the time.
const SHARE: u32 = 10;

/// Whether and when the file must be written.
#[derive(Debug, Default)]
pub struct Saving {
    unsaved: bool,
    not_before: Option<Instant>,
    /// True if a write failed: another program may have changed the file.
    lost: bool,
}

impl Saving {
    /// Records that the text has changed.
    pub fn changed(&mut self) {
        self.unsaved = true;
    }

    /// Returns when the next write is due.
    pub fn due(&self) -> Option<Instant> {
        (self.unsaved && !self.lost).then(|| self.not_before.unwrap_or_else(Instant::now))
    }

    /// Returns true if a write failed.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Writes if the text has changed. Nothing is written after an error.
    pub fn write<E>(&mut self, write: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        if !self.unsaved {
            return Ok(());
        }
        let started = Instant::now();
        let written = write();
        match written {
            Ok(()) => {
                self.unsaved = false;
                // A slow disk gets more time between writes, so that the stream does not wait.
                let pause = INTERVAL.max(started.elapsed() * SHARE);
                self.not_before = Some(Instant::now() + pause);
            }
            Err(_) => self.lost = true,
        }
        written
    }
}

impl HeadlessRun {
    /// Writes the file if the text has changed.
    pub(super) fn save(&mut self) {
        if self.stored.is_lost() {
            // Once, at the end of the run.
            if self.end.code().is_some()
                && let Some(message) = self.stored.write_beside(self.buffer.text())
            {
                self.output.report(&message);
            }
            return;
        }
        if let Err(problem) = self.stored.write(self.buffer.text()) {
            self.outcome.failed = true;
            self.output.report(&problem);
            // Requests and calls whose outcome cannot be saved must not go on.
            self.press(Action::Cancel, 0);
        }
    }
}
