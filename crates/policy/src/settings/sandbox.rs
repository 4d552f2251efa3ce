//! The options of the sandbox, and their meaning for one chat.

use std::path::{Component, Path, PathBuf};

use tools::{Backend, HostList, Network, SandboxLimits, Secrets};

use super::Problems;
use super::grants::{known_names, passed_variables};
use crate::options::{BackendChoice, InvalidOption, NetworkPolicy, SandboxSettings};

/// Location of a chat.
#[derive(Debug, Clone, Copy)]
pub struct Here<'a> {
    /// The editor's working directory.
    pub cwd: &'a Path,
    /// The chat's file.
    pub chat: Option<&'a Path>,
}

const CWD: &str = "$CWD";
pub(super) const BUFFER: &str = "$FLEMMA_BUFFER_PATH";

impl SandboxSettings {
    /// Adds what the user has set to the limits of a chat.
    pub fn limits(&self, here: Here<'_>, limits: SandboxLimits) -> SandboxLimits {
        let paths = self.policy.rw_paths.iter();
        SandboxLimits {
            writable: paths.filter_map(|path| folder(path, here)).collect(),
            network: self.policy.network.limit(),
            privileged: self.policy.allow_privileged,
            ..limits
        }
    }

    /// Returns how commands are sandboxed.
    pub fn backend(&self) -> Backend {
        Backend {
            program: self.backends.bwrap.path.clone(),
            extra: self.backends.bwrap.extra_args.clone(),
            required: self.backend != BackendChoice::Auto,
        }
    }

    /// Returns the files that a chat's calls read only with the user's approval.
    pub fn secrets(&self, here: Here<'_>) -> Secrets {
        let revealed = self.reveal.iter();
        let revealed: Vec<PathBuf> = revealed.filter_map(|path| folder(path, here)).collect();
        Secrets::of_this_user(&revealed)
    }

    /// Reports values that are neither paths nor names of sockets.
    pub(super) fn check(&self, problems: &mut Problems) {
        let mut report = |path: &str, what: String| {
            let message = format!("{path}: {what}");
            problems.invalid.push(InvalidOption::new(path, message));
        };
        let writable = self.policy.rw_paths.iter();
        let writable = writable.map(|path| ("sandbox.policy.rw_paths", path));
        let revealed = self.reveal.iter().map(|path| ("sandbox.reveal", path));
        for (option, path) in writable.chain(revealed) {
            let variables = ["~", CWD, BUFFER];
            let is_known = variables.iter().any(|it| below(path, it).is_some());
            if !is_known && !path.starts_with('/') {
                let what = format!(
                    "\"{path}\" must be an absolute path or begin with ~/, {CWD}, or {BUFFER}."
                );
                report(option, what);
            }
        }
        for name in &self.sockets {
            let is_path = name.starts_with(['/', '~', '$']);
            if !is_path && !known_names().any(|known| known == name) {
                let known: Vec<&str> = known_names().collect();
                let what = format!(
                    "\"{name}\" is neither a path nor one of {}.",
                    known.join(", ")
                );
                report("sandbox.sockets", what);
            }
        }
    }

    /// Returns the names of the additional variables that commands get.
    pub fn passed(&self) -> Vec<String> {
        let granted = passed_variables(&self.sockets).map(str::to_owned);
        self.env.iter().cloned().chain(granted).collect()
    }
}

impl NetworkPolicy {
    /// Returns what commands can reach.
    fn limit(&self) -> Network {
        match self {
            Self::Switch(true) => Network::Everything,
            Self::Switch(false) => Network::Nothing,
            // Invalid entries were reported when the options were read.
            Self::Hosts(hosts) => Network::Listed(HostList::read(&hosts.allow).unwrap_or_default()),
        }
    }

    /// Returns what commands can reach, to follow "commands have".
    pub fn words(&self) -> String {
        match self {
            Self::Switch(true) => "network".to_owned(),
            Self::Hosts(hosts) if !hosts.allow.is_empty() => {
                format!("network only to {}", hosts.allow.join(", "))
            }
            Self::Switch(false) | Self::Hosts(_) => "no network".to_owned(),
        }
    }
}

/// Returns the rest of a path after a variable; it may be empty.
fn below<'a>(path: &'a str, variable: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(variable)?;
    // `$CWDx` and `~name` are other names that only begin with a variable.
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
}

