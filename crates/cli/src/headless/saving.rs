//! When a chat's file is written: after each step, and while an answer arrives so often that
//! little is lost if the process is killed, but writing takes little time.

use std::time::Duration;

use tokio::time::Instant;

use super::HeadlessRun;
use crate::protocol::Action;

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
}

impl HeadlessRun {
    /// Writes the file if the text has changed.
    pub(super) fn save(&mut self) {
        let Some(file) = self.file.as_mut().filter(|_| self.dry_run.is_none()) else {
            self.saving.unsaved = false;
            return;
        };
        if !self.saving.unsaved {
            return;
        }
        if self.saving.lost {
            // Once, at the end of the run.
            if self.code.is_some() {
                self.save_beside();
            }
            return;
        }
        let started = Instant::now();
        match file.write(self.buffer.text()) {
            Ok(()) => {
                self.saving.unsaved = false;
                let pause = INTERVAL.max(started.elapsed() * SHARE);
                self.saving.not_before = Some(Instant::now() + pause);
            }
            Err(error) => {
                let path = file.path().display().to_string();
                self.saving.lost = true;
                self.outcome.failed = true;
                self.output.report(&format!(
                    "{path} cannot be written: {error}. The file is unchanged and the run stops."
                ));
                self.press(Action::Cancel, 0);
            }
        }
    }

    /// Writes the text to another file.
    fn save_beside(&mut self) {
        let Some(file) = &self.file else {
            return;
        };
        let message = match file.write_beside(self.buffer.text()) {
            Ok(path) => format!("The chat of this run was written to {}.", path.display()),
            Err(error) => format!("The chat of this run cannot be written anywhere: {error}."),
        };
        self.output.report(&message);
    }
}
