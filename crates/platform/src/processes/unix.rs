use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

pub(super) fn has_ended(id: u32) -> bool {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    // Only ESRCH means that the process has ended. EPERM is a process of another user.
    pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH) || is_zombie(id))
}

/// Returns true if a process has ended and its parent has not noticed, as in a container without an
/// init. See proc_pid_stat(5). False on systems without `/proc`.
fn is_zombie(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // The name in parentheses may contain any characters.
    let state = stat.rsplit(") ").next().unwrap_or_default();
    // Other threads of a process can outlive its first one.
    let threads = fs::read_dir(format!("/proc/{id}/task")).map_or(0, Iterator::count);
    state.starts_with('Z') && threads <= 1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::process::Command;

    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_has_ended_before_its_parent_notices() {
        let mut child = Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        assert!(!has_ended(child.id()));
        drop(child.stdin.take());
        while !has_ended(child.id()) {
            std::thread::yield_now();
        }
        assert!(child.wait().unwrap().success());
        assert!(has_ended(child.id()) && !has_ended(std::process::id()));
    }
}
