//! The measured editors: one with the plugin and the release build of the host, and one without the
//! plugin, in which the same work is done by hand with API calls.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use harness::{Editor, Provider, Setup};
use serde_json::{Value as Json, json};

/// The time limit of a measurement.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time without a frame after which the editor counts as idle.
const REST: Duration = Duration::from_millis(60);

/// The measured binary.
pub fn host() -> PathBuf {
    harness::repository().join("target/release/flemma")
}

/// The setup of an editor with the plugin and these options.
pub fn with_plugin(provider: &Provider, mut options: Json) -> Setup {
    options["provider"] = json!("anthropic");
    let setup = Setup::new().host(host()).provider(provider);
    setup.options(options).patience(PATIENCE)
}

/// An editor with the plugin, idle, with the cursor on the last line of a chat.
pub fn ours(provider: &Provider, text: &str, options: Json) -> Editor {
    start(with_plugin(provider, options), text)
}

/// An editor like that of [`ours`], with this setup.
pub fn start(setup: Setup, text: &str) -> Editor {
    let editor = setup.file("bench.chat", text).start();
    editor.wait_for("the host is ready", |editor| {
        let ready = "return require('flemma.host').state().welcome ~= nil";
        editor.lua(ready, &json!([])) == json!(true)
    });
    go_to_end(&editor);
    editor
}

/// An editor with the same text and without the plugin.
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

/// Waits until the editor is idle.
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

/// Sends `keys` to Neovim without waiting for their effect.
pub fn press(editor: &Editor, keys: &str) {
    editor.request("nvim_input", json!([keys]));
}

/// Waits for a frame in which a row of the screen satisfies `wanted`. Sends nothing to Neovim, so it
/// doesn't affect the measurement.
pub fn await_row(editor: &Editor, what: &str, wanted: impl Fn(&str) -> bool) {
    editor.wait_screen(what, |rows| rows.iter().any(|row| wanted(row)));
}

/// Evaluates `condition`, Lua in the editor, until it is true.
pub fn await_lua(editor: &Editor, condition: &str, arguments: &Json) {
    let deadline = Instant::now() + PATIENCE;
    while editor.lua(condition, arguments) != json!(true) {
        assert!(
            Instant::now() < deadline,
            "in vain: {condition} {arguments}\n{}",
            editor.text()
        );
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Evaluates `condition` after each frame until it is true, so that Neovim gets few requests while it
/// works.
pub fn await_drawn(editor: &Editor, condition: &str, arguments: &Json) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let seen = editor.frames();
        if editor.lua(condition, arguments) == json!(true) {
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

/// Waits until it is the user's turn and the editor is idle.
pub fn await_turn(editor: &Editor) {
    let code = "local last = vim.api.nvim_buf_get_lines(0, -3, -1, false)
        return vim.tbl_contains(last, '@You:') and vim.bo.modifiable";
    await_lua(editor, code, &json!([]));
    rest(editor);
}

/// Adds an unanswered question at the end and moves the cursor there.
pub fn ask_again(editor: &Editor) {
    editor.keys("<Esc>GoOnce more.<Esc>");
    rest(editor);
}
