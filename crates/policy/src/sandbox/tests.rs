//! The limits of one chat's commands.

use std::collections::BTreeMap;

use super::*;
use crate::settings::SandboxPolicy;

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
fn a_missing_network_is_explained_unless_it_is_allowed() {
    let note = "cuts commands off from the network";
    let explains = |network| {
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
    assert!(explains(false) && !explains(true));
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

/// What is hidden and masked from commands of a project below `/work`.
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
        let paths = |list: &[&str]| -> Vec<PathBuf> { list.iter().map(PathBuf::from).collect() };
        let expected = (paths(folders), paths(sockets));
        assert_eq!(hidden(variables), expected, "{variables:?}");
    }
}

#[test]
fn the_agents_of_ssh_are_hidden() {
    let agents = std::env::home_dir().map(|home| home.join(".ssh/agent"));
    assert!(agents.is_some_and(|agents| usual().hidden.contains(&agents)));
}
