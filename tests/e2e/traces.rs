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

/// Waits until the host has done all that it was told, of which it says so: for a
/// chat in which nothing runs.
#[track_caller]
pub fn settle(editor: &Editor) {
    editor.command("messages clear");
    editor.keys("<C-c>");
    editor.wait_for("a host with nothing to do", |editor| {
        editor.messages().contains("Nothing is running here.")
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
