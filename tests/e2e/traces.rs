//! Helpers that count how often a command ran and check what it left behind.

use std::fs;

use harness::Editor;
use serde_json::{Value as Json, json};

/// Arguments of a `bash` call that adds a line to the file `ran` and then runs `rest`.
pub fn counted(rest: &str) -> Json {
    crate::stage::command(&format!("echo ran >> ran; {rest}"))
}

/// How often a [`counted`] call ran.
pub fn runs(editor: &Editor) -> usize {
    let ran = fs::read_to_string(editor.dir().join("ran")).unwrap_or_default();
    ran.lines().count()
}

/// Options that approve every call.
pub fn unasked() -> Json {
    json!({"tools": {"require_approval": false}})
}

/// Waits until the host has handled every message. Pending calls stay pending, and a
/// running one is cancelled.
#[track_caller]
pub fn settle(editor: &Editor) {
    editor.command("messages clear");
    editor.wait_for("a host with nothing to do", |editor| {
        editor.command("Flemma tool:cancel");
        editor.messages().contains("No tool is running here.")
    });
    wait_unlocked(editor);
}

/// Cancels all running and pending calls with Ctrl-C.
#[track_caller]
pub fn stop(editor: &Editor) {
    editor.command("messages clear");
    press_cancel(editor, "a host with nothing to do", |editor| {
        editor.messages().contains("Nothing is running here.")
    });
    wait_unlocked(editor);
}

/// Waits until a call is pending and the host is idle: the sign at the call is its last
/// message.
#[track_caller]
pub fn wait_review(editor: &Editor) {
    editor.wait_for("a call with the sign of review", |editor| {
        let signs = editor.virtual_text();
        editor.text().contains("status=pending") && signs.iter().any(|it| it.text.contains('●'))
    });
}

/// Waits until a call shows the seconds that it has been running.
#[track_caller]
pub fn wait_running(editor: &Editor) {
    editor.wait_for("a call with its seconds", |editor| {
        let signs = editor.virtual_text();
        signs.iter().any(|it| it.text.trim_end().ends_with('s'))
    });
}

/// Presses Ctrl-C until `shows` is true: a busy Neovim treats the key as an interrupt and
/// runs no mapping.
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
        editor.lua("return vim.bo.modifiable", &json!([])) == json!(true)
    });
}

/// Kills the host as soon as a line that contains `text` is written, before it receives
/// anything else.
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
    editor.lua(code, &json!([text, [host.worker, host.watcher]]));
}

/// A shell command that waits until [`open_gate`] is called with the same name.
pub fn gate(name: &str) -> String {
    format!("mkfifo {name}; cat {name} > /dev/null")
}

/// Waits until a command has reached its [`gate`].
#[track_caller]
pub fn wait_gate(editor: &Editor, name: &str) {
    let path = editor.dir().join(name);
    editor.wait_for("a command at its gate", |_| path.exists());
}

/// Lets a command at its [`gate`] continue.
#[track_caller]
pub fn open_gate(editor: &Editor, name: &str) {
    wait_gate(editor, name);
    fs::write(editor.dir().join(name), "go\n").unwrap();
}

/// Waits until the text for a status line shows no request.
#[track_caller]
pub fn wait_request_over(editor: &Editor) {
    editor.wait_for("the end of the request", |editor| {
        let said = editor.lua(
            "return require('flemma.status').text(vim.api.nvim_get_current_buf())",
            &json!([]),
        );
        // During a request this is its state, with a colon; afterwards, its usage.
        !said.as_str().unwrap_or_default().contains(": ")
    });
}
