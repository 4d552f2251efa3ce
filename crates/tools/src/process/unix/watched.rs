//! Optimizations for a host with a watcher: commands need no session of their own, and background
//! processes that they leave are found at once.

use std::sync::OnceLock;

/// The process that watches this one.
static WATCHER: OnceLock<u32> = OnceLock::new();

/// Declares that the process `watcher` only watches this one: it adopts and reaps all orphans of
/// this process. Detaches this process from the terminal, which only commands could use.
///
/// Call it once, before anything is started. If it fails, as in a process that leads a group,
/// commands get sessions of their own.
pub fn watched_by(watcher: u32) {
    match rustix::process::setsid() {
        // This is the only place that sets it.
        Ok(_) => drop(WATCHER.set(watcher).ok()),
        Err(error) => tracing::warn!(%error, "the terminal cannot be left"),
    }
}

/// Whether the session of this process has no terminal.
pub(super) fn has_no_terminal() -> bool {
    WATCHER.get().is_some()
}

/// Ids of the orphans of this process, running or zombies; `None` if they are unknown.
#[cfg(target_os = "linux")]
pub(super) fn orphans() -> Option<Vec<u32>> {
    let us = std::process::id();
    let ids = children(*WATCHER.get()?)?;
    Some(ids.into_iter().filter(|id| *id != us).collect())
}

/// Ids of the children of a process with one thread, running or zombies.
pub(super) fn children(parent: u32) -> Option<Vec<u32>> {
    // proc(5); the kernel's CONFIG_PROC_CHILDREN, which distributions set.
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let ids = children.ok()?;
    let ids = ids.split_ascii_whitespace();
    Some(ids.filter_map(|id| id.parse().ok()).collect())
}

/// Ids of the orphans of this process, running or zombies; `None` if they are unknown.
#[cfg(not(target_os = "linux"))]
pub(super) fn orphans() -> Option<Vec<u32>> {
    None
}
