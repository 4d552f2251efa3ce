//! Which paths are asked about.
//!
//! Also what commands cannot write, and the places of this process.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// A home, a project in it, and what is in both; removed with the test.
struct World {
    folder: tempfile::TempDir,
    places: Places,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        fs::create_dir_all(home.join("p/src")).unwrap();
        let places = Places {
            editor: [".config/nvim", ".local/share/nvim", ".local/state/nvim"]
                .map(|name| home.join(name).into())
                .into(),
            state: home.join(".local/state/nvim/flemma").into(),
            host: ["bin/flemma", "bin/flemma-leash"]
                .map(|name| home.join(name).into())
                .into(),
            free: [
                ".local/state/nvim/flemma/chat-tmp",
                ".local/state/nvim/flemma/tutor",
            ]
            .map(|name| home.join(name).into())
            .into(),
            tools: Vec::new(),
            home: Some(home),
        };
        Self { folder, places }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("home")
    }

    fn link(&self, link: &str, target: &str) {
        let link = self.home().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(self.home().join(target), link).unwrap();
    }

    /// Why `write` to this path waits, from the folder `p`.
    fn reason(&self, path: &str) -> Option<String> {
        let path = match path.strip_prefix("~/") {
            Some(rest) => self.home().join(rest.trim_start_matches('/')),
            None => self.home().join("p").join(path),
        };
        // A test may have made links since the last call.
        let kind = self.places.clone().kind(&path, &leads_to(&path))?;
        Some(ProtectedFile { path, kind }.to_string())
    }

    #[track_caller]
    fn check(&self, path: &str, asks: bool) {
        assert_eq!(self.reason(path).is_some(), asks, "{path}");
    }
}

#[test]
fn what_a_project_runs_by_itself_is_asked_about_also_when_it_is_missing() {
    let world = World::new();
    for path in [
        ".git/config",
        ".git/hooks/x",
        "sub/.git/hooks/pre-commit",
        ".git",
        ".nvim.lua",
        ".exrc",
        ".envrc",
        "deep/down/.envrc",
        ".vscode/settings.json",
        ".mcp.json",
        ".flemma/tools/x/tool.toml",
        "src/../.envrc",
        "new/../.git/config",
        "./.git//config",
        ".GIT/config",
        ".Envrc",
        ".g\u{200c}it/config",
        ".git./config",
        ".git /hooks/x",
        ".git::$INDEX_ALLOCATION/config",
        "git~1/config",
        ".\u{ff47}it/config",
        ".git/rebase-merge/git-rebase-todo",
        ".husky/pre-commit",
        ".claude/settings.json",
        ".cargo/config.toml",
        "sub/.cargo/config",
        ".luarc.json",
        ".npmrc",
        ".pre-commit-config.yaml",
        ".PRE-COMMIT-CONFIG.YAML",
        ".yarnrc.yml",
        ".devcontainer/devcontainer.json",
    ] {
        world.check(path, true);
    }
}

#[test]
fn what_gits_configuration_names_is_asked_about() {
    let world = World::new();
    let tree = world.home().join("p");
    fs::create_dir_all(tree.join(".git")).unwrap();
    let config = "[core]\nhooksPath = ci/hooks\n[include]\npath = ../local.inc\n[diff \"x\"]\ntextconv = bin/show\n";
    fs::write(tree.join(".git/config"), config).unwrap();
    for path in [
        "ci/hooks/pre-commit",
        "ci/hooks",
        "CI/Hooks/x",
        "local.inc",
        "bin/show",
        "src/../bin/show",
    ] {
        world.check(path, true);
    }
    for path in ["ci/other", "bin/other", "src/main.rs", "hooks/pre-commit"] {
        world.check(path, false);
    }
}

#[test]
fn what_editors_and_shells_run_is_asked_about() {
    let world = World::new();
    for path in [
        "~/.config/nvim/init.lua",
        "~/.local/share/nvim/lazy/x/plugin/y.lua",
        "~/.local/state/nvim/trust",
        "~/.local/state/nvim/flemma/trust.json",
        "~/.local/state/nvim/flemma/tutor/tutor.chat",
        "~/.local/state/nvim/flemma/tutor/.envrc",
        "~/.local/state/nvim/flemma/tutor/../trust.json",
        "~/.bashrc",
        "~/.ssh/authorized_keys",
        "~/.config/fish/config.fish",
        "~/.gitconfig",
        "~/bin/flemma",
        "~/bin/flemma-leash",
        "../.zshenv",
        "/etc/profile.d/x.sh",
    ] {
        world.check(path, true);
    }
}

#[test]
fn conversations_are_asked_about() {
    let world = World::new();
    for path in ["a.chat", "notes/b.CHAT", "/tmp/x.chat"] {
        world.check(path, true);
    }
}

#[test]
fn other_files_are_not() {
    let world = World::new();
    for path in [
        "src/main.rs",
        ".gitignore",
        ".cargo/bin/x",
        "cargo/config.toml",
        "package.json",
        "Makefile",
        ".github/workflows/ci.yml",
        "git/config",
        "chat",
        "a.chat.md",
        "envrc",
        "nvim.lua",
        "~/p/x",
        "~/.config/nvim-old/init.lua",
        "~/.local/share/nvimx",
        "~/bin/flemma2",
        "bashrc",
        "~user/x",
        "~/.local/state/nvim/flemma/tutor/notes.txt",
    ] {
        world.check(path, false);
    }
}

