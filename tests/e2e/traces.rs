//! What a chat and its commands leave behind, for tests that ask how often
//! something happened and what is left of it.

use std::fs;

use harness::Editor;
use serde_json::{Value as Json, json};

/// Arguments of a `bash` call that leaves a line in the file `ran`, then does `rest`.
pub fn counted(rest: &str) -> Json {
    crate::stage::command(&format!("echo ran >> ran; {rest}"))
}

/// How often a [`counted`] call ran.
pub fn runs(editor: &Editor) -> usize {
    let ran = fs::read_to_string(editor.dir().join("ran")).unwrap_or_default();
    ran.lines().count()
}

/// The option that lets every call run without a question.
pub fn unasked() -> Json {
    json!({"tools": {"require_approval": false}})
}

/// Waits until the host has handled every message. Calls that wait go on waiting, one
/// that runs is cancelled.
#[track_caller]
pub fn settle(editor: &Editor) {
    editor.command("messages clear");
    editor.wait_for("a host with nothing to do", |editor| {
        editor.command("Flemma tool:cancel");
        editor.messages().contains("No tool is running here.")
    });
    wait_unlocked(editor);
}

/// Ends all that runs and waits, as Ctrl-C does.
#[track_caller]
pub fn stop(editor: &Editor) {
    editor.command("messages clear");
    press_cancel(editor, "a host with nothing to do", |editor| {
        editor.messages().contains("Nothing is running here.")
    });
    wait_unlocked(editor);
}

/// Waits until a call is up for review and the host has nothing more to do: the
/// sign at the call is the last that it sends.
#[track_caller]
pub fn wait_review(editor: &Editor) {
    editor.wait_for("a call with the sign of review", |editor| {
        let signs = editor.virtual_text();
        editor.text().contains("status=pending") && signs.iter().any(|it| it.text.contains('●'))
    });
}

/// Waits until a call is seen to run, by the seconds that count beside it.
#[track_caller]
pub fn wait_running(editor: &Editor) {
    editor.wait_for("a call with its seconds", |editor| {
        let signs = editor.virtual_text();
        signs.iter().any(|it| it.text.trim_end().ends_with('s'))
    });
}

/// Presses Ctrl-C until it shows: Neovim takes one that comes while it is busy for
/// an interrupt, and no mapping sees it.
#[track_caller]
pub fn press_cancel(editor: &Editor, what: &str, shows: impl Fn(&Editor) -> bool) {
    editor.wait_for(what, |editor| {
        editor.keys("<C-c>");
        shows(editor)
    });
}

/// Waits until the chat can be changed: it is locked while calls run.
#[track_caller]
pub fn wait_unlocked(editor: &Editor) {
    editor.wait_for("a chat that can be changed", |editor| {
        editor.lua("return vim.bo.modifiable", json!([])) == json!(true)
    });
}

/// Kills the host as soon as a line that contains `text` is written: the next
/// thing that the host hears of is nothing.
pub fn kill_host_at(editor: &Editor, host: &crate::processes::Host, text: &str) {
    let code = "
        local text, pids = ...
        vim.api.nvim_buf_attach(0, false, { on_lines = function(_, buffer, _, first, _, last)
          local lines = vim.api.nvim_buf_get_lines(buffer, first, last, false)
          if table.concat(lines, '\\n'):find(text, 1, true) then
            for _, pid in ipairs(pids) do vim.uv.kill(pid, 'sigkill') end
            return true
          end
        end })
    ";
    editor.lua(code, json!([text, [host.worker, host.watcher]]));
}

/// A piece of shell that waits until [`open_gate`] is called with the same name.
pub fn gate(name: &str) -> String {
    format!("mkfifo {name}; cat {name} > /dev/null")
}

/// Waits until a command stands at a [`gate`].
#[track_caller]
pub fn wait_gate(editor: &Editor, name: &str) {
    let path = editor.dir().join(name);
    editor.wait_for("a command at its gate", |_| path.exists());
}

/// Lets a command that stands at a [`gate`] go on.
#[track_caller]
pub fn open_gate(editor: &Editor, name: &str) {
    wait_gate(editor, name);
    fs::write(editor.dir().join(name), "go\n").unwrap();
}

/// Waits until no request is open, as a status line shows it.
#[track_caller]
pub fn wait_request_over(editor: &Editor) {
    editor.wait_for("the end of the request", |editor| {
        let said = editor.lua(
            "return require('flemma.notices').text(vim.api.nvim_get_current_buf())",
            json!([]),
        );
        // While one is open its state stands there; afterwards, what it took.
        !said.as_str().unwrap_or_default().contains(": ")
    });
}
