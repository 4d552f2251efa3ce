//! What the options of the sandbox mean for one chat.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use tools::Registry;

use super::*;
use crate::options::Scope;
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
    let no_path = "is no absolute path and begins with none of ~/, $CWD, and $FLEMMA_BUFFER_PATH.";
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
                network: allowed,
                allow_privileged: allowed,
            },
            ..SandboxSettings::default()
        };
        let limits = settings.limits(here, SandboxLimits::default());
        assert_eq!(limits.writable, [Path::new("/usr")]);
        assert_eq!((limits.network, limits.privileged), (allowed, allowed));
    }
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
