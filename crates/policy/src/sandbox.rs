//! Files that the sandbox of one chat hides or makes read-only: those that run automatically or
//! that define what may run, and the sockets of the session.
//!
//! Lists candidates. The sandbox checks which of them exist when a command starts and when
//! it has ended.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use platform::paths::canonicalize;
use tools::{Missing, Names, Sandbox, SandboxLimits, Tmp};

use crate::options::{NetworkPolicy, SandboxSettings};
use crate::protected::{self, Places};
use crate::settings::{Here, grants};
use crate::sha256;

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

/// Returns the messages which show that a command needed the network, or did not use the proxy.
fn no_network(settings: &SandboxSettings) -> Option<Missing> {
    let signs = [
        "Could not resolve host",
        "Temporary failure in name resolution",
        "Network is unreachable",
        "getaddrinfo EAI_AGAIN",
        "dns error",
    ];
    let note = match &settings.policy.network {
        NetworkPolicy::Switch(true) => return None,
        NetworkPolicy::Switch(false) => {
            "The sandbox cuts commands off from the network. The user can change that with \
             sandbox.policy.network = true."
        }
        NetworkPolicy::Hosts(_) => {
            "The sandbox lets commands reach only the hosts in sandbox.policy.network.allow, and only \
             by HTTP through the proxy in $HTTPS_PROXY. This program did not use it."
        }
    };
    Some(Missing {
        signs: signs.map(str::to_owned).to_vec(),
        note: note.to_owned(),
    })
}

