//! How long a script may still run. What it waits for others, a model or another tool,
//! is not its own time: each of these has a limit of its own.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long all the waiting of one call may take.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

/// Counts the time of a call.
pub(super) struct Clock {
    limit: Duration,
    begun: Instant,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// What is over.
    total: Duration,
    /// Since when it waits now.
    since: Option<Instant>,
}

impl Clock {
    /// Starts to count.
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            begun: Instant::now(),
            waiting: Mutex::default(),
        }
    }

    /// The limit.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// Waits until the time is up.
    pub(super) async fn up(&self) {
        loop {
            let left = self.left();
            if left.is_zero() {
                return;
            }
            // It may have waited meanwhile; then there is more left.
            sleep(left).await;
        }
    }

    /// Does something that is not the script's own time.
    pub(super) async fn pause<T>(&self, work: impl Future<Output = T>) -> T {
        self.waiting().since = Some(Instant::now());
        let done = work.await;
        let mut waiting = self.waiting();
        if let Some(since) = waiting.since.take() {
            waiting.total += since.elapsed();
        }
        done
    }

    fn left(&self) -> Duration {
        let waiting = self.waiting();
        let now = waiting
            .since
            .map_or(Duration::ZERO, |since| since.elapsed());
        let waited = (waiting.total + now).min(LONGEST_WAIT);
        (self.limit + waited).saturating_sub(self.begun.elapsed())
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waiting_for_others_is_no_time_of_the_script() {
        let begun = Instant::now();
        let clock = Clock::new(Duration::from_secs(10));
        let work = async {
            sleep(Duration::from_secs(4)).await;
            clock.pause(sleep(Duration::from_secs(60))).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = clock.up() => {}
            () = work => {}
        }
        assert_eq!(begun.elapsed().as_secs(), 70);
    }
}
