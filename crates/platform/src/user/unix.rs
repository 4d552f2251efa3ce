use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use rustix::process::{geteuid, getuid};

/// Write permission of the group and of others.
const OTHERS_WRITE: u32 = 0o022;
/// Write permission of all users.
const ALL_WRITE: u32 = 0o002;
/// Every permission of the group and of others.
const OTHERS: u32 = 0o077;

pub(super) fn wrote_alone(metadata: &Metadata) -> bool {
    metadata.mode() & OTHERS_WRITE == 0 && owns(metadata)
}

pub(super) fn owns(metadata: &Metadata) -> bool {
    metadata.uid() == geteuid().as_raw()
}

pub(super) fn has_alone(metadata: &Metadata) -> bool {
    owns(metadata) && metadata.mode() & OTHERS == 0
}

pub(super) fn all_can_write(metadata: &Metadata) -> bool {
    metadata.mode() & ALL_WRITE != 0
}

pub(super) fn real_id() -> Option<u32> {
    Some(getuid().as_raw())
}

pub(super) fn file_name_part() -> String {
    geteuid().as_raw().to_string()
}
