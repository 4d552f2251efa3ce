//! What the sandbox of one chat keeps as it is, and what it hides: whatever runs by
//! itself or says what may run, and the sockets of the session.
//!
//! Lists candidates; whether they are there is looked at when a command starts.

use std::path::{Path, PathBuf};

use tools::{Limits, Sandbox};

use crate::protected::Places;
use crate::settings::{Here, SandboxSettings};

/// What holds the calls of a chat.
pub fn of_chat(settings: &SandboxSettings, here: Here<'_>) -> Sandbox {
    if !settings.enabled {
        return Sandbox::off();
    }
    let mut roots = vec![here.cwd];
    roots.extend(here.chat.and_then(Path::parent));
    let mut limits = Limits {
        kept: Places::of_this_user().never_written(&roots),
        ..Limits::default()
    };
    limits.kept.extend(here.chat.map(Path::to_owned));
    hide_sockets(&roots, &mut limits);
    settings.sandbox(here, limits)
}

/// The editor's own socket and those beside it, and the session's where they are not
/// below `/run`, which is empty in any case. A folder that the work is in is not
/// hidden.
fn hide_sockets(roots: &[&Path], limits: &mut Limits) {
    let set = |name| std::env::var_os(name).map(PathBuf::from);
    let holds_work = |folder: &Path| roots.iter().any(|root| root.starts_with(folder));
    if let Some(socket) = set("NVIM") {
        match socket.parent() {
            Some(folder) if !holds_work(folder) => limits.hidden.push(folder.to_owned()),
            _ => limits.masked.push(socket),
        }
    }
    let session = set("XDG_RUNTIME_DIR").filter(|folder| !folder.starts_with("/run"));
    let session = session.filter(|folder| !holds_work(folder));
    limits.hidden.extend(session);
}
