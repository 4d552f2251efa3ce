//! The host's handle on its front end, with the open files and Lua calls that it knows of.
//!
//! Knows the form of each message, but not when to send it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use chat::Problem;
use chat::cycle::{Level, Notice};
use platform::paths::canonicalize;
use serde_bytes::ByteBuf;
use tools::Replacement;

use crate::form::Prompts;
use crate::frontend::{Frontend, SessionEvent};
use crate::lua_calls::LuaCalls;
use crate::protocol::*;

/// Maximum time that a request waits for the content of its references.
const PATIENCE: Duration = Duration::from_secs(30);

/// A front end, as the host or one of its chats uses it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Editor {
    frontend: Arc<dyn Frontend>,
    open: Arc<OpenFiles>,
    calls: LuaCalls,
    /// The chat that its messages concern.
    chat: Option<BufferId>,
}

impl Editor {
    /// Wraps `frontend`.
    pub fn new(frontend: impl Frontend + 'static) -> Self {
        Self {
            frontend: Arc::new(frontend),
            open: Arc::default(),
            calls: LuaCalls::default(),
            chat: None,
        }
    }

    /// Returns the same editor for messages about the chat in `buffer`.
    pub fn of_chat(&self, buffer: BufferId) -> Self {
        Self {
            chat: Some(buffer),
            ..self.clone()
        }
    }

    /// Returns the front end itself.
    pub fn frontend(&self) -> &dyn Frontend {
        self.frontend.as_ref()
    }

    /// Returns true if the front end has no screen and holds the chat's file.
    pub fn is_headless(&self) -> bool {
        self.frontend.capabilities().is_headless
    }

    /// Returns true if nothing may be sent and no tool may run.
    pub fn is_dry_run(&self) -> bool {
        self.frontend.capabilities().is_dry_run
    }

    /// Returns true if a running call can ask the user something.
    pub fn can_elicit(&self) -> bool {
        self.frontend.capabilities().can_elicit
    }

    /// Shows something beside the text.
    pub fn show(&self, display: Display) {
        self.frontend.show(display);
    }

    /// Shows lines in a window.
    pub fn report(&self, title: &'static str, lines: Vec<String>) {
        self.show(Display::Report(Report {
            title,
            lines,
            ..Report::default()
        }));
    }

    /// Reports that something happened.
    pub fn emit(&self, event: SessionEvent) {
        self.frontend.emit(event);
    }

    /// Shows a message.
    pub fn notify(&self, notice: &Notice) {
        self.frontend.notify(self.chat, notice);
    }

    /// Shows what went wrong.
    pub fn report_problem(&self, problem: &Problem) {
        self.notify(&Notice {
            level: Level::Error,
            text: problem.to_string(),
        });
    }

    /// Calls the user's functions. Returns, for each call, the answers of the functions that
    /// ran, in order; `None` if the channel closed meanwhile.
    pub async fn call_functions(
        &self,
        calls: Vec<FunctionCall>,
    ) -> Option<Vec<Vec<FunctionAnswer>>> {
        let question = EditorQuestion::Functions(FunctionCalls { calls });
        match self.frontend.ask(question).await {
            Ok(EditorReply::Functions(answered)) => Some(answered.values),
            _ => None,
        }
    }

    /// Returns prompts that ask the user about the chat in a buffer, one thing at a time.
    pub fn prompts(&self, buffer: BufferId) -> impl Prompts + use<> {
        AtBuffer {
            editor: self.clone(),
            buffer,
        }
    }

    /// Returns the calls that run in Lua.
    pub fn calls(&self) -> &LuaCalls {
        &self.calls
    }

    /// Sends a message about a call that runs in Lua.
    pub fn call_lua(&self, message: LuaMessage) {
        self.frontend.call_lua(message);
    }

    /// Answers a [`Lookup`] with this number.
    pub fn looked_up(&self, lookup: u64, answer: LookupAnswer) {
        self.frontend.looked_up(lookup, answer);
    }

    /// Remembers which files are open.
    pub fn open_files(&self, paths: &[String]) {
        self.open.are(paths);
    }

    /// Returns the editor's text of an open file, by its real path. Asks the editor only if
    /// the file may be open there.
    pub async fn open_text(&self, path: &str) -> Option<BuffersAnswered> {
        // A question costs a round trip, and most files are not open.
        if !self.open.may_hold(Path::new(path)) {
            return None;
        }
        let path = path.to_owned();
        self.ask_buffers(EditorQuestion::OpenText(GetOpenText { path }))
            .await
    }

