//! Where the host's log goes: a file that only its owner can read.
//!
//! Standard output is the wire and standard error the user's terminal, so
//! neither is ever written to.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;

/// Logs to `path` from now on; a second call changes nothing. What is logged is
/// set by `$FLEMMA_LOG`, in the syntax of `tracing_subscriber`'s `EnvFilter`;
/// warnings and errors by default.
///
/// # Errors
///
/// The file cannot be opened.
pub fn start(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    let filter = EnvFilter::try_from_env("FLEMMA_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    // An error means that a log was started before, which then goes on.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(Mutex::new(file))
        .try_init();
    Ok(())
}
