//! What commands can do in the real sandbox.
//!
//! Without a working bubblewrap, each test prints that it is skipped.

mod escapes;
mod network;
mod overlapping;
mod rebase;
mod secrets;
mod tmp;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use chat::tool::{ToolOutcome, ToolUseId};
use serde_json::json;
use tools::{Backend, Confinement, Network, Sandbox, SandboxLimits, ScriptFolder};

use crate::fixture::{TestFolder, bash, eventually, has_sandbox, skipped};

/// A sandbox with a writable folder `inside` and a read-only folder `outside`. `None` without a
/// working bubblewrap.
fn held(change: impl FnOnce(&Path, &mut SandboxLimits)) -> Option<TestFolder> {
    if !has_sandbox() {
        return None;
    }
    let mut place = TestFolder::new();
    let inside = place.path("inside");
    fs::create_dir_all(&inside).unwrap();
    fs::create_dir_all(place.path("outside")).unwrap();
    fs::write(place.path("outside/old"), "old").unwrap();
    let mut limits = SandboxLimits {
        writable: vec![inside.clone()],
        ..SandboxLimits::default()
    };
    change(&place.path(""), &mut limits);
    place.ctx.files.cwd = inside;
    place.ctx.files.sandbox = Arc::new(Sandbox::new(limits, Backend::default()));
    Some(place)
}

#[tokio::test]
async fn a_command_writes_inside_and_sees_the_rest() {
    let Some(place) = held(|_, _| {}) else {
        return;
    };
    let said = bash(&place, "echo new > file && cat file ../outside/old && pwd").await;
    assert!(said.contains("new\nold"), "{said}");
    assert_eq!(place.text("inside/file"), "new\n");
}

#[tokio::test]
async fn kept_files_in_a_writable_folder_are_read_only() {
    let kept = |root: &Path, limits: &mut SandboxLimits| {
        fs::create_dir_all(root.join("inside/.git/hooks")).unwrap();
        fs::write(root.join("inside/.git/config"), "old").unwrap();
        let kept = ["inside/.git/hooks", "inside/.git/config"];
        limits.kept = kept.map(|it| root.join(it)).to_vec();
    };
    let Some(place) = held(kept) else {
        return;
    };
    let said = bash(
        &place,
        "echo x > .git/hooks/pre-commit; rm -r .git/hooks; mv .git .other; echo x > .git/index
         echo x >> .git/config; rm .git/config; mv .git/config .git/other",
    )
    .await;
    assert_eq!(place.text("inside/.git/config"), "old", "{said}");
    assert!(
        said.contains("Read-only") && !place.path("inside/.other").exists(),
        "{said}"
    );
    // The note names the file, unless the output only contains the words of the error.
    let note = format!("as it is: {}", place.path("inside/.git/config").display());
    assert!(said.contains(&note), "{said}");
    let said = bash(&place, "echo 'x: Read-only file system'; exit 1").await;
    assert!(!said.contains("sandbox"), "{said}");
    assert_eq!(
        fs::read_dir(place.path("inside/.git/hooks"))
            .unwrap()
            .count(),
        0
    );
    assert!(place.path("inside/.git/index").is_file());
}

#[tokio::test]
async fn no_process_outlives_the_command_even_in_its_own_session() {
    let Some(place) = held(|_, _| {}) else {
        return;
    };
    let mark = place.path("inside").display().to_string();
    bash(
        &place,
        &format!("cd /; env -i setsid sh -c 'trap \"\" TERM; sleep 300; : {mark}' >/dev/null 2>&1 & sleep 0.05"),
    )
    .await;
    let is_left = || {
        let mut lines = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let line = fs::read(entry.ok()?.path().join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&line).into_owned())
        });
        lines.any(|line| line.contains(&format!(": {mark}")))
    };
    // Killed by the kernel, which can take a while on a busy machine.
    eventually(|| !is_left()).await;
}

