//! Limits the running time of untrusted code.
//!
//! Counts the thread's processor time, so that a busy machine does not fail a valid file (but see
//! [`thread_time`]). Knows
//! neither Lua nor the code that runs.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use platform::machine::thread_time;

/// Multiple of the limit, in real time, after which a run ends even if it gets no processor.
const STARVED: u32 = 20;

/// A time limit for one run at a time.
#[derive(Debug)]
pub struct Budget(Mutex<Run>);

#[derive(Debug)]
struct Run {
    limit: Duration,
    started: Instant,
    /// Processor time of the thread at the start.
    processor: Duration,
    /// Interrupts so far.
    count: u64,
    /// Line of the last check.
    line: Option<usize>,
    over: bool,
}

impl Budget {
    /// Creates a budget that was not started.
    pub fn new() -> Self {
        Self(Mutex::new(Run {
            limit: Duration::MAX,
            started: Instant::now(),
            processor: Duration::ZERO,
            count: 0,
            line: None,
            over: false,
        }))
    }

    /// Starts a run on this thread.
    pub fn start(&self, limit: Duration) {
        *self.lock() = Run {
            limit,
            started: Instant::now(),
            processor: thread_time(),
            count: 0,
            line: None,
            over: false,
        };
    }

    /// Called by the engine at each interrupt. Returns true once the run must end, and always
    /// from then on. `line` returns the current line and is called only now and then.
    pub fn is_over(&self, line: impl FnOnce() -> Option<usize>) -> bool {
        let mut run = self.lock();
        run.count += 1;
        let was_over = run.over;
        let waited = run.started.elapsed();
        // Reading the clock of the thread is a system call, and a run cannot use more processor
        // time than has passed. So it is read only once the time has passed.
        if !run.over && waited > run.limit {
            let used = thread_time().saturating_sub(run.processor);
            run.over = is_exceeded(run.limit, used, waited);
        }
        // Finding the line walks the stack, so it is done at the end, for the first interrupts,
        // and then rarely.
        if !was_over && (run.over || run.count < 256 || run.count.is_multiple_of(64)) {
            run.line = line().or(run.line);
        }
        run.over
    }

    /// Returns true if the run reached its limit.
    pub fn was_reached(&self) -> bool {
        self.lock().over
    }

    /// Returns the line of the last check.
    pub fn last_line(&self) -> Option<usize> {
        self.lock().line
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Run> {
        // A run is plain numbers, so it is usable whatever a panic interrupted.
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Returns true if a run must end that used this much of the processor in this time.
fn is_exceeded(limit: Duration, used: Duration, waited: Duration) -> bool {
    // A run that gets no processor would otherwise hold its thread, and the caller that waits for
    // it.
    used > limit || waited > limit.saturating_mul(STARVED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_by_its_own_work_and_when_it_gets_no_processor_for_long() {
        let ms = Duration::from_millis;
        for (used, waited, expected) in [
            (0, 0, false),
            (100, 100, false),
            (101, 101, true),
            (0, 101, false),
            (0, 2000, false),
            (0, 2001, true),
        ] {
            let is_over = is_exceeded(ms(100), ms(used), ms(waited));
            assert_eq!(is_over, expected, "{used} ms of {waited} ms");
        }
    }

    #[test]
    fn the_line_is_asked_at_first_and_then_now_and_then() {
        let budget = Budget::new();
        budget.start(Duration::MAX);
        let mut asked = Vec::new();
        for at in 1..=400 {
            let is_over = budget.is_over(|| {
                asked.push(at);
                (at != 384).then_some(at)
            });
            assert!(!is_over);
        }
        let expected: Vec<usize> = (1..256).chain([256, 320, 384]).collect();
        assert_eq!(asked, expected);
        assert_eq!(budget.last_line(), Some(320), "the last that was known");
    }

    #[test]
    fn what_reached_its_limit_stays_over_until_the_next_start() {
        let budget = Budget::new();
        budget.start(Duration::ZERO);
        while !budget.is_over(|| Some(7)) {}
        assert!(budget.is_over(|| Some(8)) && budget.was_reached());
        assert_eq!(budget.last_line(), Some(7));
        budget.start(Duration::MAX);
        assert!(!budget.is_over(|| None) && !budget.was_reached());
        assert_eq!(budget.last_line(), None);
    }

    #[test]
    fn the_processor_time_is_that_of_the_thread() {
        assert!(thread_time() > Duration::ZERO);
    }
}
