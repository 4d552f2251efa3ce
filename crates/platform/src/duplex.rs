//! A connection to a child process in both directions over its standard input.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::io;
use std::process::Stdio;

/// Our end of the connection, which is read and written asynchronously.
pub use system::Stream;

/// Creates a connection. Returns our end, and the standard input of the child process, which also
/// writes to it. No other process can connect.
///
/// # Errors
///
/// The limit of open files is reached.
pub fn pair() -> io::Result<(Stream, Stdio)> {
    system::pair()
}
