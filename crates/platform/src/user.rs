//! The user of this process, and what belongs to them alone.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::fs::Metadata;

/// Whether only this user can have written a file: it belongs to them, and its mode permits no one
/// else to write. Always true on Windows, where files inherit the access list of the user's profile.
pub fn wrote_alone(metadata: &Metadata) -> bool {
    system::wrote_alone(metadata)
}
