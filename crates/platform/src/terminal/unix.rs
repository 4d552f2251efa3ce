use std::io;
use std::os::fd::AsFd;
use std::process::Stdio;

pub(super) fn standard_error() -> io::Result<Stdio> {
    Ok(io::stderr().as_fd().try_clone_to_owned()?.into())
}
