//! Commands in the real sandbox try to get out.
//!
//! Where bubblewrap is not installed or does not hold, each test says so by name and
//! does nothing more.

mod network;
mod secrets;
mod tmp;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use chat::tool::{ToolOutcome, ToolUseId};
use serde_json::json;
use tools::{Backend, Limits, Sandbox, ScriptFolder, find_out};

use crate::place::{Place, eventually};

/// A folder `inside` that can be written, one `outside` that cannot, or nothing where
/// there is no sandbox here.
fn held(test: &str, change: impl FnOnce(&Path, &mut Limits)) -> Option<Place> {
    if let Err(why) = find_out(&Backend::default()) {
        eprintln!("skipped: {test}: {why}");
        return None;
    }
    let mut place = Place::new();
    let inside = place.path("inside");
    fs::create_dir_all(&inside).unwrap();
    fs::create_dir_all(place.path("outside")).unwrap();
    fs::write(place.path("outside/old"), "old").unwrap();
    let mut limits = Limits {
        writable: vec![inside.clone()],
        ..Limits::default()
    };
    change(&place.path(""), &mut limits);
    place.ctx.cwd = inside;
    place.ctx.sandbox = Arc::new(Sandbox::new(limits, Backend::default()));
    Some(place)
}

async fn bash(place: &Place, command: &str) -> String {
    let input = json!({"label": "", "command": command, "timeout": null});
    place.done("bash", input).await
}

#[tokio::test]
async fn a_command_writes_inside_and_sees_the_rest() {
    let Some(place) = held("a_command_writes_inside_and_sees_the_rest", |_, _| {}) else {
        return;
    };
    let said = bash(&place, "echo new > file && cat file ../outside/old && pwd").await;
    assert!(said.contains("new\nold"), "{said}");
    assert_eq!(place.text("inside/file"), "new\n");
}

/// Each of these must fail, and leave what is outside as it was.
const ESCAPES: [&str; 24] = [
    "echo x > ../outside/new",
    "echo x >> ../outside/old",
    "rm ../outside/old",
    "mv ../outside/old ../outside/new",
    "mv ../outside/old here",
    "truncate -s 0 ../outside/old",
    "chmod 777 ../outside/old",
    "touch -d @0 ../outside/old",
    "ln ../outside/old hard && echo x > hard",
    "ln -s ../outside soft && echo x > soft/new",
    "ln -s ../outside/old soft2 && echo x > soft2",
    "mkdir ../outside/folder",
    "cp /bin/true /usr/local/bin/flemma-escape",
    "echo x > /etc/flemma-escape",
    "echo x > ~/flemma-escape",
    "echo x > /proc/1/root/tmp/flemma-escape",
    "echo x > /proc/self/root/etc/flemma-escape",
    "echo 1 > /proc/sys/kernel/sysrq",
    "mount -t tmpfs none /mnt",
    "mount --bind ../outside .",
    "umount -l /",
    "unshare -Ur true",
    "mknod device b 8 0",
    "chroot /proc/1/root true",
];

#[tokio::test]
async fn no_way_out_of_the_folder_works() {
    let Some(place) = held("no_way_out_of_the_folder_works", |_, _| {}) else {
        return;
    };
    let script: String = ESCAPES
        .iter()
        .map(|it| format!("({it}) >/dev/null 2>&1 && echo 'ESCAPED: {it}'\n"))
        .collect();
    let said = bash(&place, &format!("{script}echo done")).await;
    assert_eq!(said, "done", "{said}");
    assert_eq!(place.text("outside/old"), "old");
    let left = fs::read_dir(place.path("outside")).unwrap().count();
    assert_eq!(left, 1);
}

/// Each of these leaves a file with a setuid or setgid bit where it is not kept from it.
const BITS: [&str; 9] = [
    "cp /bin/true a && chmod u+s a",
    "cp /bin/true b && chmod 2755 b",
    "install -m 4755 /bin/true c",
    "mkdir d && chmod g+s d",
    "python3 -c 'import os; os.open(\"e\", os.O_CREAT | os.O_WRONLY, 0o4755)'",
    "python3 -c 'import os; os.mknod(\"f\", 0o104755)'",
    "cp /bin/true g && python3 -c 'import os; os.fchmod(os.open(\"g\", 0), 0o6755)'",
    "python3 -c 'import ctypes; ctypes.CDLL(None).syscall(452, -100, b\"a\", 0o4755, 0)'",
    // io_uring could open files unseen.
    "python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(425, 1, bytes(120)) < 0)' && touch h && exit 7",
];

