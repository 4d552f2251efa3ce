//! The chat that a test begins with, its files, and the tools of its session.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use chat::text::Text;
use policy::remembered::Remembered;
use policy::settings::Settings;
use serde_bytes::ByteBuf;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Notify, Semaphore, mpsc};
use tools::sources::{Catalogue, Change, Sources};
use tools::{Precedence, Tool};

use super::script::{Echo, Script};
use super::{BUFFER, EditorInput, Input, QUESTION, Recorder, Stage};
use crate::editor::Editor;
use crate::frontend::Capabilities;
use crate::frontend::buffer::TextBuffer;
use crate::mcp_servers;
use crate::protocol::*;
use crate::scripts::Scripts;
use crate::shared::{Shared, Stores};
use crate::usage::UsageHistory;

/// Returns a [`QUESTION`] below a frontmatter.
pub fn below(frontmatter: &str) -> String {
    format!("```lua\n{frontmatter}\n```\n\n{QUESTION}")
}

/// Returns options that send requests to Anthropic.
pub fn anthropic(mut options: Value) -> Value {
    options["provider"] = json!("anthropic");
    options["parameters"]["anthropic"]["api_key"] = json!("test-key");
    options
}

/// A chat before its session starts.
pub struct Setup {
    options: Value,
    text: String,
    came: Came,
    folder: Option<TempDir>,
}

impl Setup {
    /// Returns a chat that was read, in no folder.
    pub fn new(options: Value, text: &str) -> Self {
        Self {
            options,
            text: text.to_owned(),
            came: Came::Read,
            folder: None,
        }
    }

    /// Writes these files and the chat into a separate folder.
    pub fn files(mut self, files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work");
        let chat = ("question.chat", self.text.as_bytes());
        for (name, content) in files.iter().chain([&chat]) {
            let path = work.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        self.folder = Some(folder);
        self
    }

    /// The user typed the whole text.
    pub fn typed(mut self) -> Self {
        self.came = Came::Empty;
        self
    }

    pub fn start(self) -> Stage {
        use_a_separate_state_folder();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (inbox, inputs) = mpsc::unbounded_channel();
        // A buffer has no line after the last newline of its file.
        let text = self.text.strip_suffix('\n').unwrap_or(&self.text);
        let buffer = TextBuffer::new(BUFFER, Text::from(text));
        let capabilities = Capabilities {
            can_elicit: true,
            ..Capabilities::default()
        };
        let (recorder, record, changed) = Recorder::new(capabilities, buffer, &inbox);
        let (sources, _changes) = Sources::new();
        let gate = Arc::new(Semaphore::new(0));
        let editor = Editor::new(recorder);
        let servers = mcp_servers::servers(sources.clone(), editor.clone());
        let stage = Stage {
            inbox,
            record,
            script: Arc::new(Script::new(Arc::<Notify>::clone(&changed))),
            changed,
            catalogue: catalogue(&gate),
            gate,
            scripts: Scripts::new(sources),
            servers,
            folder: self.folder,
            runtime,
        };
        let shared = stage.shared(&self.options);
        stage
            .runtime
            .block_on(async { super::super::start(BUFFER, &editor, shared, &stage.inbox, inputs) });
        stage.attach(text, self.came);
        stage
    }
}

impl Stage {
    /// What all sessions have in common, with these options.
    pub(super) fn shared(&self, options: &Value) -> Arc<Shared> {
        let options = with_options(options);
        let (settings, problems) = Settings::read(&options, &self.catalogue.registry);
        assert_eq!(problems, Vec::<String>::new());
        let usage = UsageHistory::default();
        let stores = Stores::new(usage, self.scripts.clone(), self.servers.clone());
        let mut shared = Shared::new(settings, &self.catalogue, stores);
        shared.models = self.script.clone();
        shared.remembered = self.remembered();
        Arc::new(shared)
    }

    /// The rules of this chat's user, in a folder beside the chat's own.
    pub(super) fn remembered(&self) -> Remembered {
        let folder = self.folder.as_ref().map(|it| it.path().join("config"));
        Remembered::open(&folder.unwrap_or("/nonexistent".into()))
    }

    fn attach(&self, text: &str, came: Came) {
        let chat = self.folder.as_ref().map(|_| self.path("question.chat"));
        let cwd = chat.as_deref().and_then(Path::parent).map(PathBuf::from);
        self.send(Input::Editor(EditorInput::Attach(Attach {
            buffer: BUFFER,
            path: chat.unwrap_or_default().display().to_string(),
            cwd: cwd.unwrap_or("/".into()).display().to_string(),
            process: 0,
            width: 80,
            reason: AttachReason::Open,
            interrupted: Vec::new(),
            streaming: false,
            queued: Vec::new(),
            came,
            modified: false,
        })));
        self.send(Input::Editor(EditorInput::Snapshot(Snapshot {
            buffer: BUFFER,
            seq: 0,
            text: Some(ByteBuf::from(text)),
            lines: Vec::new(),
            done: true,
        })));
        self.send(Input::Editor(EditorInput::Viewport(Viewport {
            buffer: BUFFER,
            first: 0,
            last: 60,
            width: 80,
        })));
    }
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
    let mut options = json!({"provider": "tutor", "sandbox": {"enabled": false}});
    for (name, value) in more.as_object().into_iter().flatten() {
        options[name] = value.clone();
    }
    options
}

/// Returns the built-in tools, `echo`, and `wait`.
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
