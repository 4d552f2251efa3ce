//! The front end of the MCP server. It has no chat; notices go to standard error, because the
//! protocol may use standard output.

use chat::cycle::Notice;
use session::frontend::{Capabilities, Frontend, SessionEvent};
use session::protocol::*;
use tokio::sync::oneshot;

use crate::terminal;

/// Prints notices on standard error and ignores everything else.
#[derive(Debug)]
pub struct NoticesOnly;

impl Frontend for NoticesOnly {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            is_headless: true,
            ..Capabilities::default()
        }
    }

    fn apply(&self, _edit: BufferEdit) {}

    fn append(&self, _chunk: AnswerChunk) {}

    fn release_anchor(&self, _anchor: ReleaseAnchor) {}

    fn show(&self, _display: Display) {}

    // Dropping the sender means that no answer comes.
    fn ask(&self, _question: EditorQuestion) -> oneshot::Receiver<EditorReply> {
        oneshot::channel().1
    }

    fn notify(&self, _buffer: Option<BufferId>, notice: &Notice) {
        terminal::report(&notice.text);
    }

    fn emit(&self, _event: SessionEvent) {}
}
