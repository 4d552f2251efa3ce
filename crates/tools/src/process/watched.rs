//! What a process that watches this one makes simpler: commands need no session of
//! their own, and whether they left anything behind is seen at once.

use std::sync::OnceLock;

/// The process that watches this one.
static WATCHER: OnceLock<u32> = OnceLock::new();

/// Says that the process `watcher` does nothing but watch this one: orphans of what
/// this one starts become its children, and it waits for each that ends. Leaves the
/// terminal, which nobody but commands could use.
///
/// Called once, before anything is started. Where it cannot be done, as in a process
/// that leads a group, everything works the longer way.
pub fn watched_by(watcher: u32) {
    match rustix::process::setsid() {
        // Nobody else sets it.
        Ok(_) => drop(WATCHER.set(watcher).ok()),
        Err(error) => tracing::warn!(%error, "the terminal cannot be left"),
    }
}

/// Whether commands have no terminal even in the session of this process.
pub(super) fn has_no_terminal() -> bool {
    WATCHER.get().is_some()
}

/// Ids of the orphans of ours, living or dead; `None` when they are not known.
#[cfg(target_os = "linux")]
pub(super) fn orphans() -> Option<Vec<u32>> {
    let us = std::process::id();
    let ids = children(*WATCHER.get()?)?;
    Some(ids.into_iter().filter(|id| *id != us).collect())
}

/// Ids of the children of a process that has one thread, living or dead.
pub(super) fn children(parent: u32) -> Option<Vec<u32>> {
    // proc(5); the kernel's CONFIG_PROC_CHILDREN, which distributions set.
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let ids = children.ok()?;
    let ids = ids.split_ascii_whitespace();
    Some(ids.filter_map(|id| id.parse().ok()).collect())
}

/// Ids of the orphans of ours, living or dead; `None` when they are not known.
#[cfg(not(target_os = "linux"))]
pub(super) fn orphans() -> Option<Vec<u32>> {
    None
}
