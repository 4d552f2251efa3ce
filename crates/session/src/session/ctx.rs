//! The context that every part of a session may see: the chat's text and place, its rules, the
//! cycle, and the receivers of its events.
//!
//! A part gets it by reference in addition to its own data, so it can be read, and tested, without
//! the other parts.

use chat::approval::CallKey;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tools::{OpenBuffers, Tool};

use chat::cycle::{Cycle, Level, Notice};
use chat::document::Block;
use chat::preview::one_line;
use policy::rules::Rules;
use policy::sandbox;
use policy::settings::Here;
use tokio::sync::mpsc;
use tools::{Sandbox, checkpoints};

use super::buffer::Buffer;
use super::{Input, WorkInput};
use crate::buffers::EditorBuffers;
use crate::editor::Editor;
use crate::protocol::BufferId;
use crate::shared::Shared;

/// Columns of a tool's name in a message.
const LONGEST_NAME: usize = 40;
/// Maximum columns of a tool's name beside its spinner.
const LABEL_WIDTH: usize = 40;

/// The chat as all parts of its session see it.
pub(super) struct Ctx {
    pub(super) editor: Editor,
    pub(super) shared: Arc<Shared>,
    pub(super) inbox: Inbox,
    pub(super) cycle: Cycle,
    pub(super) buffer: Buffer,
    pub(super) place: Place,
    /// The rules that were made for the last key.
    pub(super) rules: Arc<Rules>,
    /// Confines the chat's calls; made anew for each key.
    sandbox: OnceLock<Arc<Sandbox>>,
}

impl Ctx {
    /// Returns the context of a chat whose text has not arrived yet.
    pub(super) fn new(
        buffer: BufferId,
        editor: &Editor,
        shared: Arc<Shared>,
        inbox: &mpsc::UnboundedSender<Input>,
    ) -> Self {
        Self {
            editor: editor.of_chat(buffer),
            rules: shared.plain.clone(),
            shared,
            inbox: Inbox(inbox.downgrade()),
            cycle: Cycle::default(),
            buffer: Buffer::new(buffer),
            place: Place::default(),
            sandbox: OnceLock::new(),
        }
    }

    pub(super) fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// Shows a message that reports what happened.
    pub(super) fn inform(&self, text: &str) {
        self.notify_about_calls(Level::Info, text);
    }

    pub(super) fn warn(&self, text: String) {
        let level = Level::Warning;
        self.editor.notify(&Notice { level, text });
    }

    /// Shows a message in which calls have a name and a line, which the user can find, where the text
    /// has their ids in quotes.
    pub(super) fn notify_about_calls(&self, level: Level, text: &str) {
        let mut text = text.to_owned();
        let document = self.buffer.document();
        let quotes = text.contains('"');
        let messages = document.messages.iter().filter(|_| quotes);
        for block in messages.flat_map(|it| document.blocks_of(it)) {
            let Block::ToolUse(call) = block else {
                continue;
            };
            let id = format!("\"{}\"", call.id);
            if text.contains(&id) {
                let line = call.lines.start + 1;
                let named = format!("{} on line {line}", one_line(&call.name, LONGEST_NAME));
                let of_call = format!("call of {named}");
                text = text
                    .replace(&format!("call {id}"), &of_call)
                    .replace(&id, &named);
            }
        }
        self.editor.notify(&Notice { level, text });
    }

    /// Returns the sandbox of the chat's calls.
    pub(super) fn sandbox(&self) -> &Arc<Sandbox> {
        let settings = &self.rules.settings.sandbox;
        self.sandbox
            .get_or_init(|| Arc::new(sandbox::of_chat(settings, self.here())))
    }

    /// Requests a new sandbox, because new protected files may exist.
    pub(super) fn forget_sandbox(&mut self) {
        self.sandbox.take();
    }

