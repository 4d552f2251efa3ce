use std::io;
use std::os::windows::io::AsHandle;
use std::process::Stdio;

pub(super) fn standard_error() -> io::Result<Stdio> {
    Ok(io::stderr().as_handle().try_clone_to_owned()?.into())
}
