//! Protected names: commands can neither change nor create files that run by themselves or
//! control what may run, at any depth.
//!
//! Without a working bubblewrap, each test prints that it is skipped.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::json;
use tools::{Backend, Names, Sandbox, SandboxLimits};

use crate::fixture::{TestFolder, bash, has_sandbox};

/// A folder `work` with a repository, and protected files below it.
fn work() -> Option<TestFolder> {
    if !has_sandbox() {
        return None;
    }
    let mut place = TestFolder::new();
    for (path, text) in [
        ("work/.git/config", "[core]\n"),
        ("work/.git/HEAD", "ref: refs/heads/main\n"),
        ("work/sub/.git/config", "[core]\n"),
        ("work/sub/.git/HEAD", "ref: refs/heads/main\n"),
        ("work/sub/.git/hooks/pre-commit", "old\n"),
        ("work/deep/er/.envrc", "old\n"),
        ("work/deep/real", "old\n"),
        ("work/node_modules/one/two/.keep", ""),
    ] {
        let path = place.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    symlink("real", place.path("work/deep/.mcp.json")).unwrap();
    place.ctx.files.cwd = place.path("work");
    place.ctx.files.sandbox = Arc::new(Sandbox::new(limits(&place), Backend::default()));
    Some(place)
}

fn limits(place: &TestFolder) -> SandboxLimits {
    let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect();
    SandboxLimits {
        writable: vec![place.path("")],
        work: vec![place.path("work")],
        never_made: vec![place.path("home/.bashrc")],
        names: Names {
            kept: words(&[".envrc", ".mcp.json", ".nvim.lua", ".vscode"]),
            shallow: words(&["node_modules"]),
        },
        ..SandboxLimits::default()
    }
}

/// Commands, and the protected file that each one creates, which is renamed afterwards.
const MADE: [(&str, &str); 28] = [
    ("echo x > .envrc", ".envrc"),
    ("echo x > .ENVRC", ".ENVRC"),
    ("echo x > sub/.envrc", "sub/.envrc"),
    (
        "mkdir -p a/b/c && echo x > a/b/c/.mcp.json",
        "a/b/c/.mcp.json",
    ),
    ("mkdir .vscode && echo x > .vscode/tasks.json", ".vscode"),
    ("echo x > y && mv y deep/.nvim.lua", "deep/.nvim.lua"),
    (
        "mkdir z && echo x > z/.envrc && mv z deep/z",
        "deep/z/.envrc",
    ),
    ("echo x > deep/y && ln deep/y deep/.envrc", "deep/.envrc"),
    ("ln -s ../real .nvim.lua", ".nvim.lua"),
    ("ln -s /etc/passwd sub/.mcp.json", "sub/.mcp.json"),
    (
        "rm deep/.mcp.json && echo x > deep/.mcp.json",
        "deep/.mcp.json",
    ),
    ("ln -sfn other deep/.mcp.json", "deep/.mcp.json"),
    (
        "mkdir .git/hooks && echo x > .git/hooks/post-checkout",
        ".git/hooks",
    ),
    (
        "mkdir .git/hooks && ln -s ../../x .git/hooks/a.sample",
        ".git/hooks",
    ),
    ("echo ../evil > .git/commondir", ".git/commondir"),
    (
        "echo '[core] fsmonitor=x' > .git/config.worktree",
        ".git/config.worktree",
    ),
    (
        "mkdir -p n/.git && echo '[core]\nhooksPath=..' > n/.git/config",
        "n/.git/config",
    ),
    (
        "mkdir -p n/.git && cd n/.git && touch HEAD && printf '[core]\\nworktree = /\\n' > config",
        "n/.git/config",
    ),
    ("mkdir n && echo 'gitdir: ../evil' > n/.git", "n/.git"),
    ("mkdir n && ln -s ../evil n/.git", "n/.git"),
    (
        "mkdir -p .git/modules/m/x/hooks && cd .git/modules/m/x && touch HEAD commondir && echo x > hooks/a",
        ".git/modules/m/x/hooks",
    ),
    (
        "mkdir -p bare/objects bare/refs && cd bare && touch HEAD && echo '[alias] x=!y' > config",
        "bare/config",
    ),
    ("echo x > node_modules/.envrc", "node_modules/.envrc"),
    (
        "touch -r deep t && echo x > deep/.envrc && touch -r t deep",
        "deep/.envrc",
    ),
    (
        "for i in $(seq 1500); do mkdir d$i; done; echo x > d999/.envrc",
        "d999/.envrc",
    ),
    ("(echo x > .envrc) & wait", ".envrc"),
    ("echo x > ../.envrc", "../.envrc"),
    (
        "mkdir ../home && echo x > ../home/.bashrc",
        "../home/.bashrc",
    ),
];

#[tokio::test]
async fn no_command_creates_a_protected_file_anywhere() {
    for (command, made) in MADE {
        let Some(place) = work() else { return };
        let was = fs::read_link(place.path("work").join(made)).ok();
        let said = bash(&place, command).await;
        assert!(said.contains("files came into being"), "{command}: {said}");
        let made = place.path("work").join(made);
        let held = made.with_file_name(format!(
            "{}.flemma-held",
            made.file_name().unwrap().to_str().unwrap()
        ));
        assert!(fs::symlink_metadata(&held).is_ok(), "{command}: {said}");
        assert!(fs::symlink_metadata(&made).is_err(), "{command}: {was:?}");
        let again = bash(&place, "true").await;
        assert!(!again.contains("came into being"), "{command}: {again}");
    }
}

/// Commands that would change existing protected files, which fails without a note.
const KEPT: [&str; 12] = [
    "echo x > deep/er/.envrc",
    "rm -f deep/er/.envrc",
    "mv deep/er/.envrc deep/er/y",
    "mv deep/er deep/other",
    "rm -rf deep/er",
    "mv deep other",
    "echo x > y && mv y deep/er/.envrc",
    "echo x > deep/.mcp.json",
    "echo x > sub/.git/hooks/post-checkout",
    "echo x > sub/.git/hooks/pre-commit",
    "echo x >> sub/.git/config",
    "mv sub/.git sub/other",
];

#[tokio::test]
async fn existing_protected_files_are_read_only_anywhere() {
    let Some(place) = work() else { return };
    for command in KEPT {
        let said = bash(&place, &format!("({command}) 2>/dev/null && echo WENT")).await;
        assert!(!said.contains("WENT"), "{command}: {said}");
        assert!(!said.contains("came into being"), "{command}: {said}");
    }
    for (path, text) in [
        ("work/deep/er/.envrc", "old\n"),
        ("work/deep/real", "old\n"),
        ("work/sub/.git/hooks/pre-commit", "old\n"),
        ("work/sub/.git/config", "[core]\n"),
    ] {
        assert_eq!(place.text(path), text, "{path}");
    }
    assert!(!place.path("work/sub/.git/hooks/post-checkout").exists());
}

#[tokio::test]
async fn ordinary_work_with_git_is_not_affected() {
    let has_git = Command::new("git").arg("--version").output().is_ok();
    let Some(place) = work().filter(|_| has_git) else {
        return;
    };
    for command in [
        "git init -q new && cd new && git config --get core.bare",
        "git clone -q new copy 2>&1; git -C copy config --get remote.origin.url",
        "cd new && git -c user.name=A -c user.email=a@b commit -q --allow-empty -m x && git worktree add -q ../tree 2>&1",
        "git -C copy config user.name A && git -C new remote add other ../copy",
        "git -C copy -c protocol.file.allow=always submodule --quiet add $PWD/new part 2>&1; git -C copy submodule status",
        "git clone -q --filter=blob:none --sparse file://$PWD/new thin 2>&1; git -C thin log --oneline | wc -l",
        "git -C tree status --short && git -C tree log --oneline | wc -l",
        "mkdir -p src/.github && echo x > src/.gitignore && echo x > src/.env",
        "rm -rf copy new thin tree src",
    ] {
        let said = bash(&place, command).await;
        assert!(!said.contains("came into being"), "{command}: {said}");
        assert!(!said.contains("exited with code"), "{command}: {said}");
    }
}

#[tokio::test]
async fn files_of_commands_may_change_while_they_are_harmless() {
    let Some(place) = work() else { return };
    let made =
        "mkdir -p n/.git && cd n/.git && touch HEAD && printf '[core]\\nbare = false\\n' > config";
    assert_eq!(bash(&place, made).await, "(no output)");
    let said = bash(&place, "printf 'hooksPath = ..' >> n/.git/config").await;
    assert!(said.contains("n/.git/config was renamed to"), "{said}");
    fs::rename(
        place.path("work/n/.git/config.flemma-held"),
        place.path("work/n/.git/config"),
    )
    .unwrap();
    let said = bash(&place, "echo >> n/.git/config").await;
    assert!(said.contains("Read-only"), "{said}");
}

#[tokio::test]
async fn files_that_the_user_creates_or_restores_are_kept() {
    let Some(place) = work() else { return };
    let held = place.path("work/sub/.envrc.flemma-held");
    bash(&place, "echo x > sub/.envrc").await;
    fs::rename(held, place.path("work/sub/.envrc")).unwrap();
    fs::write(place.path("work/.nvim.lua"), "mine").unwrap();
    let said = bash(&place, "echo y > sub/.envrc; echo y > .nvim.lua").await;
    assert!(said.contains("Read-only"), "{said}");
    assert!(!said.contains("came into being"), "{said}");
    assert_eq!(place.text("work/sub/.envrc"), "x\n");
    assert_eq!(place.text("work/.nvim.lua"), "mine");
}

#[tokio::test]
async fn cancelled_and_parallel_commands_create_no_protected_file() {
    let Some(place) = work() else { return };
    let made = place.path("work/sub/.envrc");
    let cancel = place.ctx.cancel.clone();
    let waits = async {
        while !made.exists() {
            tokio::task::yield_now().await;
        }
        // The file exists when this command starts, but doesn't count as the user's.
        let said = bash(&place, "cat sub/.envrc").await;
        assert_eq!(said, "x");
        assert!(made.exists());
        cancel.cancel();
    };
    let input = json!({"label": "", "command": "echo x > sub/.envrc; sleep 60", "timeout": null});
    let (outcome, ()) = tokio::join!(place.call("bash", input), waits);
    assert!(
        format!("{outcome:?}").contains("came into being"),
        "{outcome:?}"
    );
    assert!(!made.exists() && is_there(&place, "work/sub/.envrc.flemma-held"));
}

#[tokio::test]
async fn files_that_file_tools_write_during_a_command_are_kept() {
    let Some(place) = work() else { return };
    let wait = "touch begun; until [ -e go ]; do sleep 0.01; done; echo x > .nvim.lua; echo x >> sub/.mcp.json";
    let writes = async {
        while !is_there(&place, "work/begun") {
            tokio::task::yield_now().await;
        }
        for path in [".envrc", ".vscode/tasks.json", "sub/.mcp.json"] {
            let input = json!({"label": "", "path": path, "content": "mine\n"});
            place.done("write", input).await;
        }
        fs::write(place.path("work/go"), "").unwrap();
    };
    let (said, ()) = tokio::join!(bash(&place, wait), writes);
    assert_eq!(place.text("work/.envrc"), "mine\n", "{said}");
    assert_eq!(place.text("work/.vscode/tasks.json"), "mine\n");
    // A file that the command changed afterwards counts as the command's.
    assert_eq!(place.text("work/sub/.mcp.json.flemma-held"), "mine\nx\n");
    assert!(is_there(&place, "work/.nvim.lua.flemma-held"));
}

fn is_there(place: &TestFolder, path: &str) -> bool {
    Path::new(&place.path(path)).exists()
}
