use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub(super) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // A negative time is impossible for this clock.
    Duration::try_from(time).unwrap_or_default()
}
