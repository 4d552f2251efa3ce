//! Passes output on while a command runs: often enough to watch, never more than
//! an editor can draw.
//!
//! What is shown live may leave out the middle of a flood; the result does not
//! come from here.

use std::future::pending;
use std::time::Duration;

use chat::truncate::ceil_char_boundary;
use tokio::time::{Instant, sleep_until};

use crate::context::Progress;

/// Time between two batches: three frames of an editor.
const EVERY: Duration = Duration::from_millis(50);
/// Most bytes of one batch; more than a screen.
const BATCH: usize = 16 * 1024;

/// Output that waits to be shown.
pub(crate) struct Live {
    progress: Progress,
    waiting: String,
    next: Instant,
}

impl Live {
    pub(crate) fn new(progress: Progress) -> Self {
        Self {
            progress,
            waiting: String::new(),
            next: Instant::now(),
        }
    }

    /// Adds output. Of more than [`BATCH`] bytes only the end is kept.
    pub(crate) fn push(&mut self, text: &str) {
        if !self.progress.is_heard() {
            return;
        }
        self.waiting.push_str(text);
        let over = self.waiting.len().saturating_sub(BATCH);
        self.waiting
            .drain(..ceil_char_boundary(&self.waiting, over));
    }

    /// Waits until there is something to send and it is time to.
    pub(crate) async fn due(&self) {
        if self.waiting.is_empty() {
            pending::<()>().await;
        }
        sleep_until(self.next).await;
    }

    /// Sends what waits, if anything.
    pub(crate) fn send(&mut self) {
        if !self.waiting.is_empty() {
            self.progress.output(&self.waiting);
            self.waiting.clear();
        }
        self.next = Instant::now() + EVERY;
    }
}
