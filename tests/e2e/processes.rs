//! Processes by `/proc`: parents, children, and working directories. Signals go only to
//! single processes that these tests started. Linux only.

use std::path::Path;
use std::{fs, io};

use harness::Editor;
pub use harness::is_running;
use rustix::process::{Pid, Signal, kill_process};

/// Sends a signal to one process, if it still exists.
pub fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let _ = kill_process(pid, signal);
}

/// Stops one process and waits until all its threads have stopped: the signal reaches one
/// thread, which then stops the others.
pub fn stop(pid: u32) {
    signal(pid, Signal::STOP);
    let state = |stat: String| stat.rsplit(") ").next()?.chars().next();
    let has_stopped = |thread: io::Result<fs::DirEntry>| {
        let stat = fs::read_to_string(thread.unwrap().path().join("stat"));
        // A thread that has ended counts as stopped.
        stat.ok()
            .and_then(state)
            .is_none_or(|it| "TZX".contains(it))
    };
    let threads = || fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    while !threads().all(has_stopped) {
        std::thread::yield_now();
    }
}

/// The two processes of a host.
pub struct Host {
    pub watcher: u32,
    pub worker: u32,
}

/// Waits for the host's first message, and returns its processes.
#[track_caller]
pub fn host(editor: &Editor) -> Host {
    let mut found = None;
    editor.wait_for("a host that has answered", |editor| {
        found = editor.host_pid().and_then(|watcher| {
            let worker = *children(watcher).first()?;
            is_ready(editor).then_some(Host { watcher, worker })
        });
        found.is_some()
    });
    found.unwrap()
}

/// Waits for another host than the one with this watcher.
#[track_caller]
pub fn next_host(editor: &Editor, old: &Host) -> Host {
    editor.wait_for("another host", |editor| {
        is_ready(editor) && editor.host_pid().is_some_and(|pid| pid != old.watcher)
    });
    host(editor)
}

fn is_ready(editor: &Editor) -> bool {
    let code = "local host = package.loaded['flemma.host'] return host ~= nil and host.state().welcome ~= nil";
    editor.lua(code, &serde_json::json!([])) == serde_json::json!(true)
}

/// The direct children of a process.
pub fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    list.unwrap_or_default()
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// The processes of commands: all processes with a working directory below `folder`, even detached
/// ones, except the editor and its host.
pub fn commands_in(folder: &Path) -> Vec<u32> {
    let folder = folder.to_string_lossy().into_owned();
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let works = fs::read_link(format!("/proc/{pid}/cwd"));
            // The link still names a deleted folder.
            works.is_ok_and(|it| it.to_string_lossy().starts_with(&folder))
                && !is_ours(*pid)
                && is_running(*pid)
        })
        .collect()
}

/// Returns true for the editor, its host, and leashes. The host may start one at any time, which is
/// another thread of the host before it is another program.
pub fn is_ours(pid: u32) -> bool {
    let ours = ["nvim", "flemma", "flemma-leash"];
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let program = program.file_name().unwrap_or_default();
    ours.contains(&name.trim_end()) || ours.iter().any(|it| program == *it)
}

/// Waits until there are `count` processes of commands.
#[track_caller]
pub fn wait_commands(editor: &Editor, count: usize) -> Vec<u32> {
    let folder = editor.dir();
    editor.wait_for(&format!("{count} processes of commands"), |_| {
        commands_in(&folder).len() == count
    });
    commands_in(&folder)
}
