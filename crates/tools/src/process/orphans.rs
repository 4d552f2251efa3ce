//! Orphans of what this process started: whether there are any, and the end of all.
//!
//! A daemon's parent is whoever collects orphans, and not we.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long SIGKILL is repeated; more appear only while something forks.
const KILL_FOR: Duration = Duration::from_millis(1500);
/// Between two looks at the processes.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Who collects the orphans of our calls.
static COLLECTOR: OnceLock<u32> = OnceLock::new();

/// Says which process collects the orphans of what this one starts, and nothing
/// else: its only other child is this process, and it waits for each that ends.
/// Then a look at its children tells whether a command left anything behind.
pub fn orphans_go_to(collector: u32) {
    // A second word about it says the same.
    let _ = COLLECTOR.set(collector);
}

/// Whether it is certain that no orphan of ours lives. `false` where nobody was
/// named to collect them, or the kernel does not tell.
pub(super) fn none_lives() -> bool {
    let children = |collector: &u32| {
        // proc(5); the kernel's CONFIG_PROC_CHILDREN, which distributions set.
        std::fs::read_to_string(format!("/proc/{collector}/task/{collector}/children")).ok()
    };
    let us = std::process::id().to_string();
    let children = COLLECTOR.get().and_then(children);
    children.is_some_and(|children| children.split_ascii_whitespace().eq([us.as_str()]))
}

/// Kills all that this process started, its descendants and what carries the mark of
/// its calls, and collects what is its own to collect. For the last moments of a
/// process: it blocks, for at most a second and a half.
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