/// Returns the folder that a path of the options means; `None` if it is relative, or refers to a
/// chat without a file.
pub fn folder(path: &str, here: Here<'_>) -> Option<PathBuf> {
    if let Some(rest) = below(path, CWD) {
        return Some(here.cwd.join(rest));
    }
    if let Some(rest) = below(path, BUFFER) {
        // A chat without a file has no folder, so the option grants nothing.
        return Some(tools::chat_folder(here.chat?)?.join(rest));
    }
    if let Some(rest) = below(path, "~") {
        return Some(std::env::home_dir()?.join(rest));
    }
    Some(PathBuf::from(path)).filter(|path| path.is_absolute())
}

/// Returns the path below the home folder that an entry of `tools.bash.trial_home` means. `None` if
/// it means none.
pub(super) fn in_home(entry: &str) -> Option<PathBuf> {
    let home = std::env::home_dir()?;
    let path = match below(entry, "~") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(entry),
    };
    let has_parent = path.components().any(|it| it == Component::ParentDir);
    (path.starts_with(&home) && path != home && !has_parent).then_some(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Value, json};
    use tools::Registry;

    use super::*;
    use crate::options::{Backends, Bwrap, SandboxPolicy, Scope};
    use crate::settings::Settings;

    #[test]
    fn the_variables_stand_for_folders_and_a_chat_without_a_file_has_none() {
        let here = |chat| Here {
            cwd: Path::new("/work"),
            chat,
        };
        let chat = here(Some(Path::new("/notes/a.chat")));
        let is = |path, expected: &str| folder(path, chat) == Some(expected.into());
        assert!(is("$CWD", "/work/") && is("$CWD/target", "/work/target"));
        assert!(is("$FLEMMA_BUFFER_PATH", "/notes") && is("/tmp", "/tmp"));
        assert_eq!(folder("$FLEMMA_BUFFER_PATH", here(None)), None);
        assert_eq!(folder("$CWDx", chat), None);
        assert_eq!(folder("relative", chat), None);
    }

    #[test]
    fn the_home_folder_is_that_of_the_user() {
        let here = Here {
            cwd: Path::new("/work"),
            chat: None,
        };
        let home = std::env::home_dir().unwrap();
        assert_eq!(folder("~/x", here), Some(home.join("x")));
        assert_eq!(folder("~x", here), None);
    }

    #[test]
    fn what_trials_show_of_the_home_folder_is_below_it() {
        let home = std::env::home_dir().unwrap();
        let absolute = home.join("x/y").display().to_string();
        let settings = |entries: &[&str]| {
            let given = json!({"tools": {"bash": {"trial_home": entries}}});
            Settings::examine(&given, Scope::Setup, &Registry::builtin())
        };
        let (valid, problems) = settings(&["~/.config/foo", &absolute]);
        assert!(problems.all().is_empty(), "{problems:?}");
        let here = Here {
            cwd: Path::new("/work"),
            chat: None,
        };
        let shown = [home.join(".config/foo"), home.join("x/y")];
        assert_eq!(valid.bash(here).trial_home, shown);
        for entry in ["~", "~/", "~/../x", "~x", "x", "/etc", "/", "$CWD", ""] {
            let (invalid, problems) = settings(&[entry]);
            let message = format!(
                "tools.bash.trial_home: \"{entry}\" must be a path below your home folder, such as \"~/.config/foo\"."
            );
            assert_eq!(problems.all(), [message]);
            assert!(invalid.bash(here).trial_home.is_empty());
        }
    }

    #[test]
    fn a_path_that_means_no_folder_and_an_unknown_socket_are_reported() {
        let problems = |sandbox: Value| {
            let given = json!({"sandbox": sandbox});
            let (_, problems) = Settings::examine(&given, Scope::Setup, &Registry::builtin());
            problems.all().join(" ")
        };
        let no_path = "must be an absolute path or begin with ~/, $CWD, or $FLEMMA_BUFFER_PATH.";
        for (sandbox, expected) in [
            (
                json!({"policy": {"rw_paths": ["src"]}}),
                format!("sandbox.policy.rw_paths: \"src\" {no_path}"),
            ),
            (
                json!({"reveal": ["$CWDx/.env"]}),
                format!("sandbox.reveal: \"$CWDx/.env\" {no_path}"),
            ),
            (
                json!({"sockets": ["dokcer"]}),
                "sandbox.sockets: \"dokcer\" is neither a path nor one of ssh-agent, gpg-agent, tmux, nvim, dbus, docker, podman, x11, wayland.".to_owned(),
            ),
            (
                json!({
                    "policy": {"rw_paths": ["$CWD", "~/x", "/tmp", "$FLEMMA_BUFFER_PATH/x"]},
                    "reveal": ["$CWD/.env", "/x/.env"],
                    "sockets": ["docker", "/run/x", "~/x", "$CWD/x"],
                }),
                String::new(),
            ),
        ] {
            assert_eq!(problems(sandbox.clone()), expected, "{sandbox}");
        }
    }

    #[test]
    fn the_limits_are_those_of_the_policy() {
        let here = Here {
            cwd: Path::new("/usr"),
            chat: None,
        };
        for allowed in [false, true] {
            let settings = SandboxSettings {
                policy: SandboxPolicy {
                    rw_paths: vec!["$CWD".to_owned(), "$FLEMMA_BUFFER_PATH".to_owned()],
                    network: NetworkPolicy::Switch(allowed),
                    allow_privileged: allowed,
                },
                ..SandboxSettings::default()
            };
            let limits = settings.limits(here, SandboxLimits::default());
            assert_eq!(limits.writable, [Path::new("/usr")]);
            let network = if allowed {
                Network::Everything
            } else {
                Network::Nothing
            };
            assert_eq!((limits.network, limits.privileged), (network, allowed));
        }
    }

    #[test]
    fn listed_hosts_are_reached_and_an_invalid_one_leaves_none() {
        let here = Here {
            cwd: Path::new("/usr"),
            chat: None,
        };
        let examine = |allow: Value| {
            let given = json!({"sandbox": {"policy": {"network": {"allow": allow}}}});
            let (settings, problems) =
                Settings::examine(&given, Scope::Setup, &Registry::builtin());
            let limits = settings.sandbox.limits(here, SandboxLimits::default());
            let words = settings.sandbox.policy.network.words();
            (limits.network, words, problems.all().join(" "))
        };
        let hosts = ["docs.rs", "*.example.org", "localhost:8080"].map(str::to_owned);
        let (network, words, problems) = examine(json!(hosts));
        assert_eq!(network, Network::Listed(HostList::read(&hosts).unwrap()));
        assert_eq!(
            words,
            "network only to docs.rs, *.example.org, localhost:8080"
        );
        assert_eq!(problems, "");
        let nothing = Network::Listed(HostList::default());
        assert_eq!(
            examine(json!([])),
            (nothing.clone(), "no network".to_owned(), String::new())
        );
        for host in [
            "https://docs.rs",
            "*",
            "docs.rs/x",
            "docs.rs:https",
            "a b",
            "",
        ] {
            let (network, _, problems) = examine(json!(["docs.rs", host]));
            assert_eq!(network, nothing);
            let message = format!("sandbox.policy.network.allow: \"{host}\" is not a host.");
            assert!(problems.starts_with(&message), "{problems}");
        }
        assert!(!examine(json!("docs.rs")).2.is_empty());
    }

    #[test]
    fn commands_run_without_a_sandbox_only_where_any_will_do() {
        for (choice, required) in [
            (BackendChoice::Auto, false),
            (BackendChoice::Required, true),
            (BackendChoice::Bwrap, true),
        ] {
            let settings = SandboxSettings {
                backend: choice,
                backends: Backends {
                    bwrap: Bwrap {
                        path: Some("/x/bwrap".into()),
                        extra_args: vec!["--x".to_owned()],
                    },
                },
                ..SandboxSettings::default()
            };
            let expected = Backend {
                program: Some("/x/bwrap".into()),
                extra: vec!["--x".to_owned()],
                required,
            };
            assert_eq!(settings.backend(), expected, "{choice:?}");
        }
    }

    #[test]
    fn commands_get_the_variables_of_the_options_and_of_granted_sockets() {
        let settings = SandboxSettings {
            env: vec!["A".to_owned()],
            sockets: vec!["ssh-agent".to_owned(), "/run/x".to_owned()],
            ..SandboxSettings::default()
        };
        assert_eq!(settings.passed(), ["A", "SSH_AUTH_SOCK"]);
    }
}
