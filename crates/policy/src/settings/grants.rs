//! Sockets that `sandbox.sockets` grants by name: their locations, the variables that lead to
//! them, and the messages of programs that cannot reach them.

use std::path::{Path, PathBuf};

use platform::files::{FileKind, FileStatus};
use tools::Missing;

use crate::settings::{self, Here};

/// A program that listens at a socket.
struct Agent {
    /// Its name in `sandbox.sockets`.
    name: &'static str,
    /// Variables with its address; a command that may reach it gets them.
    variables: &'static [&'static str],
    /// Usual locations of its sockets. `$RUNTIME` is the session's runtime folder, and a `*` at
    /// the end matches any name.
    places: &'static [&'static str],
    /// Messages of programs that cannot reach it.
    complaints: &'static [&'static str],
}

const AGENTS: [Agent; 9] = [
    Agent {
        name: "ssh-agent",
        variables: &["SSH_AUTH_SOCK"],
        places: &["$RUNTIME/ssh-agent.socket", "$RUNTIME/keyring/ssh"],
        complaints: &[
            "Could not open a connection to your authentication agent",
            "Error connecting to agent",
            "Permission denied (publickey",
        ],
    },
    Agent {
        name: "gpg-agent",
        variables: &["GPG_AGENT_INFO"],
        places: &["$RUNTIME/gnupg/S.*", "~/.gnupg/S.*"],
        complaints: &[
            "can't connect to the gpg-agent",
            "can't connect to the agent",
            "No agent running",
            "gpg failed to sign the data",
            "gpg: signing failed",
        ],
    },
    Agent {
        name: "tmux",
        variables: &["TMUX", "TMUX_PANE"],
        places: &["/tmp/tmux-$UID/*"],
        complaints: &[
            "error connecting to /tmp/tmux-",
            "no server running on /tmp/tmux-",
        ],
    },
    Agent {
        name: "nvim",
        variables: &["NVIM"],
        places: &[],
        complaints: &["E247: ", "Failed to connect to '"],
    },
    Agent {
        name: "dbus",
        variables: &["DBUS_SESSION_BUS_ADDRESS"],
        places: &["$RUNTIME/bus", "/run/dbus/system_bus_socket"],
        complaints: &[
            "Failed to connect to bus",
            "Cannot autolaunch D-Bus",
            "Could not connect: No such file or directory",
        ],
    },
    Agent {
        name: "docker",
        variables: &["DOCKER_HOST"],
        places: &[
            "/run/docker.sock",
            "/var/run/docker.sock",
            "$RUNTIME/docker.sock",
        ],
        complaints: &["Cannot connect to the Docker daemon", "docker.sock"],
    },
    Agent {
        name: "podman",
        variables: &["CONTAINER_HOST"],
        places: &["/run/podman/podman.sock", "$RUNTIME/podman/podman.sock"],
        complaints: &["Cannot connect to Podman", "podman.sock"],
    },
    Agent {
        name: "x11",
        variables: &["DISPLAY", "XAUTHORITY"],
        places: &["/tmp/.X11-unix/X*"],
        complaints: &[
            "annot open display",
            "an't open display",
            "could not connect to display",
        ],
    },
    Agent {
        name: "wayland",
        variables: &["WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"],
        places: &["$RUNTIME/wayland-*"],
        complaints: &[
            "failed to connect to Wayland",
            "Failed to connect to Wayland",
            "WAYLAND_DISPLAY",
        ],
    },
];

/// Result of resolving the names in `sandbox.sockets`.
#[derive(Debug, Default)]
pub struct Grants {
    /// Paths of the sockets that are granted.
    pub sockets: Vec<PathBuf>,
    /// Signs that a socket was needed that is not granted.
    pub missing: Vec<Missing>,
}

/// Returns the names that `sandbox.sockets` accepts.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    AGENTS.iter().map(|agent| agent.name)
}

/// Returns the variables that belong to granted sockets.
pub fn passed_variables(granted: &[String]) -> impl Iterator<Item = &'static str> {
    let agents = AGENTS
        .iter()
        .filter(|agent| granted.iter().any(|it| it == agent.name));
    agents.flat_map(|agent| agent.variables).copied()
}

/// Resolves `granted`, and returns the signs of what it does not grant.
pub fn of(granted: &[String], here: Here<'_>) -> Grants {
    among(&AGENTS, granted, here)
}

fn among(agents: &[Agent], granted: &[String], here: Here<'_>) -> Grants {
    let mut grants = Grants::default();
    for agent in agents {
        let sockets = agent.sockets();
        if granted.iter().any(|it| it == agent.name) {
            grants.sockets.extend(sockets);
        // If a program is not running, the sandbox is not the reason that it can't be reached.
        } else if !sockets.is_empty() {
            grants.missing.push(agent.missing(&sockets));
        }
    }
    // Names are plain words; everything else is a path.
    let paths = granted.iter().filter(|it| it.starts_with(['/', '~', '$']));
    grants
        .sockets
        .extend(paths.filter_map(|path| settings::folder(path, here)));
    grants
}

