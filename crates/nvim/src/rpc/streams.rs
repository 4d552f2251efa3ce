//! Asynchronous standard streams.
//!
//! Neovim gives its jobs sockets and other programs give pipes, and tokio polls both. Other
//! files need a thread, which makes each message slower by two context switches.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Standard input.
pub(super) type Input = Box<dyn AsyncRead + Send + Unpin>;
/// Standard output.
pub(super) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens both streams. Makes them non-blocking, also for other processes that share them.
pub(super) fn standard() -> (Input, Output) {
    (
        input().unwrap_or_else(|_| Box::new(tokio::io::stdin())),
        output().unwrap_or_else(|_| Box::new(tokio::io::stdout())),
    )
}

/// Returns true if standard input has unread data.
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
    // Required by tokio, which would block its thread otherwise.
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
