//! The status of a file, which changes whenever its content does.

use std::fs::File;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use platform::files::FileStatus;
use serde::{Deserialize, Serialize};

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;
/// Maximum interval between two ticks of a file system's clock, in nanoseconds.
const TICK: i64 = 100_000_000;
/// The interval for a file system that only counts seconds.
const COARSE_TICK: i64 = 2 * SECOND;

/// The status of a file or folder. No file has the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::checkpoints) struct Stamp {
    size: u64,
    modified: i64,
    pub(super) changed: i64,
    inode: u64,
    mode: u32,
}

impl Stamp {
    pub(in crate::checkpoints) fn of(status: &FileStatus) -> Self {
        Self {
            size: status.size,
            modified: status.modified,
            changed: status.changed,
            inode: status.id.inode,
            mode: status.mode,
        }
    }

    /// Returns the stamp to remember for something that was read at `now`: the default if it
    /// changed so recently that another change could have the same time.
    pub(super) fn settled(self, now: i64) -> Self {
        if self.is_before(now) {
            self
        } else {
            Self::default()
        }
    }

    /// Returns true if its last change may have been at `time` or later, by the clock of the
    /// file system.
    pub(in crate::checkpoints) fn is_since(self, time: i64) -> bool {
        let tick = match self.changed % SECOND {
            0 => COARSE_TICK,
            _ => 0,
        };
        self.changed.saturating_add(tick) >= time
    }

    /// Returns true if its last change was certainly before `time`. The default returns false.
    pub(super) fn is_before(self, time: i64) -> bool {
        // Whole seconds are a sign of a file system without nanoseconds.
        let tick = match self.changed % SECOND {
            0 => COARSE_TICK,
            _ => TICK,
        };
        self != Self::default() && self.changed.saturating_add(tick) < time
    }
}

/// Nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| i64::try_from(it.as_nanos()).unwrap_or(i64::MAX))
}

/// When an open file was changed last, in nanoseconds since 1970.
pub(in crate::checkpoints) fn changed_at(file: &File) -> io::Result<i64> {
    Ok(FileStatus::of(file)?.changed)
}
