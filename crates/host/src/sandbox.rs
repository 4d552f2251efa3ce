//! What the sandbox of one chat keeps as it is, and what it hides: whatever runs by
//! itself or says what may run, and the sockets of the session.
//!
//! Lists candidates; whether they are there is looked at when a command starts, and
//! again when it has ended.

use std::path::{Path, PathBuf};

use tools::{Limits, Names, Sandbox};

use crate::protected::{self, Places};
use crate::settings::{Here, SandboxSettings};

/// Folders full of what programs fetched or made. Many packages come with settings of
/// editors, and nobody opens them as a folder of their own.
const SHALLOW: [&str; 7] = [
    "node_modules",
    "target",
    ".venv",
    "venv",
    "__pycache__",
    ".tox",
    ".cache",
];

/// What holds the calls of a chat.
pub fn of_chat(settings: &SandboxSettings, here: Here<'_>) -> Sandbox {
    let mut roots = vec![here.cwd];
    roots.extend(here.chat.and_then(Path::parent));
    let places = Places::of_this_user();
    let mut limits = Limits {
        kept: places.never_written(&roots),
        never_made: [places.never_made(), places.named_by_git(&roots)].concat(),
        work: roots.iter().map(|root| (*root).to_owned()).collect(),
        names: Names {
            kept: protected::everywhere().map(str::to_owned).collect(),
            shallow: SHALLOW.map(str::to_owned).to_vec(),
        },
        ..Limits::default()
    };
    limits.kept.extend(here.chat.map(Path::to_owned));
    hide_sockets(&roots, &mut limits);
    let sandbox = settings.sandbox(here, limits);
    match settings.enabled {
        true => sandbox,
        false => sandbox.turned_off(),
    }
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
