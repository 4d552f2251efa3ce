use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;

pub use tokio::net::unix::pipe::{Receiver, Sender};

pub(super) fn receiver(reader: PipeReader) -> io::Result<Receiver> {
    Receiver::from_owned_fd(OwnedFd::from(reader))
}

pub(super) fn sender(writer: PipeWriter) -> io::Result<Sender> {
    Sender::from_owned_fd(OwnedFd::from(writer))
}