/// Hides the editor's socket and its neighbors, and the session's sockets unless they are
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
            // The work is in the socket's folder, so only the socket itself is hidden.
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
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::options::{NetworkHosts, SandboxPolicy};

    fn here() -> Here<'static> {
        Here {
            cwd: Path::new("/work/project"),
            chat: Some(Path::new("/work/notes/plan.chat")),
        }
    }

    fn usual() -> SandboxLimits {
        limits(&SandboxSettings::default(), here())
    }

    fn paths<const N: usize>(paths: [&str; N]) -> [PathBuf; N] {
        paths.map(PathBuf::from)
    }

    #[test]
    fn the_folders_of_the_work_are_the_working_directory_and_that_of_the_chat() {
        assert_eq!(usual().work, paths(["/work/project", "/work/notes"]));
        let unnamed = Here {
            chat: None,
            ..here()
        };
        let limits = limits(&SandboxSettings::default(), unnamed);
        assert_eq!(limits.work, paths(["/work/project"]));
    }

    #[test]
    fn what_runs_by_itself_is_kept_and_so_is_the_chat() {
        let limits = usual();
        for path in paths([
            "/work/project/.git/hooks",
            "/work/project/.envrc",
            "/work/notes/.vscode",
            "/work/notes/.cargo/config.toml",
            "/work/notes/plan.chat",
        ]) {
            assert!(limits.kept.contains(&path), "{}", path.display());
        }
        assert!(limits.names.kept.iter().any(|name| name == ".envrc"));
        assert!(limits.names.shallow.iter().any(|name| name == "target"));
        let home = std::env::home_dir().unwrap_or_default();
        assert!(limits.never_made.contains(&home.join(".bashrc")));
    }

    #[test]
    fn a_chat_has_a_tmp_of_its_own_in_which_the_work_is_shown() {
        let here = |chat| Here {
            cwd: Path::new("/tmp/project"),
            chat,
        };
        let of = |chat| limits(&SandboxSettings::default(), here(chat));
        let (one, other) = (Path::new("/tmp/a/1.chat"), Path::new("/home/2.chat"));
        let folder = |chat| of(chat).tmp.map(|tmp| tmp.folder);
        // Some systems have a link there, which nothing can be bound to.
        let is_plain = Path::new(TMP)
            .canonicalize()
            .is_ok_and(|it| it == Path::new(TMP));
        assert_eq!(folder(Some(one)).is_some(), is_plain);
        if is_plain {
            assert_ne!(folder(Some(one)), folder(Some(other)));
            assert_eq!(folder(Some(one)), folder(Some(one)));
            let parent = folder(None).and_then(|it| Some(it.parent()?.to_owned()));
            assert!(of(None).hidden.contains(&parent.unwrap_or_default()));
        }
        let shown = of(Some(one)).shown;
        assert!(
            paths(["/tmp/project", "/tmp/a"])
                .iter()
                .all(|it| shown.contains(it))
        );
        assert!(!of(Some(other)).shown.contains(&PathBuf::from("/home")));
    }

    #[test]
    fn work_in_tmp_itself_uses_the_tmp_of_the_machine() {
        let here = Here {
            cwd: Path::new(TMP),
            chat: None,
        };
        assert_eq!(limits(&SandboxSettings::default(), here).tmp, None);
    }

    #[test]
    fn a_missing_network_is_explained_unless_all_of_it_is_allowed() {
        let explains = |network: NetworkPolicy, note: &str| {
            let settings = SandboxSettings {
                policy: SandboxPolicy {
                    network,
                    ..SandboxPolicy::default()
                },
                ..SandboxSettings::default()
            };
            let missing = limits(&settings, here()).missing;
            missing.iter().any(|it| it.note.contains(note))
        };
        let (cut_off, no_proxy) = ("cuts commands off from the network", "did not use it");
        let hosts = NetworkPolicy::Hosts(NetworkHosts::default());
        assert!(explains(NetworkPolicy::Switch(false), cut_off));
        assert!(explains(hosts.clone(), no_proxy) && !explains(hosts, cut_off));
        // The machine's own sockets may be missing as well.
        for note in [cut_off, no_proxy] {
            assert!(!explains(NetworkPolicy::Switch(true), note));
        }
    }

    #[test]
    fn what_the_options_reveal_is_no_secret() {
        let settings = SandboxSettings {
            reveal: vec!["$CWD/.env".to_owned()],
            ..SandboxSettings::default()
        };
        let secrets = of_chat(&settings, here()).secrets();
        assert!(secrets.find(Path::new("/work/project/.env")).is_none());
        assert!(secrets.find(Path::new("/work/notes/.env")).is_some());
    }

    #[test]
    fn granted_sockets_can_be_reached() {
        let settings = SandboxSettings {
            sockets: vec!["/work/agent.socket".to_owned()],
            ..SandboxSettings::default()
        };
        assert_eq!(
            limits(&settings, here()).sockets,
            paths(["/work/agent.socket"])
        );
    }

    #[test]
    fn a_sandbox_that_is_turned_off_holds_nothing() {
        let of = |enabled| {
            let settings = SandboxSettings {
                enabled,
                ..SandboxSettings::default()
            };
            of_chat(&settings, here())
        };
        assert!(of(false).is_off() && !of(true).is_off());
    }

    /// Paths that are hidden and masked from commands of a project below `/work`.
    fn hidden(variables: &[(&str, &str)]) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        let mut limits = SandboxLimits::default();
        let set = |name: &str| variables.get(name).map(PathBuf::from);
        hide_sockets(&[Path::new("/work/project")], set, &mut limits);
        let home = std::env::home_dir().unwrap_or_default();
        limits
            .hidden
            .retain(|path| *path != home.join(".ssh/agent"));
        (limits.hidden, limits.masked)
    }

    #[test]
    fn folders_with_sockets_are_hidden_unless_the_work_is_in_them() {
        for (variables, folders, sockets) in [
            (&[][..], &[][..], &[][..]),
            (&[("NVIM", "/x/nvim.1/0")], &["/x/nvim.1"], &[]),
            (&[("NVIM", "/work/nvim.0")], &[], &["/work/nvim.0"]),
            (&[("XDG_RUNTIME_DIR", "/session")], &["/session"], &[]),
            // Nothing below `/run` can be seen in any case.
            (&[("XDG_RUNTIME_DIR", "/run/user/1")], &[], &[]),
            (&[("XDG_RUNTIME_DIR", "/work")], &[], &[]),
            (&[("TMUX_TMPDIR", "/tmux")], &["/tmux"], &[]),
            (&[("TMUX_TMPDIR", "/tmp/tmux")], &[], &[]),
        ] {
            let paths =
                |list: &[&str]| -> Vec<PathBuf> { list.iter().map(PathBuf::from).collect() };
            let expected = (paths(folders), paths(sockets));
            assert_eq!(hidden(variables), expected, "{variables:?}");
        }
    }

    #[test]
    fn the_agents_of_ssh_are_hidden() {
        let agents = std::env::home_dir().map(|home| home.join(".ssh/agent"));
        assert!(agents.is_some_and(|agents| usual().hidden.contains(&agents)));
    }
}
