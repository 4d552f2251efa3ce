//! The time limit of a script. Time that it waits for a model or another tool doesn't count,
//! because those have limits of their own.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Maximum total time that one call may wait for others.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

/// Measures the time of a call.
pub(super) struct Clock {
    limit: Duration,
    begun: Instant,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// The total of the waits that have ended.
    total: Duration,
    /// The start of the current wait.
    since: Option<Instant>,
}

impl Clock {
    /// Starts the clock.
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            begun: Instant::now(),
            waiting: Mutex::default(),
        }
    }

    /// The time limit.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// Waits until the limit is reached.
    pub(super) async fn up(&self) {
        loop {
            let left = self.left();
            if left.is_zero() {
                return;
            }
            // Checked again afterwards, because a wait in the meantime extends the time.
            sleep(left).await;
        }
    }

    /// Does work during which the script waits.
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
    async fn waiting_does_not_count_against_the_limit() {
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
