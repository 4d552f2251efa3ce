//! The front end of the command line. Passes each call on to the run, which holds the chat.

use std::time::Duration;

use async_trait::async_trait;
use chat::cycle::Notice;
use session::frontend::{Capabilities, Frontend, SessionEvent};
use session::protocol::*;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

/// How long an answer waits after a pause, so that a signal that arrived before it is handled
/// first.
const SIGNALS_FIRST: Duration = Duration::from_millis(20);

/// A call of [`Frontend`].
#[derive(Debug)]
pub enum FrontendCall {
    /// See [`Frontend::apply`].
    Apply(BufferEdit),
    /// See [`Frontend::append`].
    Append(AnswerChunk),
    /// See [`Frontend::release_anchor`].
    ReleaseAnchor(ReleaseAnchor),
    /// See [`Frontend::ask`].
    Ask(EditorQuestion, oneshot::Sender<EditorReply>),
    /// See [`Frontend::notify`].
    Notify(Notice),
    /// See [`Frontend::emit`].
    Emit(SessionEvent),
    /// Tokens and cost of a request, before the event of its end.
    Usage(Box<UsageNote>),
}

/// A front end without a screen.
#[derive(Debug)]
pub struct InProcess {
    /// Receives the calls.
    pub calls: mpsc::UnboundedSender<FrontendCall>,
    /// True if nothing may be sent and no tool may run.
    pub dry_run: bool,
    /// True if a running call can ask the user something.
    pub elicitation: bool,
}

impl InProcess {
    fn send(&self, call: FrontendCall) {
        // The receiver is gone only when the run is over.
        drop(self.calls.send(call));
    }
}

#[async_trait]
impl Frontend for InProcess {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            is_headless: true,
            is_dry_run: self.dry_run,
            can_elicit: self.elicitation,
        }
    }

    fn apply(&self, edit: BufferEdit) {
        self.send(FrontendCall::Apply(edit));
    }

    fn append(&self, chunk: AnswerChunk) {
        self.send(FrontendCall::Append(chunk));
    }

    fn release_anchor(&self, anchor: ReleaseAnchor) {
        self.send(FrontendCall::ReleaseAnchor(anchor));
    }

    fn show(&self, display: Display) {
        // There is no screen for anything else.
        if let Display::Usage(usage) = display {
            self.send(FrontendCall::Usage(usage));
        }
    }

    fn ask(&self, question: EditorQuestion) -> oneshot::Receiver<EditorReply> {
        let (sender, reply) = oneshot::channel();
        self.send(FrontendCall::Ask(question, sender));
        reply
    }

    fn notify(&self, _buffer: Option<BufferId>, notice: &Notice) {
        self.send(FrontendCall::Notify(notice.clone()));
    }

    fn emit(&self, event: SessionEvent) {
        self.send(FrontendCall::Emit(event));
    }

    async fn catch_up(&self) {
        sleep(SIGNALS_FIRST).await;
    }
}
