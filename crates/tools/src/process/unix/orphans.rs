//! Ends everything that this process started, before it ends itself.
//!
//! Besides descendants, these are processes with the mark of a call: a daemon is no longer a
//! descendant, because its parent is the process that adopts orphans.

use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitOptions, wait};

use super::tree::{is_leash, kill, pid, started_by_us};

/// How long SIGKILL is repeated. Once is enough unless a process forks at the same time.
const KILL_FOR: Duration = Duration::from_millis(1500);
/// How long a leash may take to end by itself.
const LEASH_GRACE: Duration = Duration::from_secs(1);
/// Interval between searches for processes.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Kills everything that this process started, and reaps its children. Blocks for at most 1.5
/// seconds, so it is only for a process that is about to end. Without `/proc`, these are the process groups of
/// the calls.
pub fn end_descendants() {
    let begun = Instant::now();
    while begun.elapsed() < KILL_FOR {
        let mut left = started_by_us();
        // A search misses a process whose parent forks it and ends at that moment.
        if left.is_empty() && !has_children() {
            break;
        }
        // Without its leash, a command would live on if this process were killed now. The leash
        // ends by itself, after everything that it holds.
        if begun.elapsed() < LEASH_GRACE {
            left.retain(|id| !is_leash(*id));
        }
        signal(&left, &[Signal::KILL]);
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Sends `signals` to these processes. Those that have ended are skipped.
pub(super) fn signal(ids: &[u32], signals: &[Signal]) {
    for pid in ids.iter().filter_map(|&id| pid(id)) {
        for signal in signals {
            kill(pid, *signal);
        }
    }
}

/// Reaps the children that have ended. Returns true if there are others.
pub(super) fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            // A signal may have interrupted the call.
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return true,
            // ECHILD: there are no children.
            Err(_) => return false,
        }
    }
}
