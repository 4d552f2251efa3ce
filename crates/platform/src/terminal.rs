//! The standard streams of this process, for the processes that it starts.

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

/// Standard error, which is usually the terminal, as the output of another process.
///
/// # Errors
///
/// It is closed.
pub fn standard_error() -> io::Result<Stdio> {
    system::standard_error()
}
