//! Processes of unsandboxed commands: each belongs to the call that started it, even if
//! it hides, and to no other.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use harness::{Answer, Provider};
use rustix::process::Signal;
use serde_json::Value;

use crate::processes::{children, is_running, signal, stop};
use crate::shell::{Shell, end, wait, worker};
use crate::stage::{QUESTION, command};

/// A shell with a chat whose model runs these commands.
fn shell(commands: &[&str]) -> (Shell, Provider) {
    let calls = commands.iter().enumerate();
    let answer = calls.fold(Answer::new(), |answer, (number, line)| {
        let input: Value = command(line);
        answer.tool_use(&format!("t_{number}"), "bash", &input)
    });
    let provider = Provider::anthropic([answer, Answer::says("Well.")]);
    let shell = Shell::new(&provider);
    shell.write("a.chat", QUESTION);
    (shell, provider)
}

const SEND: [&str; 4] = ["send", "--approve", "bash", "a.chat"];

fn pid(shell: &Shell, name: &str) -> u32 {
    shell.read(name).trim().parse().unwrap()
}

#[test]
fn a_process_that_hides_ends_with_its_call() {
    let (shell, _provider) = shell(&[
        "env -i setsid sh -c 'echo $$ > pid; exec sleep 300' > /dev/null 2>&1 & \
         until [ -s pid ]; do :; done; echo started",
    ]);
    let ran = shell.run(&SEND);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let chat = shell.read("a.chat");
    assert!(
        chat.contains("[1 background process was still running"),
        "{chat}"
    );
    assert!(!is_running(pid(&shell, "pid")));
}

/// A leash that was started with the request waits for the first command, as its arguments show. It
/// gives the command what one of its own would have given it.
#[test]
fn the_leash_of_the_first_command_is_started_before_it() {
    let look = "tr '\\0' '\\n' < /proc/$PPID/cmdline | wc -l; pwd; env | sort | grep -v ^FLEMMA_CALL; readlink /proc/self/fd/0";
    let (shell, _provider) = shell(&[look, look]);
    shell.configure("[tools]\nmax_concurrent = 1\n");
    let ran = shell.run(&SEND);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let chat = shell.read("a.chat");
    let results = chat.split("```\n").filter(|it| it.ends_with("/dev/null\n"));
    let results = results.filter_map(|it| it.split_once('\n'));
    let (counts, rest): (Vec<_>, Vec<_>) = results.unzip();
    // The second has the words of its command as well.
    assert_eq!(counts, ["4", "8"], "{chat}");
    assert_eq!(rest[0], rest[1]);
}

/// A request that is not whole, such as one for another version, fails instead of running nothing with success.
#[test]
fn a_leash_reports_a_request_that_it_does_not_know() {
    let folder = tempfile::tempdir().unwrap();
    for (request, code, said) in [("", 0, None), ("half a request", 1, Some("22"))] {
        let report = folder.path().join("report");
        let mut leash = Command::new(env!("CARGO_BIN_EXE_flemma-leash"));
        let leash = leash.args(["--leash", "1"]).arg(&report);
        let mut leash = leash.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = leash.stdin.take().unwrap();
        stdin.write_all(request.as_bytes()).unwrap();
        drop(stdin);
        assert_eq!(leash.wait().unwrap().code(), Some(code));
        let report = std::fs::read_to_string(report).ok();
        assert_eq!(report.as_deref(), said);
    }
}

/// The small program watches a host. Without it, the host's own program does.
#[test]
fn a_host_that_was_killed_is_reported_by_what_watches_it() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let alone = folder.path().join("flemma");
    std::fs::hard_link(env!("CARGO_BIN_EXE_flemma"), &alone).unwrap();
    let watches = |pid: u32| {
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline"));
        words.unwrap_or_default().contains("--watch")
    };
    for (program, is_alone) in [
        (Path::new(env!("CARGO_BIN_EXE_flemma")), false),
        (alone.as_path(), true),
    ] {
        let mut host = Command::new(program);
        host.arg("host").env("XDG_STATE_HOME", folder.path());
        host.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut host = host.spawn().unwrap();
        while children(host.id()).is_empty() || !is_alone && !watches(host.id()) {
            std::thread::yield_now();
        }
        let worker = children(host.id())[0];
        signal(worker, Signal::KILL);
        let code = host.wait().unwrap().code();
        assert_eq!(code, Some(128 + 9), "{}", program.display());
    }
}

#[test]
fn a_call_ends_no_process_of_another_call() {
    let (shell, _provider) = shell(&[
        "(env -i setsid sh -c 'echo $$ > pid; until [ -e go ]; do sleep 0.01; done; echo alive > said' \
         > /dev/null 2>&1 &); until grep -q 'other-is[-]done' a.chat; do sleep 0.01; done; touch go; \
         until [ -s said ]; do sleep 0.01; done; cat said",
        "until [ -s pid ]; do sleep 0.01; done; printf 'other-is-%s' done",
    ]);
    let ran = shell.run(&SEND);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let chat = shell.read("a.chat");
    assert!(chat.contains("\nalive\n"), "{chat}");
}

#[test]
fn a_command_ends_when_both_processes_of_the_host_are_killed() {
    let (shell, _provider) = shell(&[
        "echo $$ > first; env -i setsid sleep 300 > /dev/null 2>&1 & echo $! > second; sleep 300; echo",
    ]);
    let child = shell.start(&SEND);
    wait("the command", || shell.path("second").exists());
    let of_host = [worker(&child), child.id()];
    of_host.iter().for_each(|&id| stop(id));
    of_host.iter().for_each(|&id| signal(id, Signal::KILL));
    end(child);
    let pids = ["first", "second"].map(|name| pid(&shell, name));
    wait("the end of the command", || {
        !pids.iter().any(|&id| is_running(id))
    });
}

#[test]
fn the_leash_goes_last_whichever_process_of_the_host_is_killed_first() {
    for is_watcher_first in [true, false] {
        let (shell, _provider) = shell(&[
            "for i in $(seq 100); do env -i setsid sleep 300 & echo $! >> pids; done > /dev/null 2>&1; \
             echo $PPID > leash; sleep 300; echo",
        ]);
        let child = shell.start(&SEND);
        wait("the command", || {
            shell.path("leash").exists() && !shell.read("leash").is_empty()
        });
        let mut of_host = [worker(&child), child.id()];
        if is_watcher_first {
            of_host.reverse();
        }
        signal(of_host[0], Signal::KILL);
        let leash = pid(&shell, "leash");
        wait("the end of the leash", || !is_running(leash));
        // Nothing would end them if the other one were killed now.
        let pids = shell.read("pids");
        let left = pids.lines().filter(|it| is_running(it.parse().unwrap()));
        assert_eq!(left.count(), 0, "{is_watcher_first}");
        signal(of_host[1], Signal::KILL);
        end(child);
    }
}

#[test]
fn a_supervised_command_reports_how_it_ended() {
    let (shell, _provider) = shell(&["exit 3", "kill -TERM $$"]);
    shell.run(&SEND);
    let chat = shell.read("a.chat");
    for sentence in [
        "Command exited with code 3",
        "Command was killed by SIGTERM",
    ] {
        assert!(chat.contains(sentence), "{chat}");
    }
    shell.configure("[tools.bash]\nshell = \"/nowhere/bash\"\n");
    shell.write("a.chat", QUESTION);
    let ran = shell.run(&["tool", "bash", "{\"command\":\"touch x\"}", "--yes"]);
    assert!(ran.out.contains("could not be started"), "{ran:?}");
}
