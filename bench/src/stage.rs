//! The editors that are measured: an editor with the plugin and the release
//! build of the host, one without, and the ways to look at them. What is done by
//! hand is done on the second, through bare calls of Neovim's API.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use harness::{Editor, Provider, Setup};
use serde_json::{Value as Json, json};

/// How long anything may take before a measurement is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// So long without a frame, and the editor has come to rest.
const REST: Duration = Duration::from_millis(60);

/// The binary that is measured.
pub fn host() -> PathBuf {
    harness::repository().join("target/release/flemma")
}

/// A setup of an editor with the plugin and `options` of `setup()`.
pub fn with_plugin(provider: &Provider, mut options: Json) -> Setup {
    options["provider"] = json!("anthropic");
    let setup = Setup::new().host(host()).provider(provider);
    setup.options(options).patience(PATIENCE)
}

/// An editor with the plugin, at rest on the last line of a chat.
pub fn ours(provider: &Provider, text: &str, options: Json) -> Editor {
    let editor = with_plugin(provider, options)
        .file("bench.chat", text)
        .start();
    editor.wait_for("the host is ready", |editor| {
        let ready = "return require('flemma.host').state().welcome ~= nil";
        editor.lua(ready, json!([])) == json!(true)
    });
    go_to_end(&editor);
    editor
}

/// An editor on the same text, without plugin.
pub fn bare(text: &str) -> Editor {
    let setup = Setup::new().init("").patience(PATIENCE);
    let editor = setup.file("bench.plain", text).start();
    go_to_end(&editor);
    editor
}

fn go_to_end(editor: &Editor) {
    editor.keys("G$");
    rest(editor);
}

/// Waits until nothing is drawn any more.
pub fn rest(editor: &Editor) {
    loop {
        let seen = editor.frames();
        editor.wait_frame(seen, REST);
        if editor.frames() == seen {
            return;
        }
    }
}

/// Milliseconds since `start`.
pub fn since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// Gives `keys` to Neovim, without waiting for what they do.
pub fn press(editor: &Editor, keys: &str) {
    editor.request("nvim_input", json!([keys]));
}

/// Waits for a frame in which a row of the screen satisfies `wanted`. Looks at
/// frames only, so that it disturbs nothing.
pub fn await_row(editor: &Editor, what: &str, wanted: impl Fn(&str) -> bool) {
    editor.wait_screen(what, |rows| rows.iter().any(|row| wanted(row)));
}

/// Asks `condition`, Lua in the editor, again and again until it is true.
pub fn await_lua(editor: &Editor, condition: &str, arguments: &Json) {
    let deadline = Instant::now() + PATIENCE;
    while editor.lua(condition, arguments.clone()) != json!(true) {
        assert!(
            Instant::now() < deadline,
            "in vain: {condition} {arguments}\n{}",
            editor.text()
        );
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Asks `condition` after each frame until it is true, so that Neovim is asked little
/// while it works.
pub fn await_drawn(editor: &Editor, condition: &str, arguments: &Json) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let seen = editor.frames();
        if editor.lua(condition, arguments.clone()) == json!(true) {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "in vain: {condition} {arguments}\n{}",
            editor.text()
        );
        editor.wait_frame(seen, REST);
    }
}

/// Waits until it is the user's turn again, and the editor is at rest.
pub fn await_turn(editor: &Editor) {
    let code = "local last = vim.api.nvim_buf_get_lines(0, -3, -1, false)
        return vim.tbl_contains(last, '@You:') and vim.bo.modifiable";
    await_lua(editor, code, &json!([]));
    rest(editor);
}

/// Leaves the cursor on an unanswered question at the end.
pub fn ask_again(editor: &Editor) {
    editor.keys("<Esc>GoOnce more.<Esc>");
    rest(editor);
}
