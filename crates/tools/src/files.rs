//! File access for tools: path resolution, text that may be open in the editor, and atomic
//! writes.

mod atomic;
mod path;
mod shown;
mod target;
mod text;

use std::io;
use std::path::Path;

use chat::truncate::format_size;

pub use self::atomic::write as write_whole;
pub(crate) use self::atomic::{FileLock, FileLocks, sync_folder, write_unsynced};
pub(crate) use self::path::{Opened, Parents, named_path, open_regular, open_regular_in};
pub use self::path::{RealPath, leads_to, resolve, without_dots};
pub use self::shown::{ApprovedPath, Changes, FileState, Fingerprint, ShownFiles};
pub(crate) use self::target::{FileTarget, Stored, read_text};
pub use self::text::Unshown;
pub(crate) use self::text::{Before, Encoding, Expected, FileText};
use crate::error::ToolError;

/// Maximum size of a file that a tool reads (64 MiB), since the file is held in memory or
/// searched to the end.
pub(crate) const MAX_SIZE: u64 = 64 * 1024 * 1024;

/// Checks the size of a file that is about to be read.
///
/// # Errors
///
/// [`ToolError::Failed`] if it is larger than [`MAX_SIZE`].
pub(crate) fn check_size(path: &Path, bytes: u64) -> Result<(), ToolError> {
    if bytes <= MAX_SIZE {
        return Ok(());
    }
    Err(ToolError::Failed(format!(
        "{} is {}, over the limit of {}. Use bash, for example with sed -n, head or tail.",
        path.display(),
        format_size(bytes),
        format_size(MAX_SIZE)
    )))
}

/// Words a file error for the model.
pub(crate) fn file_error(action: &str, path: &Path, error: &io::Error) -> ToolError {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => ToolError::NotFound(format!("{path} does not exist.")),
        io::ErrorKind::PermissionDenied => {
            ToolError::Failed(format!("{path} cannot be {action}: permission denied."))
        }
        // Another program holds a lease on the file, which makes a non-blocking open fail
        // (fcntl(2)).
        io::ErrorKind::WouldBlock => ToolError::Failed(format!(
            "{path} cannot be {action}: reading it would block."
        )),
        _ => ToolError::Failed(format!("{path} cannot be {action}: {error}.")),
    }
}

/// Runs file operations on a blocking thread.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(ToolError::Failed(format!(
            "The file operation failed: {error}."
        ))),
    }
}
