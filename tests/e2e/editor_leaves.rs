//! Neovim is killed, quits, or is stopped while tools run: no process outlives it.

use std::fs;

use harness::{Answer, Editor, Provider};
use rustix::process::Signal;

use crate::processes::{commands_in, host, is_running, signal, wait_commands};
use crate::stage::{ask_with, command};
use crate::traces::unasked;

/// A command that starts a child, a background process, and a process in its own session.
const TREE: &str = "setsid -f sleep 3000; (sleep 3001; true) & sleep 3002; true";

/// An editor in which three such commands run, of five processes each.
#[track_caller]
fn with_three_commands(provider: &Provider) -> Editor {
    let editor = ask_with(provider, unasked());
    host(&editor);
    editor.keys("<C-]>");
    wait_commands(&editor, 15);
    editor
}

fn three_calls() -> Provider {
    let mut answer = Answer::new();
    for id in ["toolu_1", "toolu_2", "toolu_3"] {
        answer = answer.tool_use(id, "bash", &command(TREE));
    }
    Provider::anthropic([answer])
}

/// Waits until neither a command nor the host is running. The editor is gone.
#[track_caller]
fn wait_gone(folder: &std::path::Path, host: &[u32]) {
    let deadline = std::time::Instant::now() + harness::PATIENCE;
    let left = || !commands_in(folder).is_empty() || host.iter().any(|&pid| is_running(pid));
    while left() {
        let commands = commands_in(folder);
        assert!(
            std::time::Instant::now() < deadline,
            "left: {commands:?}, host {host:?}"
        );
        std::thread::yield_now();
    }
}

#[test]
fn killing_neovim_ends_its_commands_and_its_host() {
    let provider = three_calls();
    let editor = with_three_commands(&provider);
    let host = host(&editor);
    signal(editor.nvim_pid(), Signal::KILL);
    wait_gone(&editor.dir(), &[host.watcher, host.worker]);
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn quitting_ends_the_commands_and_shows_no_error() {
    let provider = three_calls();
    let editor = with_three_commands(&provider);
    let host = host(&editor);
    // An error at exit would be printed here.
    editor.command(
        "autocmd VimLeave * call writefile(split(execute('messages'), \"\\n\"), 'last words')",
    );
    let last_words = editor.dir().join("last words");
    editor.request("nvim_input", serde_json::json!([":qa!<CR>"]));
    wait_gone(
        &editor.dir(),
        &[host.watcher, host.worker, editor.nvim_pid()],
    );
    let said = fs::read_to_string(last_words).unwrap();
    assert!(
        !said.contains("rror") && !said.contains("stopped"),
        "{said}"
    );
}

#[test]
fn closing_the_chat_ends_its_commands_and_no_others() {
    let provider = three_calls();
    provider.then(Answer::new().tool_use("toolu_9", "bash", &command("sleep 3009; true")));
    let editor = with_three_commands(&provider);
    editor.command("write");
    editor.command("edit other.chat");
    editor.request(
        "nvim_buf_set_lines",
        serde_json::json!([0, 0, -1, true, ["@You:", "Go."]]),
    );
    editor.keys("<C-]>");
    wait_commands(&editor, 17);
    editor.command("bwipeout! question.chat");
    wait_commands(&editor, 2);
    let messages = editor.messages();
    assert!(!messages.contains("rror"), "{messages}");
}
