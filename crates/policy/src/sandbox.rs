//! What the sandbox of one chat makes read-only or hides: files that run automatically or
//! that define what may run, and the sockets of the session.
//!
//! Lists candidates. The sandbox checks which of them exist when a command starts and when
//! it has ended.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use platform::paths::canonicalize;
use tools::{Missing, Names, Sandbox, SandboxLimits, Tmp};

use crate::digest::sha256;
use crate::protected::{self, Places};
use crate::settings::{Here, SandboxSettings, grants};

/// Folders with downloaded or generated files. Many packages contain settings of editors,
/// which take effect only if the package itself is opened as a folder.
const SHALLOW: [&str; 7] = [
    "node_modules",
    "target",
    ".venv",
    "venv",
    "__pycache__",
    ".tox",
    ".cache",
];

/// The folder of which each chat has its own.
const TMP: &str = "/tmp";
/// Digits of the digest that names a chat's folder.
const DIGITS: usize = 16;

/// Returns the sandbox of a chat. Its limits are found on first use, because that takes many
/// accesses to the disk.
pub fn of_chat(settings: &SandboxSettings, here: Here<'_>) -> Sandbox {
    let (cwd, chat) = (here.cwd.to_owned(), here.chat.map(Path::to_owned));
    let limits = {
        let settings = settings.clone();
        move || {
            let here = Here {
                cwd: &cwd,
                chat: chat.as_deref(),
            };
            settings.limits(here, limits(&settings, here))
        }
    };
    let secrets = Arc::new(settings.secrets(here));
    let sandbox = Sandbox::lazy(secrets, limits, settings.backend());
    if settings.enabled {
        sandbox
    } else {
        // Turned off, not absent: commands that only read are still sandboxed.
        sandbox.turned_off()
    }
}

fn limits(settings: &SandboxSettings, here: Here<'_>) -> SandboxLimits {
    let mut roots = vec![here.cwd];
    // The chat may be outside of the current folder.
    let beside = here.chat.and_then(Path::parent);
    roots.extend(beside.filter(|it| *it != here.cwd));
    let places = Places::of_this_user();
    let grants = grants::of(&settings.sockets, here);
    let mut limits = SandboxLimits {
        kept: places.never_written(&roots),
        // A command could create a missing file that Git's configuration names.
        never_made: [places.never_made(), places.named_by_git(&roots)].concat(),
        work: roots.iter().map(|root| (*root).to_owned()).collect(),
        names: Names {
            kept: protected::everywhere().map(str::to_owned).collect(),
            shallow: SHALLOW.map(str::to_owned).to_vec(),
        },
        tmp: own_tmp(&roots, here),
        shown: shown(&roots),
        sockets: grants.sockets,
        missing: grants.missing,
        ..SandboxLimits::default()
    };
    limits.missing.extend(no_network(settings));
    // A command that writes to the chat could approve its own calls.
    limits.kept.extend(here.chat.map(Path::to_owned));
    let set = |name: &str| tools::variable_os(name).map(PathBuf::from);
    hide_sockets(&roots, set, &mut limits);
    limits
}

/// Returns the `/tmp` of a chat; `None` if the project is `/tmp` itself, because the user works
/// with the files there.
fn own_tmp(roots: &[&Path], here: Here<'_>) -> Option<Tmp> {
    let is_tmp = |root: &&Path| tools::leads_to(root) == Path::new(TMP);
    // If `/tmp` is a link, a folder mounted there would appear in another place.
    let is_plain = canonicalize(Path::new(TMP)).is_ok_and(|it| it == Path::new(TMP));
    if roots.iter().any(is_tmp) || !is_plain {
        return None;
    }
    let key = here
        .chat
        // A digest needs no escapes and has a fixed length.
        .map(|chat| sha256(chat.as_os_str().as_encoded_bytes()));
    let key = key.as_ref().and_then(|digest| digest.get(..DIGITS));
    Some(Tmp {
        folder: tools::tmp_folder(key),
        writable: false,
    })
}

/// Returns the folders below `/tmp` in which the user works.
fn shown(roots: &[&Path]) -> Vec<PathBuf> {
    let home = std::env::home_dir();
    let roots = roots.iter().map(|root| (*root).to_owned()).chain(home);
    roots.filter(|path| path.starts_with(TMP)).collect()
}

/// Returns the messages which show that a command needed the network.
fn no_network(settings: &SandboxSettings) -> Option<Missing> {
    let signs = [
        "Could not resolve host",
        "Temporary failure in name resolution",
        "Network is unreachable",
        "getaddrinfo EAI_AGAIN",
        "dns error",
    ];
    (!settings.policy.network).then(|| Missing {
        signs: signs.map(str::to_owned).to_vec(),
        note: "The sandbox cuts commands off from the network. The user can change that with \
               sandbox.policy.network = true."
            .to_owned(),
    })
}

/// Hides the editor's socket and those beside it, and the session's sockets unless they are
/// below `/run`, which is empty anyway. A folder that contains the work is not hidden. `set`
/// returns the value of a variable.
fn hide_sockets(
    roots: &[&Path],
    set: impl Fn(&str) -> Option<PathBuf>,
    limits: &mut SandboxLimits,
) {
    let holds_work = |folder: &Path| roots.iter().any(|root| root.starts_with(folder));
    if let Some(socket) = set("NVIM") {
        match socket.parent() {
            Some(folder) if !holds_work(folder) => limits.hidden.push(folder.to_owned()),
            // The work is beside the socket, so only the socket itself is hidden.
            _ => limits.masked.push(socket),
        }
    }
    let session = set("XDG_RUNTIME_DIR").filter(|folder| !folder.starts_with("/run"));
    // Agents that are started after the command listen there.
    let agents = std::env::home_dir().map(|home| home.join(".ssh/agent"));
    let multiplexers = set("TMUX_TMPDIR").filter(|folder| !folder.starts_with(TMP));
    let folders = [session, agents, multiplexers].into_iter().flatten();
    limits
        .hidden
        .extend(folders.filter(|folder| !holds_work(folder)));
    // It contains the folders of all chats.
    let tmp = limits.tmp.as_ref().and_then(|tmp| tmp.folder.parent());
    limits.hidden.extend(tmp.map(Path::to_owned));
}

#[cfg(test)]
mod tests;
