//! How a process ended, beyond its exit code.

use std::process::ExitStatus;

/// The signals that end processes.
#[cfg(unix)]
const SIGNALS: [(rustix::process::Signal, &str); 16] = {
    use rustix::process::Signal;
    [
        (Signal::ABORT, "SIGABRT"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::HUP, "SIGHUP"),
        (Signal::ILL, "SIGILL"),
        (Signal::INT, "SIGINT"),
        (Signal::KILL, "SIGKILL"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::SYS, "SIGSYS"),
        (Signal::TERM, "SIGTERM"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
    ]
};

/// The number of the signal that ended a process. `None` if it exited by itself, and always on
/// Windows, which has no signals.
pub fn signal(status: ExitStatus) -> Option<i32> {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        status.signal()
    }
    #[cfg(windows)]
    {
        let _ = status;
        None
    }
}

/// The name of a signal, such as `SIGTERM`, if it is one that ends processes.
pub fn signal_name(signal: i32) -> Option<&'static str> {
    #[cfg(unix)]
    {
        let mut signals = SIGNALS.iter();
        let found = signals.find(|(known, _)| known.as_raw() == signal);
        found.map(|(_, name)| *name)
    }
    #[cfg(windows)]
    {
        let _ = signal;
        None
    }
}