#[test]
fn a_link_is_judged_by_where_it_leads_and_by_its_own_name() {
    let world = World::new();
    world.link("p/innocent", "p/.git/config");
    world.link("p/folder", ".config/nvim");
    world.link("p/there", "p/folder");
    world.link("p/missing", ".bashrc");
    world.link("p/.envrc", "p/harmless");
    world.link("p/fine", "p/src");
    for path in [
        "innocent",
        "folder/init.lua",
        "there/lua/x.lua",
        "missing",
        ".envrc",
    ] {
        world.check(path, true);
    }
    world.check("fine/main.rs", false);
    // `..` behind a link is the parent of where the link leads.
    world.check("folder/../fish/config.fish", true);
}

#[test]
fn a_file_that_a_start_file_or_a_folder_is_a_link_to_is_asked_about() {
    let world = World::new();
    world.link(".bashrc", "dotfiles/bash");
    world.link(".config/nvim", "dotfiles/vim");
    world.check("~/dotfiles/bash", true);
    world.check("~/dotfiles/vim/init.lua", true);
    world.check("~/dotfiles/readme", false);
}

#[test]
fn links_in_a_circle_end() {
    let world = World::new();
    world.link("p/a", "p/b");
    world.link("p/b", "p/a");
    world.check("a", false);
}

#[test]
fn the_reason_can_be_shown() {
    let world = World::new();
    let reason = world.reason("~/.bashrc").unwrap();
    assert!(reason.contains("when a shell or a session starts"));

    let reason = world.reason("x\n\u{1b}]0;\u{7}/.envrc").unwrap();
    assert!(!reason.contains(char::is_control), "{reason:?}");
}

#[test]
fn a_folder_that_git_names_counts_also_where_it_leads_elsewhere() {
    let world = World::new();
    let tree = world.home().join("p");
    fs::create_dir_all(tree.join(".git")).unwrap();
    fs::write(tree.join(".git/config"), "[core]\nhooksPath = ci\n").unwrap();
    world.link("p/ci", "p/scripts");
    world.check("ci/pre-commit", true);
    world.check("scripts/pre-commit", true);
    world.check("other/pre-commit", false);
}

#[test]
fn what_commands_cannot_write_and_cannot_make() {
    let world = World::new();
    let (home, tree) = (world.home(), world.home().join("p"));
    fs::create_dir_all(tree.join(".git")).unwrap();
    fs::write(tree.join(".git/config"), "[core]\nhooksPath = ci\n").unwrap();
    let made = world.places.never_made();
    let written = world.places.never_written(&[&tree]);
    for name in [
        ".bashrc",
        ".ssh",
        ".gnupg",
        ".vim",
        ".config/fish",
        ".config/git",
    ] {
        let path = home.join(name);
        assert!(made.contains(&path) && written.contains(&path), "{name}");
    }
    for name in [
        ".local/state/nvim/flemma",
        ".local/share/nvim",
        "bin/flemma-leash",
        "p/.git/hooks",
        "p/.git/config",
        "p/.envrc",
        "p/.vscode",
        "p/.cargo/config.toml",
        "p/ci",
    ] {
        let path = home.join(name);
        assert!(written.contains(&path) && !made.contains(&path), "{name}");
    }
    assert!(!written.contains(&tree.join(".git")), "Git works there");
    assert_eq!(world.places.named_by_git(&[&tree]), [tree.join("ci")]);
}

#[test]
fn the_scripts_of_tools_are_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().canonicalize().unwrap();
    let script = tools.join("weather/run.sh");
    let files = [(script.clone(), script)];
    let review = |folders| needs_review(&files, folders);
    let reason = review(vec![tools.clone()]).unwrap().to_string();
    let what = "in a folder whose scripts run as tools";
    assert!(reason.contains(what), "{reason}");
    assert_eq!(review(Vec::new()), None);
}

#[test]
fn the_programs_of_this_process_are_protected() {
    let own = std::env::current_exe().unwrap();
    let leash = tools::leash_beside(&own);
    let host: Vec<PathBuf> = Places::of_this_user()
        .host
        .into_iter()
        .map(|it| it.path)
        .collect();
    assert_eq!(host, [own, leash]);
}

#[test]
fn the_names_that_are_protected_everywhere_leave_out_gits_own_folder() {
    let names: Vec<&str> = everywhere().collect();
    assert!(names.contains(&".envrc") && names.contains(&".vscode"));
    assert!(!names.contains(&".git"));
}

#[test]
fn the_places_of_this_process_are_known() {
    let own_state = tools::state_dir::path().join("trust.json");
    assert!(is_protected(&own_state, Path::new("/")));
    let named = |path: PathBuf| (path.clone(), path);
    let other = named(PathBuf::from("/p/src/main.rs"));
    let policy = named(own_state.with_file_name("policy.lua"));
    assert!(needs_review(&[other.clone(), policy], Vec::new()).is_some());
    assert_eq!(needs_review(&[other], Vec::new()), None);
    assert_eq!(needs_review(&[], Vec::new()), None);
    assert!(!is_protected(Path::new("src/main.rs"), Path::new("/p")));
}