#[tokio::test]
async fn failures_and_cancels_are_reported_as_without_a_sandbox() {
    let Some(place) = held(|_, _| {}) else {
        return;
    };
    assert!(bash(&place, "echo out; exit 3").await.contains("3"));
    let cancel = place.ctx.cancel.clone();
    let call = async {
        place
            .call(
                "bash",
                json!({"label": "", "command": "sleep 60", "timeout": null}),
            )
            .await
    };
    let (outcome, ()) = tokio::join!(call, async move { cancel.cancel() });
    assert!(matches!(outcome, ToolOutcome::Cancelled(_)), "{outcome:?}");
}

#[tokio::test]
async fn script_tools_are_sandboxed_and_reach_the_host() {
    let Some(place) = held(|_, _| {}) else {
        return;
    };
    let root = place.path("tools");
    for (tool, file, script) in [
        (
            "python",
            "s.py",
            "from llmr import mcp\nopen('in.py', 'w').write('x')\ntry:\n    open('../outside/py', 'w')\nexcept OSError as e:\n    mcp.return_string(e.strerror)\n",
        ),
        (
            "shell",
            "s.sh",
            "#!/bin/sh\necho x > in.sh\necho x > ../outside/sh || true\necho said\n",
        ),
    ] {
        fs::create_dir_all(root.join(tool)).unwrap();
        let toml = format!("description = \"d\"\nscript = \"{file}\"\n");
        fs::write(root.join(tool).join("tool.toml"), toml).unwrap();
        fs::write(root.join(tool).join(file), script).unwrap();
    }
    let mut folder = ScriptFolder::new(tools::ScriptRoot {
        root,
        libraries: Vec::new(),
        agreed: None,
    });
    folder.scan();
    let mut said = Vec::new();
    for tool in folder.tools() {
        assert!(tool.traits().runs_commands);
        let id = ToolUseId::new("toolu_01");
        said.push(tools::run(tool, id, json!({}), place.ctx.clone()).await);
    }
    let text = format!("{said:?}");
    assert!(
        text.contains("Read-only file system") && text.contains("said"),
        "{text}"
    );
    assert_eq!(fs::read_dir(place.path("outside")).unwrap().count(), 1);
    assert!(place.path("inside/in.py").exists() && place.path("inside/in.sh").exists());
}

