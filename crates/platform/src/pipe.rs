//! Our ends of anonymous pipes, which are read and written asynchronously.
//!
//! The system polls them on Unix. On Windows, where such pipes can't be polled, a thread waits for
//! each operation.

use std::io::{self, PipeReader, PipeWriter};

// A file reads and writes them on tokio's threads for blocking work.
#[cfg(windows)]
pub use tokio::fs::{File as Receiver, File as Sender};
#[cfg(unix)]
pub use tokio::net::unix::pipe::{Receiver, Sender};

/// Bytes that a pipe holds where the system allows it, so that a program that prints much need not wait
/// for each read. Linux gives a user's pipes 64 MiB (pipe(7)).
pub const CAPACITY: usize = 256 * 1024;

/// The reading end of a pipe, which holds [`CAPACITY`] from now on if possible.
///
/// # Errors
///
/// The operating system reports an error.
pub fn receiver(reader: PipeReader) -> io::Result<Receiver> {
    // A smaller pipe is only slower.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&reader, CAPACITY);
    #[cfg(unix)]
    {
        Receiver::from_owned_fd(reader.into())
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::OwnedHandle;
        Ok(Receiver::from_std(OwnedHandle::from(reader).into()))
    }
}

/// The writing end of a pipe. Flush it before it is dropped.
///
/// # Errors
///
/// The operating system reports an error.
pub fn sender(writer: PipeWriter) -> io::Result<Sender> {
    #[cfg(unix)]
    {
        Sender::from_owned_fd(writer.into())
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::OwnedHandle;
        Ok(Sender::from_std(OwnedHandle::from(writer).into()))
    }
}
