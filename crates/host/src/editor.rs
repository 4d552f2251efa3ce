//! What the host can say to the editor, one method a message.
//!
//! Knows the messages' shapes and nothing of when they are sent.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use chat::Problem;
use chat::approval::CallKey;
use chat::cycle::{Level, Notice};
use serde_json::{Value, json};
use tools::Replacement;

use crate::form::Prompts;
use crate::front::Sender;
use crate::lua_calls::Calls;
use crate::open_files::OpenFiles;
use crate::pending_replies::{Asks, Reply};
use crate::protocol::*;

/// The editor, as far as the host can speak to it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Editor {
    sender: Sender,
    asks: Arc<Asks>,
    open: Arc<OpenFiles>,
    calls: Calls,
    /// The chat that its messages concern.
    chat: Option<BufferId>,
}

impl Editor {
    /// Speaks through `sender`.
    pub fn new(sender: Sender) -> Self {
        Self {
            sender,
            asks: Arc::default(),
            open: Arc::default(),
            calls: Calls::default(),
            chat: None,
        }
    }

    /// The same editor, whose messages concern the chat in `buffer`.
    pub fn of_chat(&self, buffer: BufferId) -> Self {
        Self {
            chat: Some(buffer),
            ..self.clone()
        }
    }

    /// Sends a message of [`crate::protocol`] by its name.
    pub fn send(&self, name: &str, payload: &impl serde::Serialize) {
        self.sender.send(name, payload);
    }

    /// Whether it is a front end in this process, which holds the chat's file.
    pub fn is_here(&self) -> bool {
        matches!(self.sender, Sender::Here(_))
    }

    /// Tells a front end without a screen of its own a piece of the model's own text.
    pub fn say(&self, text: &str) {
        self.sender.send_here("answer_text", &text);
    }

    /// Whether nothing may be sent and no tool may run.
    pub fn is_rehearsal(&self) -> bool {
        self.sender.is_rehearsal()
    }

    /// Tells a front end in this process what a screen would show elsewhere, or what
    /// would be done, were this no rehearsal.
    pub fn tell_here(&self, name: &str, what: &impl serde::Serialize) {
        self.sender.send_here(name, what);
    }

    /// Shows a message.
    pub fn notify(&self, notice: &Notice) {
        let level = match notice.level {
            Level::Info => "info",
            Level::Warning => "warn",
            Level::Error => "error",
        };
        self.send(
            "notify",
            &Notify {
                buffer: self.chat,
                level,
                message: &notice.text,
            },
        );
    }

    /// Shows what went wrong.
    pub fn report_problem(&self, problem: &Problem) {
        self.notify(&Notice {
            level: Level::Error,
            text: problem.to_string(),
        });
    }

    /// Fires a `User` autocommand.
    pub fn event(&self, name: &str, data: Value) {
        self.send("event", &UserEvent { name, data });
    }

    /// Says that a rule denied a call.
    pub fn tool_denied(&self, buffer: BufferId, call: &CallKey) {
        let data = json!({"bufnr": buffer, "tool_id": call.id.as_str(), "tool_name": call.name});
        self.event("FlemmaToolDenied", data);
    }

    /// Takes an answer from the editor to whoever asked.
    pub fn answered(&self, number: u64, reply: Reply) {
        self.asks.answer(number, reply);
    }

    /// Calls the user's functions; for each call the answers of those that were
    /// asked, in order. `None` when the channel closed meanwhile.
    pub async fn call_functions(
        &self,
        calls: Vec<FunctionCall>,
    ) -> Option<Vec<Vec<FunctionAnswer>>> {
        let (ask, answer) = self.asks.open();
        self.send("ask", &Ask { ask, calls });
        match answer.await {
            Ok(Reply::Functions(answered)) => Some(answered.values),
            _ => None,
        }
    }

    /// Whether a person can be asked something while a call runs.
    pub fn has_person(&self) -> bool {
        self.sender.has_person()
    }

    /// Asks the user about the chat in a buffer, one thing at a time.
    pub fn prompts(&self, buffer: BufferId) -> impl Prompts + use<> {
        AtBuffer {
            editor: self.clone(),
            buffer,
        }
    }

    /// The calls that run in Lua.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Remembers which files are open.
    pub fn open_files(&self, paths: &[String]) {
        self.open.are(paths);
    }

    /// What the editor knows of an open file, by its real path. It is asked only when
    /// it may know anything.
    pub async fn open_text(&self, path: &str) -> Option<BuffersAnswered> {
        if !self.open.may_hold(Path::new(path)) {
            return None;
        }
        let (ask, answer) = self.asks.open();
        self.send("open_text", &OpenText { ask, path });
        buffers_reply(answer.await)
    }

    /// Changes the text of an open file.
    pub async fn replace_text(&self, path: &str, new: Replacement<'_>) -> Option<BuffersAnswered> {
        let (ask, answer) = self.asks.open();
        let file = new.file;
        let message = ReplaceText {
            ask,
            path,
            file: file.map(|(device, inode)| FileIdentity { device, inode }),
            expected: new.expected,
            text: new.text,
            encoding: new.as_utf8.then_some("utf-8"),
        };
        self.send("replace_text", &message);
        buffers_reply(answer.await)
    }

    /// Has open files read again that changed on disk.
    pub fn check_files(&self) {
        if self.open.may_hold_any() {
            self.send("check_files", &CheckFiles {});
        }
    }
}

/// The user, as one chat asks them.
struct AtBuffer {
    editor: Editor,
    buffer: BufferId,
}

impl AtBuffer {
    async fn ask(
        &self,
        title: &str,
        items: Option<&[String]>,
        initial: Option<&str>,
    ) -> Option<Prompted> {
        let (ask, answer) = self.editor.asks.open();
        let prompt = Prompt {
            buffer: self.buffer,
            ask,
            title,
            items,
            initial,
        };
        self.editor.send("prompt", &prompt);
        match answer.await {
            Ok(Reply::Prompted(prompted)) => Some(prompted),
            _ => None,
        }
    }
}

#[async_trait]
impl Prompts for AtBuffer {
    async fn choose(&self, title: &str, items: &[String]) -> Option<usize> {
        let chosen = self.ask(title, Some(items), None).await?.item;
        chosen.filter(|at| *at < items.len())
    }

    async fn enter(&self, title: &str, initial: &str) -> Option<String> {
        self.ask(title, None, Some(initial)).await?.text
    }
}

fn buffers_reply<E>(reply: Result<Reply, E>) -> Option<BuffersAnswered> {
    match reply {
        Ok(Reply::Buffers(answered)) => Some(answered),
        _ => None,
    }
}