impl Agent {
    /// Returns its sockets that exist now.
    fn sockets(&self) -> Vec<PathBuf> {
        let values = self.variables.iter().filter_map(tools::variable_os);
        let named = values.filter_map(|value| {
            let value = value.to_string_lossy().into_owned();
            tools::paths_in(&value)
                .map(PathBuf::from)
                // Variables hold addresses such as `unix:path=/run/…,guid=…`.
                .find(|path| path.is_absolute())
        });
        let usual = self.places.iter().flat_map(|place| places(place));
        let mut sockets: Vec<PathBuf> = named.chain(usual).filter(|path| is_socket(path)).collect();
        // A variable usually leads to one of the usual places.
        sockets.sort();
        sockets.dedup();
        sockets
    }

    fn missing(&self, sockets: &[PathBuf]) -> Missing {
        let paths = sockets.iter().map(|path| path.display().to_string());
        let complaints = self.complaints.iter().map(|it| (*it).to_owned());
        let name = self.name;
        Missing {
            // Most programs print the path that they cannot connect to.
            signs: complaints.chain(paths).collect(),
            note: format!(
                "The sandbox hides {name} from commands. The user can let them reach it with \
                 sandbox.sockets = {{ \"{name}\" }}."
            ),
        }
    }
}

/// Expands one of [`Agent::places`] to paths.
fn places(place: &str) -> Vec<PathBuf> {
    let uid = platform::user::real_id().map_or(String::new(), |it| it.to_string());
    // A session that sets no variable usually has the folder, which systemd makes.
    let runtime = tools::variable("XDG_RUNTIME_DIR").unwrap_or_else(|| format!("/run/user/{uid}"));
    let place = place.replace("$RUNTIME", &runtime).replace("$UID", &uid);
    let place = match (place.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(place),
    };
    let name = place.file_name().and_then(|name| name.to_str());
    let Some(start) = name.and_then(|name| name.strip_suffix('*')) else {
        return vec![place];
    };
    let entries = place.parent().and_then(|folder| folder.read_dir().ok());
    let entries = entries.into_iter().flatten().flatten();
    let named = entries.filter(|it| it.file_name().to_string_lossy().starts_with(start));
    named.map(|it| it.path()).collect()
}

fn is_socket(path: &Path) -> bool {
    FileStatus::at(path).is_ok_and(|it| it.kind == FileKind::Socket)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_is_granted_by_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent");
        let _listener = UnixListener::bind(&path).unwrap();
        let here = Here {
            cwd: folder.path(),
            chat: None,
        };
        for spelled in [path.to_str().unwrap(), "$CWD/agent"] {
            let granted = of(&[spelled.to_owned()], here);
            assert!(granted.sockets.contains(&path), "{spelled}");
        }
    }

    #[test]
    fn a_place_stands_for_all_names_that_begin_like_it() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["S.gpg-agent", "S.scdaemon", "pubring.kbx"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = places(&format!("{}/S.*", folder.path().display()));
        assert_eq!(found.len(), 2);
    }

    /// A program whose sockets begin with `s` in `folder`.
    fn agent(folder: &Path) -> Agent {
        let place: &str = format!("{}/s*", folder.display()).leak();
        Agent {
            name: "x",
            variables: &[],
            places: vec![place].leak(),
            complaints: &["cannot reach x"],
        }
    }

    #[test]
    fn a_program_that_listens_is_granted_by_its_name_or_its_absence_is_explained() {
        let folder = tempfile::tempdir().unwrap();
        let here = Here {
            cwd: folder.path(),
            chat: None,
        };
        let of = |granted: &[&str]| {
            let granted: Vec<String> = granted.iter().map(|it| (*it).to_owned()).collect();
            among(&[agent(folder.path())], &granted, here)
        };
        assert_eq!(of(&[]).missing.len(), 0, "nothing listens");
        std::fs::write(folder.path().join("s.txt"), "").unwrap();
        assert_eq!(of(&[]).missing.len(), 0, "a file is not a socket");

        let path = folder.path().join("s.socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let granted = of(&["x"]);
        assert_eq!(granted.sockets, std::slice::from_ref(&path));
        assert_eq!(granted.missing.len(), 0);
        let other = of(&["y"]);
        assert_eq!(other.sockets.len(), 0);
        let signs = ["cannot reach x".to_owned(), path.display().to_string()];
        assert_eq!(other.missing[0].signs, signs);
        let note = &other.missing[0].note;
        assert!(note.ends_with("sandbox.sockets = { \"x\" }."), "{note}");
    }

    #[test]
    fn a_place_in_the_home_folder_is_that_of_the_user() {
        let home = std::env::home_dir().unwrap();
        assert_eq!(places("~/.x/socket"), [home.join(".x/socket")]);
        assert_eq!(places("/run/x/socket"), [PathBuf::from("/run/x/socket")]);
    }

    #[test]
    fn variables_come_with_the_socket_that_they_lead_to() {
        let granted = ["ssh-agent".to_owned(), "/a/path".to_owned()];
        assert_eq!(
            Vec::from_iter(passed_variables(&granted)),
            ["SSH_AUTH_SOCK"]
        );
    }
}
