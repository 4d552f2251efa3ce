//! Tests of a session with its front end: a chat, keys and events, and the resulting calls
//! or chat. They use no Neovim and no network; see `recorder` and `script`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod deciding;
mod diffs;
mod editing;
mod expectations;
mod recorder;
mod running;
mod script;
mod sending;
mod showing;
mod steering;
mod streaming;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once};
use std::time::Duration;

use chat::text::Text;
use serde_bytes::ByteBuf;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::timeout;
use tools::{Precedence, Tool};

use self::recorder::{Record, Recorder};
use self::script::{Answer, Echo, Script};
use super::Input;
use crate::editor::Editor;
use crate::frontend::buffer::TextBuffer;
use crate::frontend::{Capabilities, SessionEvent};
use crate::protocol::*;
use crate::scripts::Scripts;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::sources::{Catalogue, Change, Sources};
use crate::usage::Ledger;

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
}

/// Keeps the state of all tests of this process out of the user's state folder.
fn use_a_separate_state_folder() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let target = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target");
        let all = target.join("tmp/session-tests");
        // Tests run in parallel, so none of them knows when its own folder can be deleted;
        // the folders of earlier processes can.
        for old in fs::read_dir(&all).into_iter().flatten().flatten() {
            if !Path::new("/proc").join(old.file_name()).exists() {
                drop(fs::remove_dir_all(old.path()));
            }
        }
        let folder = all.join(std::process::id().to_string());
        let variable = ("XDG_STATE_HOME".into(), folder.into());
        tools::add_variables(&tools::encode_variables(&[variable]));
    });
}

/// Returns the options of all tests with these values on top.
fn with_options(more: &Value) -> Value {
    let mut options = json!({"provider": "tutor"});
    for (name, value) in more.as_object().into_iter().flatten() {
        options[name] = value.clone();
    }
    options
}

impl Stage {
    /// Returns a chat that was read from a file.
    fn of(text: &str) -> Self {
        Self::with(json!({}), text)
    }

    /// Returns the same with options.
    fn with(options: Value, text: &str) -> Self {
        let capabilities = Capabilities {
            can_elicit: true,
            ..Capabilities::default()
        };
        Self::on(capabilities, options, text)
    }

    /// Returns a chat in which calls run without approval.
    fn unasked(text: &str) -> Self {
        Self::with(json!({"tools": {"require_approval": false}}), text)
    }

    fn on(capabilities: Capabilities, options: Value, text: &str) -> Self {
        use_a_separate_state_folder();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (inbox, inputs) = mpsc::unbounded_channel();
        // A buffer has no line after the last newline of its file.
        let text = text.strip_suffix('\n').unwrap_or(text);
        let buffer = TextBuffer::new(BUFFER, Text::from(text));
        let (recorder, record, changed) = Recorder::new(capabilities, buffer, &inbox);
        let (sources, _changes) = Sources::new();
        let gate = Arc::new(Semaphore::new(0));
        let mut stage = Self {
            inbox: inbox.clone(),
            record,
            script: Arc::new(Script::new(changed.clone())),
            changed,
            catalogue: catalogue(&gate),
            gate,
            scripts: Scripts::new(sources),
            runtime,
        };
        let shared = stage.shared(&options);
        let editor = Editor::new(recorder);
        stage
            .runtime
            .block_on(async { super::start(BUFFER, editor, shared, inbox, inputs) });
        stage.attach(text);
        stage
    }

    fn shared(&self, options: &Value) -> Arc<Shared> {
        let options = with_options(options);
        let (settings, problems) = Settings::read(&options, &self.catalogue.registry);
        assert_eq!(problems, Vec::<String>::new());
        let ledger = Ledger::default();
        let mut shared = Shared::new(settings, &self.catalogue, ledger, self.scripts.clone());
        shared.models = self.script.clone();
        Arc::new(shared)
    }

    fn attach(&mut self, text: &str) {
        self.send(Input::Attach(Attach {
            buffer: BUFFER,
            path: String::new(),
            cwd: "/".to_owned(),
            process: 0,
            width: 80,
            reason: "open".to_owned(),
            interrupted: Vec::new(),
            streaming: false,
            queued: Vec::new(),
            came: Came::Read,
            modified: false,
        }));
        self.send(Input::Snapshot(Snapshot {
            buffer: BUFFER,
            seq: 0,
            text: Some(ByteBuf::from(text)),
            lines: Vec::new(),
            done: true,
        }));
        self.send(Input::Viewport(Viewport {
            buffer: BUFFER,
            first: 0,
            last: 60,
            width: 80,
        }));
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
        self.send(Input::Command(Command {
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
        }));
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

fn catalogue(gate: &Arc<Semaphore>) -> Catalogue {
    let mut catalogue = Catalogue::builtin();
    let tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Echo {
            name: "echo",
            gate: None,
        }),
        Arc::new(Echo {
            name: "wait",
            gate: Some(gate.clone()),
        }),
    ];
    catalogue.take(Change::Ready("test".to_owned(), Precedence::Own, tools));
    catalogue
}
