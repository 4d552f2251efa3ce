use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use rustix::process::geteuid;

/// Write permission of the group and of others.
const OTHERS_WRITE: u32 = 0o022;

pub(super) fn wrote_alone(metadata: &Metadata) -> bool {
    metadata.mode() & OTHERS_WRITE == 0 && metadata.uid() == geteuid().as_raw()
}
