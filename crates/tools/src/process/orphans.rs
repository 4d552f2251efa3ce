//! Ends everything that this process started, for one that is about to end itself.
//!
//! Its descendants, and what carries the mark of its calls: a daemon's parent is
//! whoever collects orphans, and not we.

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
    while signal_descendants(&[Signal::KILL]) > 0 && Instant::now() < deadline {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Sends `signals` to all that this process started; returns how many processes that are.
pub(super) fn signal_descendants(signals: &[Signal]) -> usize {
    let ids = started_by_us();
    for pid in ids.iter().filter_map(|&id| super::tree::pid(id)) {
        for signal in signals {
            let _ = kill_process(pid, *signal);
        }
    }
    ids.len()
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

#[cfg(target_os = "linux")]
fn started_by_us() -> Vec<u32> {
    super::tree::started_by_us()
}

#[cfg(not(target_os = "linux"))]
fn started_by_us() -> Vec<u32> {
    Vec::new()
}
