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

/// Whether a file or folder belongs to this user. Always true on Windows.
pub fn owns(metadata: &Metadata) -> bool {
    system::owns(metadata)
}

/// Whether only this user can access a file or folder, which belongs to them. Always true on
/// Windows.
pub fn has_alone(metadata: &Metadata) -> bool {
    system::has_alone(metadata)
}

/// Whether the mode of a file or folder permits every user to write. Always false on Windows.
pub fn all_can_write(metadata: &Metadata) -> bool {
    system::all_can_write(metadata)
}

/// The number of the real user of this process; `None` on Windows.
pub fn real_id() -> Option<u32> {
    system::real_id()
}

/// A part of a file name that differs between the users of a machine. On Windows, where each user
/// has their own temporary folder, it is the same for all.
pub fn file_name_part() -> String {
    system::file_name_part()
}
