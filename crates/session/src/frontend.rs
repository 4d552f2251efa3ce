//! The front end of a chat: it shows the chat and takes the user's keys.
//!
//! Neovim, the command line, and the MCP server implement [`Frontend`]. A front end decides
//! nothing: it applies edits, shows what it gets, and answers questions. It passes the
//! user's input to the host as [`FromEditor`](crate::protocol::FromEditor).

pub mod buffer;
mod event;

use std::fmt;

use async_trait::async_trait;
use chat::cycle::Notice;
use tokio::sync::oneshot;

pub use self::event::{
    CallTrial, RequestStatus, Rested, ReviewOutcome, SessionEvent, WouldRun, WouldSend,
};
use crate::protocol::*;

/// The kind of a front end, and its abilities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// True without a screen: the front end runs in this process and holds the chat's file.
    pub is_headless: bool,
    /// True if nothing may be sent and no tool may run; both are only reported.
    pub is_dry_run: bool,
    /// True if a running call can ask the user something.
    pub can_elicit: bool,
}

/// A front end. Calls take effect in the order in which they are made; a front end that
/// is gone ignores them.
#[async_trait]
pub trait Frontend: fmt::Debug + Send + Sync {
    /// Returns the kind of this front end, and its abilities.
    fn capabilities(&self) -> Capabilities;

    /// Changes the text, all or nothing. Answered with [`Applied`].
    fn apply(&self, edit: BufferEdit);

    /// Inserts text at an anchor, which moves behind it. Answered with [`Applied`].
    fn append(&self, chunk: AnswerChunk);

    /// Forgets an anchor, at which no more text is inserted.
    fn release_anchor(&self, anchor: ReleaseAnchor);

    /// Shows something beside the text and replaces what was shown before.
    fn show(&self, display: Display);

    /// Asks a question. The channel closes if the front end goes away first.
    fn ask(&self, question: EditorQuestion) -> oneshot::Receiver<EditorReply>;

    /// Shows the user a message, which may concern one chat.
    fn notify(&self, buffer: Option<BufferId>, notice: &Notice);

    /// Reports that something happened in a chat.
    fn emit(&self, event: SessionEvent);

    /// Sends a message about a tool that is registered in Lua. Only Neovim has such tools.
    fn call_lua(&self, _message: LuaMessage) {}

    /// Answers a [`Lookup`] with this number. Only Neovim asks.
    fn looked_up(&self, _lookup: u64, _answer: LookupAnswer) {}

    /// Waits until keys that were pressed so far are queued as input.
    async fn catch_up(&self) {}
}
