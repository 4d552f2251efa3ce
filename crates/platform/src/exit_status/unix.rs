use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

const NAMES: [(Signal, &str); 16] = [
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
];

pub(super) fn signal(status: ExitStatus) -> Option<i32> {
    status.signal()
}

pub(super) fn signal_name(signal: i32) -> Option<&'static str> {
    let found = NAMES.iter().find(|(known, _)| known.as_raw() == signal);
    found.map(|(_, name)| *name)
}
