use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Pair;
use std::process::Stdio;

pub use tokio::net::UnixStream as Stream;

pub(super) fn pair() -> io::Result<(Stream, Stdio)> {
    let (ours, theirs) = Pair::pair()?;
    // Required by tokio, which would block its thread otherwise.
    ours.set_nonblocking(true)?;
    Ok((Stream::from_std(ours)?, Stdio::from(OwnedFd::from(theirs))))
}

#[cfg(test)]
pub(super) fn standard_input() -> io::Result<std::fs::File> {
    use std::os::fd::AsFd;
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}
