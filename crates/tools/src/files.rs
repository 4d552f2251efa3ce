//! File access for tools: path resolution, text that may be open in the editor, and atomic
//! writes.

mod approved;
mod atomic;
mod encoding;
mod fingerprint;
mod locks;
mod moves;
mod open;
mod parents;
mod path;
mod real;
mod shown;
mod target;
mod text;

pub use approved::ApprovedPath;
pub use atomic::write as write_whole;
pub(crate) use atomic::{sync_folder, write_unsynced};
pub(crate) use encoding::Encoding;
pub use fingerprint::Fingerprint;
pub(crate) use locks::{FileLock, FileLocks};
pub(crate) use open::{Opened, open_regular, open_regular_in};
pub(crate) use parents::Parents;
pub(crate) use path::named_path;
pub use path::{resolve, without_dots};
pub use real::{RealPath, leads_to};
pub use shown::{Changes, FileState, ShownFiles};
pub(crate) use target::{FileTarget, Stored};
pub use text::Unshown;
pub(crate) use text::{Before, Expected, FileText};

use std::io;
use std::path::Path;

use chat::truncate::format_size;

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
