//! Clocks.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::time::Duration;

/// Processor time that this thread has used. On Windows, the time that has passed since the first
/// call, which is never less.
pub fn thread_time() -> Duration {
    system::thread_time()
}
