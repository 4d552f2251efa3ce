//! Our ends of anonymous pipes, which are read and written asynchronously.
//!
//! The system polls them on Unix. On Windows, a thread waits for each operation.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::io::{self, PipeReader, PipeWriter};

pub use system::{Receiver, Sender};

/// The reading end of a pipe.
///
/// # Errors
///
/// The operating system reports an error.
pub fn receiver(reader: PipeReader) -> io::Result<Receiver> {
    system::receiver(reader)
}

/// The writing end of a pipe. Flush it before it is dropped.
///
/// # Errors
///
/// The operating system reports an error.
pub fn sender(writer: PipeWriter) -> io::Result<Sender> {
    system::sender(writer)
}
