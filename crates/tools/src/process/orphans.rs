//! Ends everything that this process started, for one that is about to end itself.
//!
//! Its descendants, and what carries the mark of its calls: a daemon's parent is
//! whoever collects orphans, and not we.

use std::time::{Duration, Instant};

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
    while kill_once() && Instant::now() < deadline {
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Whether there was anything to kill.
#[cfg(target_os = "linux")]
fn kill_once() -> bool {
    use rustix::process::{Signal, WaitOptions, kill_process, wait};
    let ids = super::tree::started_by_us();
    for id in &ids {
        if let Some(pid) = super::tree::pid(*id) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    !ids.is_empty()
}

#[cfg(not(target_os = "linux"))]
fn kill_once() -> bool {
    false
}
