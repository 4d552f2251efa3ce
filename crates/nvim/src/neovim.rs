//! Neovim as a front end: each call becomes a message of the channel.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use chat::cycle::{Level, Notice};
use serde::Serialize;
use session::frontend::{Capabilities, Frontend, SessionEvent};
use session::protocol::{EditorReply, *};
use tokio::sync::oneshot;

use crate::status::ShownStatus;
use crate::{lsp, rpc};

/// The Neovim of a channel. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Neovim {
    sender: rpc::Sender,
    replies: PendingReplies,
}

/// A question and its number, which the reply repeats.
#[derive(Debug, Serialize)]
struct Numbered<'a, T> {
    ask: u64,
    #[serde(flatten)]
    question: &'a T,
}

/// `looked_up`: the answer to a lookup, as the result of a language server.
#[derive(Debug, Serialize)]
struct LookedUp {
    lookup: u64,
    result: serde_json::Value,
}

impl Neovim {
    /// Creates the front end of a channel.
    pub fn new(sender: rpc::Sender) -> Self {
        Self {
            sender,
            replies: PendingReplies::default(),
        }
    }

    /// Passes a reply to its question.
    pub fn answer(&self, number: u64, reply: EditorReply) {
        self.replies.answer(number, reply);
    }
}

#[async_trait]
impl Frontend for Neovim {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            is_headless: false,
            is_dry_run: false,
            can_elicit: true,
        }
    }

    fn apply(&self, edit: BufferEdit) {
        self.sender.send("apply", &edit);
    }

    fn append(&self, chunk: AnswerChunk) {
        self.sender.send("append", &chunk);
    }

    fn release_anchor(&self, anchor: ReleaseAnchor) {
        self.sender.send("release_anchor", &anchor);
    }

    fn show(&self, display: Display) {
        let sender = &self.sender;
        match display {
            Display::Welcome(it) => sender.send("welcome", &it),
            Display::Choices(it) => sender.send("choices", &it),
            Display::Report(it) => sender.send("report", &it),
            Display::Open(it) => sender.send("open", &it),
            Display::Rename(it) => sender.send("rename", &it),
            Display::Marks(it) => sender.send("marks", &it),
            Display::Spans(it) => sender.send("spans", &it),
            Display::Diagnostics(it) => sender.send("diagnostics", &it),
            Display::Folds(it) => sender.send("folds", &it),
            Display::FoldAbove(it) => sender.send("fold_above", &it),
            Display::Unfold(it) => sender.send("unfold", &it),
            Display::Queued(it) => sender.send("queued", &it),
            Display::Sent(it) => sender.send("sent", &it),
            Display::Request(it) => sender.send("request", &it),
            Display::Statusline(it) => sender.send("statusline", &ShownStatus::of(&it)),
            Display::Usage(it) => sender.send("usage", &*it),
            Display::Lock(it) => sender.send("lock", &it),
            Display::Taken(it) => sender.send("taken", &it),
            Display::Cursor(it) => sender.send("cursor", &it),
            Display::Save(it) => sender.send("save", &it),
            Display::Decision(it) => sender.send("decision", &it),
            Display::ReviewClosed(it) => sender.send("review_closed", &it),
            Display::Visit(it) => sender.send("visit", &it),
        }
    }

    fn ask(&self, question: EditorQuestion) -> oneshot::Receiver<EditorReply> {
        let (ask, reply) = self.replies.open();
        let sender = &self.sender;
        match &question {
            EditorQuestion::Functions(it) => sender.send("ask", &Numbered { ask, question: it }),
            EditorQuestion::OpenText(it) => {
                sender.send("open_text", &Numbered { ask, question: it })
            }
            EditorQuestion::ReplaceText(it) => {
                sender.send("replace_text", &Numbered { ask, question: it });
            }
            EditorQuestion::FindProblems(it) => {
                sender.send("find_problems", &Numbered { ask, question: it });
            }
            EditorQuestion::Reference(it) => {
                sender.send("reference", &Numbered { ask, question: it });
            }
            EditorQuestion::Review(it) => sender.send("review", &Numbered { ask, question: it }),
            EditorQuestion::Prompt(it) => sender.send("prompt", &Numbered { ask, question: it }),
        }
        reply
    }

    fn notify(&self, buffer: Option<BufferId>, notice: &Notice) {
        let level = match notice.level {
            Level::Info => "info",
            Level::Warning => "warn",
            Level::Error => "error",
        };
        let message = &notice.text;
        let notify = Notify {
            buffer,
            level,
            message,
        };
        self.sender.send("notify", &notify);
    }

    fn emit(&self, event: SessionEvent) {
        // No autocommand for users: Lua checks whether the files of open buffers have changed.
        if event == SessionEvent::FilesChanged {
            return self.sender.send("check_files", &CheckFiles {});
        }
        if let Some((name, data)) = event.autocommand() {
            self.sender.send_event(&UserEvent { name, data });
        }
    }

    fn call_lua(&self, message: LuaMessage) {
        match message {
            LuaMessage::Call(it) => self.sender.send("tool_call", &*it),
            LuaMessage::Stop(it) => self.sender.send("tool_stop", &it),
            LuaMessage::CommandEnded(it) => self.sender.send("command_ended", &it),
        }
    }

    fn looked_up(&self, lookup: u64, answer: LookupAnswer) {
        let result = lsp::result(answer);
        self.sender.send("looked_up", &LookedUp { lookup, result });
    }

    async fn catch_up(&self) {
        rpc::read_first().await;
    }
}

/// The open questions. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct PendingReplies(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    last: u64,
    waiting: HashMap<u64, oneshot::Sender<EditorReply>>,
}

impl PendingReplies {
    /// Returns the number of a new question and the receiver of its reply.
    pub fn open(&self) -> (u64, oneshot::Receiver<EditorReply>) {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        // Questions that the host gave up on would otherwise pile up, as no reply may ever come.
        state.waiting.retain(|_, waiter| !waiter.is_closed());
        state.waiting.insert(number, sender);
        (number, receiver)
    }

    /// Passes a reply to its question, unless the host has given up.
    pub fn answer(&self, number: u64, reply: EditorReply) {
        if let Some(waiter) = self.state().waiting.remove(&number) {
            drop(waiter.send(reply));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of the map is one statement, so a panic elsewhere leaves it valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
