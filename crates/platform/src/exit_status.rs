//! How a process ended, beyond its exit code.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::process::ExitStatus;

/// The number of the signal that ended a process. `None` if it exited by itself, and always on
/// Windows, which has no signals.
pub fn signal(status: ExitStatus) -> Option<i32> {
    system::signal(status)
}

/// The name of a signal, such as `SIGTERM`, if it is one that ends processes.
pub fn signal_name(signal: i32) -> Option<&'static str> {
    system::signal_name(signal)
}
