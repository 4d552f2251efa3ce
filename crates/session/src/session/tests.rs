//! Tests of a session with its front end: a chat, keys and events, and the resulting calls
//! or chat. They use no Neovim and no network; see `recorder` and `script`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod approving;
mod choosing;
mod context;
mod contexts;
mod copying;
mod costs;
mod deciding;
mod diffs;
mod editing;
mod expectations;
mod frontmatter;
mod inner_calls;
mod invalid;
mod lookups;
mod new_problems;
mod planning;
mod projects;
mod recorder;
mod references;
mod remembering;
mod reports;
mod requests;
mod resources;
mod result_files;
mod reviewing;
mod run_changes;
mod running;
mod script;
mod sending;
mod sent;
mod setup;
mod showing;
mod status_line;
mod steering;
mod streaming;
mod summary;
mod thinking;
mod trusting;
mod turn_reviewing;
mod undoing;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mcp::configured::Servers;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::timeout;
use tools::sources::Catalogue;

use self::recorder::{Record, Recorder};
use self::script::{Answer, Script};
use self::setup::{Setup, below};
use super::{EditorInput, Input};
use crate::frontend::SessionEvent;
use crate::protocol::*;
use crate::scripts::Scripts;

const BUFFER: BufferId = 7;
/// A chat with a question.
const QUESTION: &str = "@You:\nGo.\n";
/// Timeout of a wait, so that a test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// A session with its front end, model, and tools.
struct Stage {
    runtime: Runtime,
    inbox: mpsc::UnboundedSender<Input>,
    record: Arc<Mutex<Record>>,
    changed: Arc<Notify>,
    script: Arc<Script>,
    gate: Arc<Semaphore>,
    /// Settings that are made later need it.
    catalogue: Catalogue,
    scripts: Scripts,
    servers: Servers,
    /// The chat's folder.
    folder: Option<TempDir>,
}

impl Stage {
    /// Returns a chat that was read from a file.
    fn of(text: &str) -> Self {
        Self::with(json!({}), text)
    }

    /// Returns the same with options.
    fn with(options: Value, text: &str) -> Self {
        Setup::new(options, text).start()
    }

    /// Returns a chat in which calls run without approval.
    fn unasked(text: &str) -> Self {
        Self::with(json!({"tools": {"require_approval": false}}), text)
    }

    /// Returns a chat in a separate folder with these files.
    fn beside(files: &[(&str, &[u8])], options: Value, text: &str) -> Self {
        Setup::new(options, text).files(files).start()
    }

    /// Returns a chat that the user typed beside `f.txt`: a [`QUESTION`] below a frontmatter.
    fn typed(options: Value, frontmatter: &str) -> Self {
        let setup = Setup::new(options, &below(frontmatter)).files(&[("f.txt", b"a\n")]);
        setup.typed().start()
    }

    fn send(&self, input: Input) {
        drop(self.inbox.send(input));
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap()
    }

    fn text(&self) -> String {
        self.record().text()
    }

    /// Returns the path of a file beside the chat.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.as_ref().unwrap().path().join("work").join(name)
    }

    /// Sets the model's answers, one per request. It answers later requests with "Done.".
    fn answers<const N: usize>(self, answers: [Answer; N]) -> Self {
        answers
            .into_iter()
            .for_each(|it| self.script.answers_next(it));
        self
    }

    /// Presses a key on the line that contains `place`, or on the first line.
    fn key_at(&self, name: &str, place: &str, arguments: Value) {
        let text = self.text();
        let line = text.lines().position(|it| it.contains(place)).unwrap();
        // Every pending call has been on the screen for a minute, so no key is too early.
        let marks = self.record().marks();
        let drawn = marks.iter().map(|it| (it.id.clone(), 60_000)).collect();
        let again = marks.iter().filter_map(|it| it.again).max();
        self.command(name, line, arguments, drawn, again);
    }

    fn command(
        &self,
        name: &str,
        line: usize,
        arguments: Value,
        drawn_ms: HashMap<String, u64>,
        again: Option<u64>,
    ) {
        self.send(Input::Editor(EditorInput::Command(EditorCommand {
            buffer: BUFFER,
            action: Action::parse(name, arguments),
            line,
            window: 1,
            shown: again.map(|again| ShownAgain {
                again,
                for_ms: 60_000,
            }),
            hidden: Vec::new(),
            drawn_ms,
        })));
    }

    /// Presses a key and waits until the session is idle again.
    fn press(&self, name: &str) -> &Self {
        self.press_at(name, "")
    }

    fn press_at(&self, name: &str, place: &str) -> &Self {
        let before = self.record().rests();
        self.key_at(name, place, json!({}));
        self.wait("rest", |it| it.rests() > before)
    }

    /// Presses a key that starts work which does not end by itself.
    fn key(&self, name: &str) -> &Self {
        self.key_at(name, "", json!({}));
        self
    }

    /// Sends a command with a message of the user.
    fn say(&self, name: &str, words: &str) -> &Self {
        self.key_at(name, "", json!({"text": words}));
        self
    }

    fn wait(&self, what: &str, done: impl Fn(&Record) -> bool) -> &Self {
        let reached = async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if done(&self.record()) {
                    return;
                }
                changed.await;
            }
        };
        let waited = self
            .runtime
            .block_on(async { timeout(PATIENCE, reached).await });
        if waited.is_err() {
            panic!("{what} did not come:\n{}", self.story());
        }
        self
    }

    fn wait_text(&self, part: &str) -> &Self {
        self.wait(part, |it| it.text().contains(part))
    }

    fn wait_started(&self, id: &str) -> &Self {
        self.wait(id, |it| {
            let starts = |event: &SessionEvent| match event {
                SessionEvent::ToolStarted { call, .. } => call.id.as_str() == id,
                _ => false,
            };
            it.events.iter().any(starts)
        })
    }

    fn wait_notice(&self, part: &str) -> &Self {
        self.wait(part, |it| it.notices.iter().any(|it| it.contains(part)))
    }

    /// Waits until the model got this many requests that it leaves open.
    fn wait_request(&self, count: usize) -> &Self {
        self.wait("a request", |_| self.script.requests() >= count)
    }

    fn wait_rest(&self) -> &Self {
        self.wait("rest", |it| it.rests() > 0)
    }

    /// Waits until everything that was sent is handled.
    fn settle(&self) -> &Self {
        self.runtime.block_on(async {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        });
        self
    }
}
