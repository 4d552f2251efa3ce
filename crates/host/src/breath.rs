//! Lets Neovim have the processor while the host computes for long.
//!
//! The kernel lets a thread that computes go on for some milliseconds, to its next tick,
//! and a Neovim that is woken on the same processor shows a typed key that late. Giving
//! way is not enough: `sched_yield` only looks at the thread's own group, and where the
//! kernel groups by session, as Linux does (`autogroup`), a job of Neovim's is a group
//! of its own. A thread that sleeps makes room for everybody.

use std::cell::Cell;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A thread rests after it has computed for so long. With a stream at full speed on two
/// processors the slowest hundredth of the keys then takes 3 ms instead of 5; rests that
/// are half as many make it 4.
const COMPUTES: Duration = Duration::from_micros(500);
/// How long it rests at least: long enough to be taken from the processor, and too short
/// to be noticed. The kernel adds about as much.
const REST: Duration = Duration::from_micros(50);

thread_local! {
    static BREATH: Cell<Breath> = const { Cell::new(Breath { rested: Duration::ZERO }) };
}

/// Rests when this thread has computed for long since it last did. To be called again and
/// again in long work, on a thread that may block for a moment.
pub fn breathe() {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let Ok(computed) = Duration::try_from(now) else {
        return;
    };
    let mut breath = BREATH.get();
    if breath.is_out_at(computed) {
        std::thread::sleep(REST);
    }
    BREATH.set(breath);
}

/// When a thread rested.
#[derive(Clone, Copy)]
struct Breath {
    /// What it had computed by then.
    rested: Duration,
}

impl Breath {
    /// Whether a thread that has computed so much is to rest now.
    fn is_out_at(&mut self, computed: Duration) -> bool {
        let is_out = computed.saturating_sub(self.rested) >= COMPUTES;
        if is_out {
            self.rested = computed;
        }
        is_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_rests_after_work_and_not_after_each_piece_of_it() {
        let mut breath = Breath {
            rested: Duration::ZERO,
        };
        let pieces = (1..=100).map(|piece| piece * COMPUTES / 10);
        let rests = pieces.filter(|computed| breath.is_out_at(*computed));
        assert_eq!(rests.count(), 10);
    }
}
