//! Ends everything that this process started, for one that is about to end itself.
//!
//! Its descendants, and what carries the mark of its calls: a daemon's parent is the
//! process that collects orphans.

use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitOptions, kill_process, wait};

/// How long SIGKILL is repeated; more appear only while something forks.
const KILL_FOR: Duration = Duration::from_millis(1500);
/// Between two looks at the processes.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Kills all that this process started and collects what is its own to collect. For
/// the last moments of a process: it blocks, for at most a second and a half.
///
/// Where there is no `/proc` it does nothing.
pub fn end_descendants() {
    let deadline = Instant::now() + KILL_FOR;
    loop {
        let left = descendants();
        if left.is_empty() || Instant::now() >= deadline {
            break;
        }
        signal(&left, &[Signal::KILL]);
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Sends `signals` to these processes. One that is gone needs none.
pub(super) fn signal(ids: &[u32], signals: &[Signal]) {
    for pid in ids.iter().filter_map(|&id| super::tree::pid(id)) {
        for signal in signals {
            let _ = kill_process(pid, *signal);
        }
    }
}

/// Collects the children that have ended; returns true while there are others.
pub(super) fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// The ids of all living processes that this process started, and those that they did.
#[cfg(target_os = "linux")]
pub(super) fn descendants() -> Vec<u32> {
    super::tree::started_by_us()
}

/// The ids of all living processes that this process started, which are not known here.
#[cfg(not(target_os = "linux"))]
pub(super) fn descendants() -> Vec<u32> {
    Vec::new()
}
