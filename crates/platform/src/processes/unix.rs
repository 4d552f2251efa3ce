use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

pub(super) fn has_ended(id: u32) -> bool {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    // Only ESRCH means that the process has ended. EPERM is a process of another user.
    pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}