#[tokio::test]
#[cfg(target_os = "linux")]
async fn no_file_gets_a_setuid_or_setgid_bit() {
    use std::os::unix::fs::MetadataExt;
    let name = "no_file_gets_a_setuid_or_setgid_bit";
    for privileged in [false, true] {
        let Some(place) = held(name, |_, limits| limits.privileged = privileged) else {
            return;
        };
        if !tools::keeps_from_setuid() {
            eprintln!("skipped: {name}: this kernel takes no filter of system calls");
            return;
        }
        let tries: String = BITS
            .iter()
            .map(|it| format!("({it}) 2>/dev/null\n"))
            .collect();
        // What has nothing to do with such bits works.
        let usual = "touch i && chmod 1777 i && install -m 0755 i j && cp -p j k && mkdir -m 700 l && echo fine";
        let said = bash(&place, &format!("{tries}{usual}")).await;
        assert!(said.starts_with("fine"), "{said}");
        for entry in fs::read_dir(place.path("inside")).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().mode();
            assert_eq!(mode & 0o6000, 0, "{:?} {mode:o}", entry.file_name());
        }
        assert!(!place.path("inside/h").exists());
        let said = bash(&place, "touch x; chmod u+s x").await;
        assert!(said.contains("lets no command set a setuid"), "{said}");
    }
}

#[tokio::test]
async fn a_rebase_goes_on_without_the_commands_that_were_put_into_it() {
    let Some(place) = held("a_rebase_goes_on_without_the_commands", |root, limits| {
        limits.work = vec![root.join("inside")];
    }) else {
        return;
    };
    let git = "git -c user.name=a -c user.email=a@example.org";
    let commits =
        (1..=3).map(|it| format!("echo {it} > f{it} && git add . && {git} commit -qm {it} && "));
    let begin = format!(
        "git init -q . && {}GIT_SEQUENCE_EDITOR='sed -i \"1i break\\nexec touch evil\"' {git} rebase -i HEAD~2",
        commits.collect::<String>()
    );
    let said = bash(&place, &begin).await;
    assert!(
        said.contains("git-rebase-todo had lines that run commands"),
        "{said}"
    );
    let list = "inside/.git/rebase-merge/git-rebase-todo";
    let text = place.text(list);
    assert!(
        text.contains("pick") && !text.contains("touch evil"),
        "{text}"
    );
    assert!(
        place
            .text(&format!("{list}.flemma-held"))
            .contains("exec touch evil")
    );
    // Into the list of a rebase that is under way as well.
    let said = bash(
        &place,
        &format!("printf ' x touch evil' >> {}", &list["inside/".len()..]),
    )
    .await;
    assert!(
        said.contains("git-rebase-todo had lines that run commands"),
        "{said}"
    );
    assert_eq!(place.text(list), text);
    let mut user = std::process::Command::new("git");
    user.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
    let user = user
        .args(["rebase", "--continue"])
        .current_dir(place.path("inside"));
    assert!(user.output().unwrap().status.success());
    assert!(!place.path("inside/evil").exists() && place.path("inside/f3").exists());
}

#[tokio::test]
async fn commands_that_the_user_put_into_a_rebase_stay() {
    let Some(place) = held(
        "commands_that_the_user_put_into_a_rebase_stay",
        |root, limits| {
            limits.work = vec![root.join("inside")];
        },
    ) else {
        return;
    };
    bash(&place, "git init -q .").await;
    let list = "inside/.git/rebase-merge/git-rebase-todo";
    fs::create_dir_all(place.path("inside/.git/rebase-merge")).unwrap();
    fs::write(
        place.path(list),
        "pick 1\nexec make test\npick 2\nexec make test\n",
    )
    .unwrap();
    // As `git rebase --continue` does.
    let said = bash(
        &place,
        "sed -i 1d .git/rebase-merge/git-rebase-todo; echo done",
    )
    .await;
    assert_eq!(said, "done");
    assert_eq!(place.text(list), "exec make test\npick 2\nexec make test\n");
}

