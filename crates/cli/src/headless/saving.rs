//! When the file of a chat is written: after each step at once, and while an answer
//! arrives so often that a kill loses little and writing costs little.

use std::time::Duration;

use tokio::time::Instant;

use super::Front;
use crate::protocol::Action;

/// Between two writes while an answer arrives. What may be lost is less than the
/// second that RELIABILITY's first promise allows.
const EVERY: Duration = Duration::from_millis(200);
/// Writing takes at most this part of the time.
const SHARE: u32 = 10;

/// What is not in the file yet.
#[derive(Debug, Default)]
pub struct Saving {
    unsaved: bool,
    not_before: Option<Instant>,
    /// Whether the file is not ours any more.
    lost: bool,
}

impl Saving {
    /// The text is another.
    pub fn changed(&mut self) {
        self.unsaved = true;
    }

    /// When the next write is due.
    pub fn due(&self) -> Option<Instant> {
        (self.unsaved && !self.lost).then(|| self.not_before.unwrap_or_else(Instant::now))
    }
}

impl Front {
    /// Writes the file, if its text is not in it yet.
    pub(super) fn save(&mut self) {
        if self.dry_run.is_some() || !self.saving.unsaved {
            self.saving.unsaved = false;
            return;
        }
        let Some(file) = &mut self.file else {
            self.saving.unsaved = false;
            return;
        };
        if self.saving.lost {
            if self.code.is_some() {
                self.save_beside();
            }
            return;
        }
        let begun = Instant::now();
        match file.write(self.buffer.text()) {
            Ok(()) => {
                self.saving.unsaved = false;
                let pause = EVERY.max(begun.elapsed() * SHARE);
                self.saving.not_before = Some(Instant::now() + pause);
            }
            Err(error) => {
                let path = file.path().display().to_string();
                self.saving.lost = true;
                self.outcome.failed = true;
                self.output.tell(&format!(
                    "{path} cannot be written: {error}. It is left as it is, and what goes on is stopped."
                ));
                self.press(Action::Cancel, 0);
            }
        }
    }

    fn save_beside(&mut self) {
        let Some(file) = &self.file else {
            return;
        };
        match file.write_beside(self.buffer.text()) {
            Ok(path) => {
                let told = format!("The chat as this run left it is in {}.", path.display());
                self.output.tell(&told);
            }
            Err(error) => {
                let told =
                    format!("The chat as this run left it cannot be written anywhere: {error}.");
                self.output.tell(&told);
            }
        }
    }
}
