use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// When the time was asked for the first time.
static START: OnceLock<Instant> = OnceLock::new();

pub(super) fn thread_time() -> Duration {
    START.get_or_init(Instant::now).elapsed()
}
