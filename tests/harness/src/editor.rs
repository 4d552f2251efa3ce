//! A Neovim that is used like a user does: keys are input, text and screen are output. Knows nothing
//! of the plugin except how to find its process.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmpv::Value;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::Setup;
use crate::channel::{Channel, Reply, lock};
use crate::screen::Screen;

/// How long a test waits for a condition. Much longer than expected, so that no test fails on a busy
/// machine; the benches measure speed.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A running Neovim with a screen attached. Dropping it kills Neovim, after which its host must end.
pub struct Editor {
    pub(crate) channel: Channel,
    pub(crate) screen: Arc<Screen>,
    /// Names of notifications from Lua; see [`Editor::wait_notified`].
    notifications: Mutex<Receiver<String>>,
    child: Child,
    home: TempDir,
    patience: Duration,
}

/// Neovim's mode, from `nvim_get_mode()`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode {
    /// The short name, such as `n`, `i`, `no` or `r`.
    pub name: String,
    /// True if Neovim is blocked until a key is pressed.
    pub blocking: bool,
}

impl Editor {
    /// Starts Neovim; the same as [`Setup::start`].
    #[track_caller]
    pub fn start(setup: Setup) -> Self {
        let (columns, rows) = setup.screen_size();
        let patience = setup.chosen_patience();
        let (mut child, home) = setup.spawn();
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            panic!("Neovim was started without pipes");
        };
        let screen = Arc::new(Screen::default());
        let drawn = Arc::clone(&screen);
        let (notify, notifications) = channel();
        let channel = Channel::open(stdin, stdout, move |name, parameters| {
            if name == "redraw" {
                drawn.redraw(parameters);
            } else {
                // The receiver is gone once the editor is dropped.
                let _ = notify.send(name.to_owned());
            }
        });
        let editor = Self {
            channel,
            screen,
            notifications: Mutex::new(notifications),
            child,
            home,
            patience,
        };
        // Neovim reads files only after a screen is attached.
        let options = json!({"ext_linegrid": true, "ext_hlstate": true, "rgb": true});
        editor.request("nvim_ui_attach", json!([columns, rows, options]));
        editor.wait_for("Neovim has started", |editor| {
            editor.lua("return vim.v.vim_did_enter", &json!([])) == json!(1)
        });
        editor
    }

    /// Types `keys` (`i`, `<Esc>`, `<C-]>`, `<lt>` …). Returns when Neovim has handled them, or waits
    /// for another key, as after `"` or at a hit-enter prompt.
    #[track_caller]
    pub fn keys(&self, keys: &str) {
        let mut rest = keys;
        while !rest.is_empty() {
            let (portion, after) = rest.split_at(portion_end(rest));
            self.request("nvim_input", json!([portion]));
            self.settle();
            rest = after;
        }
    }

    /// Types `text` at the cursor, key by key, and leaves Insert mode.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        self.command("setlocal noautoindent formatoptions= textwidth=0");
        let keys = text.replace('<', "<lt>").replace('\n', "<CR>");
        self.keys(&format!("i{keys}<Esc>"));
    }

    /// Inserts `text` like a paste in a terminal.
    #[track_caller]
    pub fn paste(&self, text: &str) {
        self.request("nvim_paste", json!([text, true, -1]));
        self.settle();
    }

    /// Waits until Neovim has handled all typed keys, because it handles a request only then. If it is
    /// blocked waiting for a key, it handles none, so this doesn't wait for the response.
    #[track_caller]
    fn settle(&self) {
        let done = self.channel.request("nvim_eval", vec!["0".into()]);
        let deadline = Instant::now() + self.patience;
        while done.recv_timeout(Duration::from_millis(5)) == Err(RecvTimeoutError::Timeout) {
            if self.mode().blocking {
                return;
            }
            if Instant::now() > deadline {
                self.fail("the typed keys are used up");
            }
        }
    }

    /// Runs Lua in Neovim with `arguments` (an array) as `...`, and returns its value.
    #[track_caller]
    pub fn lua(&self, code: &str, arguments: &Json) -> Json {
        self.request("nvim_exec_lua", json!([code, arguments]))
    }

    /// Runs an Ex command, with or without its colon. An error fails the test.
    #[track_caller]
    pub fn command(&self, command: &str) {
        let command = command.strip_prefix(':').unwrap_or(command);
        self.request("nvim_command", json!([command]));
    }

    /// Calls a function of Neovim's API. An error fails the test.
    #[track_caller]
    pub fn request(&self, method: &str, parameters: Json) -> Json {
        match self.try_request(method, parameters, self.patience) {
            Some(Ok(value)) => serde_json::to_value(value).unwrap_or(Json::Null),
            Some(Err(error)) => panic!("{method}: {error}"),
            None => self.fail(&format!("an answer to {method}")),
        }
    }

    /// Calls a function. Returns `None` if there is no response in time or Neovim is gone.
    pub(crate) fn try_request(
        &self,
        method: &str,
        parameters: Json,
        patience: Duration,
    ) -> Option<Reply> {
        let parameters = match rmpv::ext::to_value(parameters) {
            Ok(Value::Array(parameters)) => parameters,
            _ => panic!("the parameters of {method} are not an array"),
        };
        let answer = self.channel.request(method, parameters);
        answer.recv_timeout(patience).ok()
    }

    /// The mode. Works even if Neovim is blocked.
    #[track_caller]
    pub fn mode(&self) -> Mode {
        let mode = self.request("nvim_get_mode", json!([]));
        Mode {
            name: mode["mode"].as_str().unwrap_or_default().to_owned(),
            blocking: mode["blocking"] == json!(true),
        }
    }

    /// Waits until `condition` holds. It is checked after each change of the screen and every 10 ms.
    /// After a timeout, fails with the visible state.
    #[track_caller]
    pub fn wait_for(&self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        let deadline = Instant::now() + self.patience;
        loop {
            let seen = self.screen.frames();
            if condition(self) {
                return;
            }
            if Instant::now() > deadline {
                self.fail(what);
            }
            self.screen.wait_frame(seen, Duration::from_millis(10));
        }
    }

    /// The number of our own channel, for `vim.rpcnotify()`.
    #[track_caller]
    pub fn own_channel(&self) -> Json {
        self.request("nvim_get_api_info", json!([]))[0].clone()
    }

    /// Waits until Lua has sent the notification `name` with `vim.rpcnotify()` to
    /// [`Editor::own_channel`]. Sends nothing to Neovim, so it doesn't affect measurements.
    #[track_caller]
    pub fn wait_notified(&self, name: &str) {
        let deadline = Instant::now() + self.patience;
        let notifications = lock(&self.notifications);
        while let Ok(said) =
            notifications.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            if said == name {
                return;
            }
        }
        self.fail(&format!("the notification {name:?}"));
    }

    /// Waits until the current buffer contains `text`.
    #[track_caller]
    pub fn wait_text(&self, text: &str) {
        self.wait_for(&format!("the text {text:?}"), |editor| {
            editor.text().contains(text)
        });
    }

    /// Waits until the rows of the screen satisfy `condition`. Sends nothing to Neovim, so it doesn't
    /// affect measurements.
    #[track_caller]
    pub fn wait_screen(&self, what: &str, mut condition: impl FnMut(&[String]) -> bool) {
        self.wait_for(what, |editor| condition(&editor.screen()));
    }

    /// The working directory of this editor, which contains its files.
    pub fn dir(&self) -> PathBuf {
        self.home.path().join("work")
    }

    /// The folder of Neovim's state, which contains the logs.
    pub(crate) fn state(&self) -> PathBuf {
        self.home.path().join("state")
    }

    /// Neovim's process.
    pub fn nvim_pid(&self) -> u32 {
        self.child.id()
    }

    /// The process id of the host, if one is running. Loads no Lua module.
    #[track_caller]
    pub fn host_pid(&self) -> Option<u32> {
        let code = r#"
            local host = package.loaded["flemma.host"]
            local channel = host and host.channel and host.channel()
            local ok, pid = pcall(vim.fn.jobpid, channel or 0)
            return ok and pid or nil
        "#;
        let pid = self.lua(code, &json!([]));
        pid.as_u64().and_then(|pid| u32::try_from(pid).ok())
    }

    /// Fails the test with the visible state.
    #[track_caller]
    pub(crate) fn fail(&self, what: &str) -> ! {
        panic!("timed out waiting for: {what}\n{}", self.report());
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let children = children(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
        let deadline = Instant::now() + PATIENCE;
        // The host ends when its input is closed.
        let left = |pid: &&u32| is_running(**pid);
        while children.iter().any(|pid| left(&pid)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        let stubborn: Vec<u32> = children.iter().filter(left).copied().collect();
        for pid in &stubborn {
            kill(*pid);
        }
        if !stubborn.is_empty() && !std::thread::panicking() {
            panic!("outlived their editor, and were killed: {stubborn:?}");
        }
    }
}

/// The length of the keys that are sent at once. Neovim 0.11 never recovers from a full input
/// buffer (16 KiB), so they are shorter, and don't end within a `<Key>`.
fn portion_end(keys: &str) -> usize {
    const PORTION: usize = 4096;
    if keys.len() <= PORTION {
        return keys.len();
    }
    let mut end = PORTION;
    while !keys.is_char_boundary(end) {
        end -= 1;
    }
    let portion = &keys[..end];
    match (portion.rfind('<'), portion.rfind('>')) {
        (Some(open), close) if open > 0 && close.is_none_or(|close| close < open) => open,
        _ => portion.len(),
    }
}

/// The direct children of a process. Empty without `/proc`.
fn children(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Returns true until a process and all its threads have ended. A process whose first thread
/// has ended is shown as a zombie while others still run, which hold its files and locks.
pub fn is_running(pid: u32) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    let status = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
    let state = status.rsplit(") ").next().unwrap_or_default();
    let threads = std::fs::read_dir(process.join("task")).map_or(0, Iterator::count);
    !state.is_empty() && (!state.starts_with('Z') || threads > 1)
}

fn kill(pid: u32) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