    /// Changes the text of an open file.
    pub async fn replace_text(&self, path: &str, new: Replacement<'_>) -> Option<BuffersAnswered> {
        let file = new.file;
        let question = ReplaceText {
            path: path.to_owned(),
            file: file.map(|it| FileIdentity {
                device: it.device,
                inode: it.inode,
            }),
            expected: new.expected.map(str::to_owned),
            text: new.text.to_owned(),
            encoding: new.as_utf8.then_some("utf-8"),
        };
        self.ask_buffers(EditorQuestion::ReplaceText(question))
            .await
    }

    /// Has the editor reload open files that changed on disk.
    pub fn check_files(&self) {
        if self.open.may_hold_any() {
            self.emit(SessionEvent::FilesChanged);
        }
    }

    /// Has the user edit the diff of a call. Returns it as it was approved; `None` if the user
    /// decided nothing.
    pub async fn review(&self, question: ReviewQuestion) -> Option<Vec<u8>> {
        let reply = self.frontend.ask(EditorQuestion::Review(question)).await;
        let Ok(EditorReply::Reviewed(answer)) = reply else {
            return None;
        };
        answer.text.map(ByteBuf::into_vec)
    }

    /// Returns the problems of a file before and after a change; `None` if the editor does not
    /// know.
    pub async fn find_problems(&self, question: FindProblems) -> Option<ProblemsFound> {
        let question = EditorQuestion::FindProblems(question);
        match self.frontend.ask(question).await {
            Ok(EditorReply::Problems(found)) => Some(found),
            _ => None,
        }
    }

    /// Returns what a reference in a chat names in the editor; `None` if that does not answer.
    pub async fn refer(
        &self,
        buffer: BufferId,
        kind: &'static str,
        name: String,
        folder: &Path,
    ) -> Option<ReferenceAnswer> {
        let question = ReferenceQuestion {
            buffer,
            kind,
            name,
            folder: folder.to_string_lossy().into_owned(),
        };
        let reply = self.frontend.ask(EditorQuestion::Reference(question));
        match tokio::time::timeout(PATIENCE, reply).await {
            Ok(Ok(EditorReply::Reference(answer))) => Some(answer),
            _ => None,
        }
    }

    async fn ask_buffers(&self, question: EditorQuestion) -> Option<BuffersAnswered> {
        match self.frontend.ask(question).await {
            Ok(EditorReply::Buffers(answered)) => Some(answered),
            _ => None,
        }
    }
}

/// Asks the user on behalf of one chat.
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
        let question = EditorQuestion::Prompt(InputPrompt {
            buffer: self.buffer,
            title: title.to_owned(),
            items: items.map(<[String]>::to_vec),
            initial: initial.map(str::to_owned),
        });
        match self.editor.frontend.ask(question).await {
            Ok(EditorReply::Prompted(prompted)) => Some(prompted),
            _ => None,
        }
    }
}

#[async_trait]
impl Prompts for AtBuffer {
    async fn choose(&self, title: &str, items: &[String]) -> Option<usize> {
        let chosen = self.ask(title, Some(items), None).await?.item;
        // A plugin that replaces `vim.ui.select` may return any number.
        chosen.filter(|at| *at < items.len())
    }

    async fn enter(&self, title: &str, initial: &str) -> Option<String> {
        self.ask(title, None, Some(initial)).await?.text
    }
}

/// The files that are open in Neovim, by real path, as it last reported them; `None` until Neovim has reported them.
#[derive(Debug, Default)]
struct OpenFiles(RwLock<Option<HashSet<PathBuf>>>);

impl OpenFiles {
    /// Replaces the list.
    fn are(&self, paths: &[String]) {
        let real = |path: &String| {
            canonicalize(Path::new(path))
                // A file that was never written cannot be resolved.
                .unwrap_or_else(|_| path.into())
        };
        let open = paths.iter().map(real).collect();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(open);
    }

    /// Returns true if a file other than a chat may be open.
    fn may_hold_any(&self) -> bool {
        let open = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let is_chat = |path: &PathBuf| path.extension().is_some_and(|it| it == "chat");
        // Until Neovim has reported its files, any file may be open. Chats are not reloaded.
        open.as_ref().is_none_or(|open| !open.iter().all(is_chat))
    }

    /// Returns true if a file may be open.
    fn may_hold(&self, path: &Path) -> bool {
        let open = self.0.read().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().is_none_or(|open| open.contains(path))
    }
}
