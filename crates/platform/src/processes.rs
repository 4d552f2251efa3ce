//! Processes by their numbers.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// Whether the process with this number has certainly ended. Always false on Windows, where that is
/// not known.
pub fn has_ended(id: u32) -> bool {
    system::has_ended(id)
}
