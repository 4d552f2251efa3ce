//! Our standard streams as tasks read and write them.
//!
//! Neovim gives its jobs sockets, other programs pipes, and those are waited for together
//! with everything else. Of other files a thread of its own has to read or write, and
//! each message costs two turns of the scheduler more.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// What is read from.
pub(super) type Input = Box<dyn AsyncRead + Send + Unpin>;
/// What is written to.
pub(super) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input and output. They do not block any more, for whoever else has them.
pub(super) fn standard() -> (Input, Output) {
    (
        input().unwrap_or_else(|_| Box::new(tokio::io::stdin())),
        output().unwrap_or_else(|_| Box::new(tokio::io::stdout())),
    )
}

/// Whether standard input holds something that was not read yet.
pub(super) fn has_unread() -> bool {
    rustix::io::ioctl_fionread(io::stdin().as_fd()).is_ok_and(|bytes| bytes > 0)
}

fn input() -> io::Result<Input> {
    let file = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(match kind(&file)? {
        FileType::Socket => Box::new(socket(file)?),
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(file)?),
        _ => Box::new(tokio::io::stdin()),
    })
}

fn output() -> io::Result<Output> {
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
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
