//! The user of this process, and what belongs to them alone.

use std::fs::Metadata;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;

#[cfg(unix)]
use rustix::process::{geteuid, getuid};

/// Write permission of the group and of others.
const OTHERS_WRITE: u32 = 0o022;
/// Write permission of all users.
const ALL_WRITE: u32 = 0o002;
/// Every permission of the group and of others.
const OTHERS: u32 = 0o077;

/// Returns true if only this user can have written a file: it belongs to them, and its mode permits no one
/// else to write. Always true on Windows, where files inherit the access list of the user's profile.
pub fn wrote_alone(metadata: &Metadata) -> bool {
    mode(metadata) & OTHERS_WRITE == 0 && owns(metadata)
}

/// Returns true if a file or folder belongs to this user. Always true on Windows.
pub fn owns(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        metadata.uid() == geteuid().as_raw()
    }
    #[cfg(windows)]
    {
        let _ = metadata;
        true
    }
}

/// Returns true if only this user can access a file or folder, which belongs to them. Always true on
/// Windows.
pub fn has_alone(metadata: &Metadata) -> bool {
    owns(metadata) && mode(metadata) & OTHERS == 0
}

/// Returns true if the mode of a file or folder permits every user to write. Always false on Windows.
pub fn all_can_write(metadata: &Metadata) -> bool {
    mode(metadata) & ALL_WRITE != 0
}

/// The mode of a file or folder. On Windows it permits nothing.
fn mode(metadata: &Metadata) -> u32 {
    #[cfg(unix)]
    {
        metadata.mode()
    }
    #[cfg(windows)]
    {
        let _ = metadata;
        0
    }
}

/// The number of the real user of this process; `None` on Windows.
pub fn real_id() -> Option<u32> {
    #[cfg(unix)]
    {
        Some(getuid().as_raw())
    }
    #[cfg(windows)]
    {
        None
    }
}

/// A part of a file name that differs between the users of a machine. On Windows, where each user
/// has their own temporary folder, it is the same for all.
pub fn file_name_part() -> String {
    #[cfg(unix)]
    {
        geteuid().as_raw().to_string()
    }
    #[cfg(windows)]
    {
        "user".to_owned()
    }
}
