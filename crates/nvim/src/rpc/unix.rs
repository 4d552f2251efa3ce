use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FileType, fstat};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use super::{Input, Output};

pub(super) fn has_unread() -> bool {
    rustix::io::ioctl_fionread(io::stdin().as_fd()).is_ok_and(|bytes| bytes > 0)
}

pub(super) fn input() -> io::Result<Input> {
    let file = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(match kind(&file)? {
        FileType::Socket => Box::new(socket(file)?),
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(file)?),
        _ => Box::new(tokio::io::stdin()),
    })
}

pub(super) fn output() -> io::Result<Output> {
    let file = io::stdout().as_fd().try_clone_to_owned()?;
    Ok(match kind(&file)? {
        FileType::Socket => Box::new(socket(file)?),
        FileType::Fifo => Box::new(pipe::Sender::from_owned_fd(file)?),
        _ => Box::new(tokio::io::stdout()),
    })
}

fn kind(file: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode))
}

fn socket(file: OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(file);
    // Required by tokio, which would block its thread otherwise.
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