    /// Returns the folders that rules about this chat refer to.
    pub(super) fn here(&self) -> Here<'_> {
        Here {
            cwd: self.place.cwd(),
            chat: self.place.path(),
        }
    }

    /// Returns the tool that a call means, and its arguments. `None` if it cannot run.
    pub(super) fn meant_tool(&self, call: &CallKey) -> Option<(Arc<dyn Tool>, Value)> {
        let input: Value = serde_json::from_str(&call.input).ok()?;
        let (meant, input) = chat::approval::meant(call, &input);
        Some((self.shared.registry.get(&meant.name)?, input))
    }

    /// Returns true if calls of this tool run in the sandbox, if there is one.
    pub(super) fn is_held(&self, tool: &str) -> bool {
        let tool = self.shared.registry.get(tool);
        tool.is_some_and(|tool| tool.traits().runs_commands)
    }

    /// Returns the name of a tool beside the spinner of its call.
    pub(super) fn tool_label(&self, name: &str) -> Option<String> {
        let tool = self.shared.registry.get(name)?;
        Some(chat::preview::one_line(tool.label(), LABEL_WIDTH))
    }

    /// Returns the texts of files that are open in the editor.
    pub(super) fn open_buffers(&self) -> Arc<dyn OpenBuffers> {
        Arc::new(EditorBuffers(self.editor.clone()))
    }

    /// Returns true if the chat is in plan mode.
    pub(super) fn is_planning(&self) -> bool {
        self.rules().settings.is_planning()
    }

    /// Returns true if a call of this tool should be confined and would not be.
    pub(super) fn is_unsandboxed(&self, tool: &str) -> bool {
        self.is_held(tool) && self.sandbox().lacking().is_some()
    }
}

/// The session's own inbox. Weak, so that the session ends when the host drops its sender.
#[derive(Clone)]
pub(super) struct Inbox(mpsc::WeakUnboundedSender<Input>);

impl Inbox {
    /// Returns the sender; `None` if the chat is being closed.
    pub(super) fn upgrade(&self) -> Option<mpsc::UnboundedSender<Input>> {
        self.0.upgrade()
    }

    /// Delivers what background work found, unless the chat was closed meanwhile.
    pub(super) fn deliver(&self, input: WorkInput) {
        if let Some(inbox) = self.0.upgrade() {
            drop(inbox.send(Input::Work(input)));
        }
    }
}

/// Where the chat is.
pub(super) struct Place {
    /// Absolute; none for a buffer without a name.
    path: Option<PathBuf>,
    /// The folder that its relative paths start from.
    folder: Option<PathBuf>,
    /// Identifies this session in checkpoints, also while the chat has no file.
    session: String,
    /// The working directory of the window that shows the chat.
    cwd: PathBuf,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            path: None,
            folder: None,
            session: checkpoints::new_session(),
            cwd: PathBuf::from("/"),
        }
    }
}

impl Place {
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Sets the chat's path; an empty one means that the buffer has no name.
    pub(super) fn set_path(&mut self, path: &str) {
        // Neovim's name for a buffer without a file is empty.
        self.path = Some(PathBuf::from(path)).filter(|it| !it.as_os_str().is_empty());
        self.folder = self.path().and_then(tools::chat_folder);
    }

    pub(super) fn session(&self) -> &str {
        &self.session
    }

    pub(super) fn cwd(&self) -> &Path {
        &self.cwd
    }

    pub(super) fn set_cwd(&mut self, cwd: &str) {
        self.cwd = PathBuf::from(cwd);
    }

    /// Returns the folder that the chat's relative paths start from.
    pub(super) fn folder(&self) -> PathBuf {
        let own = self.folder.as_deref();
        // A new chat may name a folder that does not exist yet.
        own.filter(|it| it.is_dir()).unwrap_or(&self.cwd).into()
    }

    /// Returns the folder of the chat's file.
    pub(super) fn own_folder(&self) -> PathBuf {
        let parent = self.path().and_then(Path::parent);
        parent.filter(|it| it.is_dir()).unwrap_or(&self.cwd).into()
    }
}
