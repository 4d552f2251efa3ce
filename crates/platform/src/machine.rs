//! The machine that this process runs on: its name, and the time of its processors.

use std::time::Duration;

/// Returns a name that two machines rarely share: on Unix the host name, on Linux with the
/// machine's id where it has one. Empty on Windows, where state is never shared between
/// machines. State that belongs to files of one machine is stored under this name.
pub fn name() -> String {
    #[cfg(unix)]
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    #[cfg(windows)]
    let host = String::new();
    // Containers often share a host name, and others have no id (machine-id(5)).
    let id = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    format!("{host} {}", id.trim())
}

/// Processor time that this thread has used. On Windows, the time that has passed since the first
/// call, which is never less.
pub fn thread_time() -> Duration {
    #[cfg(unix)]
    {
        use rustix::time::{ClockId, clock_gettime};
        let time = clock_gettime(ClockId::ThreadCPUTime);
        // A negative time is impossible for this clock.
        Duration::try_from(time).unwrap_or_default()
    }
    #[cfg(windows)]
    {
        use std::{sync::OnceLock, time::Instant};
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}
