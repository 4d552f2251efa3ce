use std::process::ExitStatus;

pub(super) fn signal(_status: ExitStatus) -> Option<i32> {
    None
}

pub(super) fn signal_name(_signal: i32) -> Option<&'static str> {
    None
}