/// Calls `change` every 20 ms on another thread until it is dropped.
struct Meanwhile(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Meanwhile {
    fn new(mut change: impl FnMut() + Send + 'static) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = is_over.clone();
        let thread = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                change();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        Self(is_over, Some(thread))
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        let ended = self.1.take().map(JoinHandle::join);
        assert!(ended.is_none_or(|it| it.is_ok()));
    }
}

#[tokio::test]
async fn a_file_that_is_replaced_during_a_mount_fails_no_command() {
    let kept = |root: &Path, limits: &mut SandboxLimits| {
        fs::write(root.join("inside/a.chat"), "chat").unwrap();
        limits.kept = vec![root.join("inside/a.chat")];
    };
    let Some(place) = held(kept) else {
        return;
    };
    let (chat, new) = (place.path("inside/a.chat"), place.path("inside/new"));
    let saving = Meanwhile::new(move || {
        fs::write(&new, "chat").unwrap();
        fs::rename(&new, &chat).unwrap();
    });
    let mut said = Vec::new();
    for _ in 0..40 {
        said.push(bash(&place, "echo ran >> ran; echo ran").await);
    }
    drop(saving);
    assert_eq!(said, vec!["ran"; 40]);
    assert_eq!(place.text("inside/ran").lines().count(), 40);
}

#[tokio::test]
async fn a_socket_that_vanishes_before_it_is_hidden_fails_no_command() {
    let Some(mut place) = held(|_, _| {}) else {
        return;
    };
    for is_off in [false, true] {
        if is_off {
            let sandbox = Sandbox::clone(&place.ctx.files.sandbox);
            place.ctx.files.sandbox = Arc::new(sandbox.turned_off());
            place.ctx.exec.confinement = Confinement::ReadOnly;
        }
        let folder = place.path("outside/of a server");
        let servers = Meanwhile::new(move || {
            fs::create_dir(&folder).unwrap();
            let listener = UnixListener::bind(folder.join("socket")).unwrap();
            std::thread::sleep(Duration::from_millis(5));
            drop(listener);
            fs::remove_dir_all(&folder).unwrap();
        });
        let mut said = Vec::new();
        for _ in 0..40 {
            said.push(bash(&place, "echo ran").await);
        }
        drop(servers);
        assert_eq!(said, vec!["ran"; 40]);
    }
}

#[tokio::test]
async fn a_chat_that_is_saved_while_a_command_runs_stays_read_only_for_it() {
    let kept = |root: &Path, limits: &mut SandboxLimits| {
        fs::write(root.join("inside/a.chat"), "before").unwrap();
        limits.kept = vec![root.join("inside/a.chat")];
    };
    let Some(place) = held(kept) else {
        return;
    };
    let command = "touch running; until [ -e saved ]; do sleep 0.01; done; echo forged >> a.chat";
    let (chat, running) = (place.path("inside/a.chat"), place.path("inside/running"));
    let saved = place.path("inside/saved");
    let save = async {
        eventually(|| running.exists()).await;
        tools::write_whole(&chat, b"after, and longer").unwrap();
        fs::write(saved, "").unwrap();
    };
    let input = json!({"label": "", "command": command, "timeout": null});
    let (outcome, ()) = tokio::join!(place.call("bash", input), save);
    assert!(
        format!("{outcome:?}").contains("Read-only file system"),
        "{outcome:?}"
    );
    assert_eq!(place.text("inside/a.chat"), "after, and longer");
    // Without a running command, a save replaces the file again.
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    let old = inode(&place.path("inside/a.chat"));
    tools::write_whole(&place.path("inside/a.chat"), b"later").unwrap();
    assert_ne!(inode(&place.path("inside/a.chat")), old);
}

#[tokio::test]
async fn a_missing_grant_is_named_in_the_result() {
    let lacks = |_: &Path, limits: &mut SandboxLimits| {
        limits.missing = vec![tools::Missing {
            signs: vec!["no agent".to_owned()],
            note: "Grant it with an option.".to_owned(),
        }];
    };
    let Some(place) = held(lacks) else {
        return;
    };
    let said = bash(&place, "echo error: no agent; exit 1").await;
    assert!(said.ends_with("[Grant it with an option.]"), "{said}");
    assert!(!bash(&place, "echo fine").await.contains("Grant"));
}

#[tokio::test]
async fn file_tools_write_only_where_commands_may() {
    // Needs no bubblewrap.
    let mut place = TestFolder::new();
    fs::create_dir_all(place.path("inside")).unwrap();
    fs::create_dir_all(place.path("outside")).unwrap();
    symlink(place.path("outside"), place.path("inside/link")).unwrap();
    fs::write(place.path("outside/old"), "old").unwrap();
    place.ctx.files.cwd = place.path("inside");
    let limits = SandboxLimits {
        writable: vec![place.path("inside")],
        ..SandboxLimits::default()
    };
    place.ctx.files.sandbox = Arc::new(Sandbox::new(limits, Backend::default()));
    place
        .done("write", json!({"label": "", "path": "new", "content": "x"}))
        .await;
    for path in ["../outside/new", "link/new", "/etc/flemma-escape"] {
        let outcome = place
            .call("write", json!({"label": "", "path": path, "content": "x"}))
            .await;
        let ToolOutcome::Failed(why) = outcome else {
            panic!("{path}: {outcome:?}")
        };
        assert!(
            why.contains("the sandbox lets files be written only below"),
            "{why}"
        );
    }
    let edit = json!({"label": "", "path": "../outside/old", "oldText": "old", "newText": "new"});
    assert!(matches!(
        place.call("edit", edit).await,
        ToolOutcome::Failed(_)
    ));
    assert_eq!(place.text("outside/old"), "old");
    assert_eq!(place.text("inside/new"), "x");
}
