//! Asynchronous standard streams.
//!
//! Neovim gives its jobs sockets and other programs give pipes, and tokio polls both. Other
//! files, and all streams on Windows, need a thread, which makes each message slower by two
//! context switches.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use tokio::io::{AsyncRead, AsyncWrite};

/// Standard input.
pub(super) type Input = Box<dyn AsyncRead + Send + Unpin>;
/// Standard output.
pub(super) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens both streams. Makes them non-blocking, also for other processes that share them.
pub(super) fn standard() -> (Input, Output) {
    (
        system::input().unwrap_or_else(|_| Box::new(tokio::io::stdin())),
        system::output().unwrap_or_else(|_| Box::new(tokio::io::stdout())),
    )
}

/// Returns true if standard input has unread data. Always false on Windows.
pub(super) fn has_unread() -> bool {
    system::has_unread()
}
