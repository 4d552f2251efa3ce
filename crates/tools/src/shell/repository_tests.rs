//! Repositories as a hostile project may bring them along.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use super::*;

struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(world.top()).unwrap();
        world.git(&["init", "-q", "-b", "main"]);
        world.write("project/src/a.rs", "text\n");
        world.git(&["add", "."]);
        world
    }

    fn home(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn top(&self) -> PathBuf {
        self.home().join("project")
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.home().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn add(&self, name: &str, text: &str) {
        let old = fs::read_to_string(self.home().join(name)).unwrap_or_default();
        self.write(name, &(old + text));
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "protocol.file.allow=always",
        ]);
        git.args(arguments).current_dir(self.top());
        git.env("HOME", self.home()).env("GIT_CONFIG_NOSYSTEM", "1");
        let ran = git.output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }

    fn check(&self, folder: &str) -> Result<(), String> {
        let repositories = Repositories::new(Some(self.home()), None);
        let found = repositories.check(&self.home().join(folder));
        found.map(drop).map_err(|it| it.setting)
    }
}

#[test]
fn what_git_and_its_programs_write_is_harmless() {
    let world = World::new();
    world.git(&["commit", "-qm", "x"]);
    world.git(&["config", "user.name", "A"]);
    world.git(&["remote", "add", "origin", "https://example.com/a.git"]);
    world.git(&["config", "branch.main.remote", "origin"]);
    world.git(&["worktree", "add", "-q", "../other"]);
    world.add("project/.git/config", "[core]\n\thooksPath = .husky/_\n");
    world.write(".gitconfig", "[alias]\n\tx = !id\n[core]\n\teditor = vim\n\tpager = less\n[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n");
    for folder in ["project", "project/src", "other", "."] {
        assert_eq!(world.check(folder), Ok(()), "{folder}");
    }
    for version in ["3", "4"] {
        world.git(&["update-index", "--index-version", version]);
        assert_eq!(world.check("project"), Ok(()));
    }
}

#[test]
fn a_setting_that_names_a_program_is_found_wherever_it_is() {
    for text in [
        "[core]\n\tfsmonitor = ./x\n",
        "[Core]\n\tFSMonitor = ./x\n",
        "[diff]\n\texternal = ./x\n",
        "[diff \"x\"]\n\ttextconv = ./x\n",
        "[diff \"x\"]\n\tcommand = ./x\n",
        "[filter \"x\"]\n\tclean = ./x\n",
        "[filter \"x\"]\n\tprocess = ./x\n",
        "[gpg]\n\tprogram = ./x\n",
        "[gpg \"ssh\"]\n\tprogram = ./x\n",
        "[core]\n\tpager = ./x\n",
        "[pager]\n\tlog = ./x\n",
        "[alias]\n\tstatus = !./x\n",
        "[include]\n\tpath = ../x\n",
        "[includeIf \"gitdir:.\"]\n\tpath = ../x\n",
        "[core]\n\tworktree = ../../.ssh\n",
        "[core]\n\tsshCommand = ./x\n",
        "[core]\n\tattributesFile = ./x\n",
        "[remote \"x\"]\n\turl = ext::sh -c id\n",
        "[remote \"x\"]\n\tpromisor = true\n",
        "[submodule \"x\"]\n\tupdate = !id\n",
        "[format]\n\tpretty = %G?\n",
        "[log]\n\tshowSignature = true\n",
        "[merge \"x\"]\n\tdriver = ./x\n",
        "[trace2]\n\teventTarget = /tmp/x\n",
        "[core] fsmonitor = ./x\n",
        "[core]\nbare = false \\\nfsmonitor = x\n",
    ] {
        let world = World::new();
        world.add("project/.git/config", text);
        assert!(world.check("project/src").is_err(), "{text}");
    }
    for (file, text) in [
        (
            "project/.git/config.worktree",
            "[core]\n\tfsmonitor = ./x\n",
        ),
        ("project/.git/hooks/post-index-change", "#!/bin/sh\n"),
        (".gitconfig", "[diff]\n\texternal = difft\n"),
        (".gitconfig", "[include]\n\tpath = more\n"),
        (".gitconfig", "[pretty]\n\tx = %h %G?\n"),
        (".config/git/config", "[trace2]\n\teventTarget = /tmp/x\n"),
    ] {
        let world = World::new();
        world.write("more", "[diff]\n\texternal = x\n");
        world.write(file, text);
        assert!(world.check("project").is_err(), "{file}: {text}");
    }
}

#[test]
fn the_users_own_filters_ask_once_attributes_name_them() {
    for (file, text) in [
        (
            "project/.gitattributes",
            "*.psd filter=lfs diff=lfs merge=lfs -text\n",
        ),
        ("project/src/.gitattributes", "*.pdf\tdiff=pdf\n"),
        ("project/.git/info/attributes", "* filter=lfs\n"),
        (".config/git/attributes", "*.pdf diff=pdf\n"),
    ] {
        let world = World::new();
        world.write(
            ".gitconfig",
            "[filter \"lfs\"]\n\tprocess = git-lfs x\n[diff \"pdf\"]\n\ttextconv = pdftotext\n",
        );
        assert_eq!(world.check("project"), Ok(()));
        world.write(file, text);
        assert!(world.check("project").is_err(), "{file}");
    }
}

#[test]
fn a_folder_that_is_a_bare_repository_asks() {
    let world = World::new();
    for file in ["HEAD", "objects/x", "refs/x"] {
        world.write(&format!("project/{file}"), "ref: refs/heads/x\n");
    }
    assert!(world.check("project/src").is_err());
    let world = World::new();
    for file in ["bare/HEAD", "bare/commondir"] {
        world.write(&format!("project/{file}"), "x\n");
    }
    assert!(world.check("project/bare").is_err());
    assert_eq!(world.check("project"), Ok(()));
}

#[test]
fn a_submodule_is_looked_into() {
    let world = World::new();
    world.write("project/sub/f", "x");
    let inner = |arguments: &[&str]| {
        world.git(&[&["-C", "sub"], arguments].concat());
    };
    inner(&["init", "-q"]);
    inner(&["add", "."]);
    inner(&["commit", "-qm", "x"]);
    world.git(&["add", "sub"]);
    assert_eq!(world.check("project"), Ok(()));
    world.add("project/sub/.git/config", "[core]\n\tfsmonitor = ./x\n");
    assert_eq!(world.check("project"), Err("core.fsmonitor".to_owned()));
    let index = world.top().join(".git/index");
    let bytes = fs::read(&index).unwrap();
    let name = bytes.windows(3).position(|it| it == b"sub").unwrap();
    let outside = [&bytes[..name], b"../", &bytes[name + 3..]].concat();
    assert!(git_index::parse(&bytes, 20).is_some());
    assert!(git_index::parse(&outside, 20).is_none());
    world.git(&["update-index", "--index-version", "4"]);
    assert!(world.check("project").is_err());
    world.git(&["update-index", "--split-index"]);
    assert!(world.check("project").is_err());
}

#[test]
fn a_file_that_leads_to_a_repository_is_followed() {
    let world = World::new();
    world.write("project/deep/x", "");
    world.write("away/HEAD", "x\n");
    world.write("away/objects/x", "");
    world.write("away/refs/x", "");
    world.write("away/config", "[core]\n\tfsmonitor = ./x\n");
    world.write("project/deep/.git", "gitdir: ../../away\n");
    assert_eq!(
        world.check("project/deep"),
        Err("core.fsmonitor".to_owned())
    );
    world.write("project/deep/.git", "what: x\n");
    assert!(world.check("project/deep").is_err());
}
