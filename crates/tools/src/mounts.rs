//! Files that sandboxes of running commands protect with a mount.
//!
//! Linux lifts a mount when another process renames a file over the mounted one. A command
//! that may not write a chat could then write it as soon as the chat is saved. So such
//! files are written in place while a command runs.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
pub(crate) mod linux;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

use std::path::Path;

/// Runs `replace`, which renames a file to `path`. Returns `None` without running it while
/// `path` is mounted, which it never is without a sandbox.
pub(crate) fn unless_mounted<T>(path: &Path, replace: impl FnOnce() -> T) -> Option<T> {
    system::unless_mounted(path, replace)
}
