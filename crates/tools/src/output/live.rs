//! Passes output on while a command runs, at a rate that an editor can draw.
//!
//! Live output may skip the middle of a flood. The result does not depend on it.

use std::future::pending;
use std::time::Duration;

use chat::truncate::ceil_char_boundary;
use tokio::time::{Instant, sleep_until};

use crate::context::Progress;

/// Time between two batches: three frames of an editor.
const EVERY: Duration = Duration::from_millis(50);
/// Maximum bytes of a batch, more than a screen.
const BATCH: usize = 16 * 1024;

/// Output that has not been shown yet.
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

    /// Adds output. Keeps only the last [`BATCH`] bytes.
    pub(crate) fn push(&mut self, text: &str) {
        // Without a listener, the text would only pile up.
        if !self.progress.is_heard() {
            return;
        }
        self.waiting.push_str(text);
        let over = self.waiting.len().saturating_sub(BATCH);
        self.waiting
            .drain(..ceil_char_boundary(&self.waiting, over));
    }

    /// Waits until there is output and the next batch is due.
    pub(crate) async fn due(&self) {
        if self.waiting.is_empty() {
            pending::<()>().await;
        }
        sleep_until(self.next).await;
    }

    /// Sends the pending output, if any.
    pub(crate) fn send(&mut self) {
        if !self.waiting.is_empty() {
            self.progress.output(&self.waiting);
            self.waiting.clear();
        }
        self.next = Instant::now() + EVERY;
    }
}