#[tokio::test]
async fn what_is_kept_is_not_written_below_what_can_be() {
    let kept = |root: &Path, limits: &mut Limits| {
        fs::create_dir_all(root.join("inside/.git/hooks")).unwrap();
        fs::write(root.join("inside/.git/config"), "old").unwrap();
        let kept = ["inside/.git/hooks", "inside/.git/config"];
        limits.kept = kept.map(|it| root.join(it)).to_vec();
    };
    let Some(place) = held("what_is_kept_is_not_written_below_what_can_be", kept) else {
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
    // What the command was told is no reason that anybody knows.
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
async fn nothing_survives_the_command_not_even_in_a_session_of_its_own() {
    let name = "nothing_survives_the_command_not_even_in_a_session_of_its_own";
    let Some(place) = held(name, |_, _| {}) else {
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
    // The kernel has killed it, and takes its time with that on a busy machine.
    eventually(|| !is_left()).await;
}

#[tokio::test]
async fn a_command_that_fails_or_is_cancelled_tells_it_as_one_that_runs_free_does() {
    let name = "a_command_that_fails_or_is_cancelled_tells_it_as_one_that_runs_free_does";
    let Some(place) = held(name, |_, _| {}) else {
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
async fn scripts_are_held_as_commands_are_and_still_speak_with_the_host() {
    let name = "scripts_are_held_as_commands_are_and_still_speak_with_the_host";
    let Some(place) = held(name, |_, _| {}) else {
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
    let mut folder = ScriptFolder::new(tools::Place {
        root,
        libraries: Vec::new(),
        agreed: None,
    });
    folder.look();
    let mut said = Vec::new();
    for tool in folder.tools() {
        assert!(tool.runs_commands());
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

#[tokio::test]
async fn the_kernel_cannot_be_controlled_whatever_is_writable() {
    let name = "the_kernel_cannot_be_controlled_whatever_is_writable";
    for privileged in [false, true] {
        let everything = |_: &Path, limits: &mut Limits| {
            limits.writable = vec!["/".into()];
            limits.privileged = privileged;
        };
        let Some(place) = held(name, everything) else {
            return;
        };
        // Opened for writing, and nothing written.
        let script = "for file in $(find /proc/[a-z]* /sys/kernel /sys/power /sys/class -maxdepth 4 -type f \
                      ! -path '/proc/self/*' ! -path '/proc/thread-self/*' 2>/dev/null); do \
                      (: >> $file) 2>/dev/null && echo opened $file; done; echo done";
        let said = bash(&place, script).await;
        assert_eq!(said, "done", "privileged: {privileged}");
        let said = bash(&place, "grep CapEff /proc/self/status").await;
        let held = u64::from_str_radix(said.split_whitespace().last().unwrap(), 16).unwrap();
        // SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN, SYS_BOOT, SYS_TIME, MKNOD; see
        // capability.h.
        let dangerous = [16, 17, 19, 21, 22, 25, 27]
            .iter()
            .fold(0, |all, bit| all | 1 << bit);
        assert_eq!(held & dangerous, 0, "{said}");
    }
}

#[tokio::test]
async fn a_file_that_is_replaced_while_it_is_mounted_costs_no_command() {
    let name = "a_file_that_is_replaced_while_it_is_mounted_costs_no_command";
    let kept = |root: &Path, limits: &mut Limits| {
        fs::write(root.join("inside/a.chat"), "chat").unwrap();
        limits.kept = vec![root.join("inside/a.chat")];
    };
    let Some(place) = held(name, kept) else {
        return;
    };
    let (chat, new) = (place.path("inside/a.chat"), place.path("inside/new"));
    let is_over = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let saving = std::thread::spawn({
        let is_over = is_over.clone();
        move || {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                fs::write(&new, "chat").unwrap();
                fs::rename(&new, &chat).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    });
    let mut said = Vec::new();
    for _ in 0..40 {
        said.push(bash(&place, "echo ran >> ran; echo ran").await);
    }
    is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    saving.join().unwrap();
    assert_eq!(said, vec!["ran"; 40]);
    assert_eq!(place.text("inside/ran").lines().count(), 40);
}

#[tokio::test]
async fn a_command_that_lacks_a_grant_is_told_which() {
    let name = "a_command_that_lacks_a_grant_is_told_which";
    let lacks = |_: &Path, limits: &mut Limits| {
        limits.missing = vec![tools::Missing {
            signs: vec!["no agent".to_owned()],
            note: "Grant it with an option.".to_owned(),
        }];
    };
    let Some(place) = held(name, lacks) else {
        return;
    };
    let said = bash(&place, "echo error: no agent; exit 1").await;
    assert!(said.ends_with("[Grant it with an option.]"), "{said}");
    assert!(!bash(&place, "echo fine").await.contains("Grant"));
}

#[tokio::test]
async fn our_own_tools_write_where_commands_may_and_nowhere_else() {
    // No backend is needed for this.
    let mut place = Place::new();
    fs::create_dir_all(place.path("inside")).unwrap();
    fs::create_dir_all(place.path("outside")).unwrap();
    symlink(place.path("outside"), place.path("inside/link")).unwrap();
    fs::write(place.path("outside/old"), "old").unwrap();
    place.ctx.cwd = place.path("inside");
    let limits = Limits {
        writable: vec![place.path("inside")],
        ..Limits::default()
    };
    place.ctx.sandbox = Arc::new(Sandbox::new(limits, Backend::default()));
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
