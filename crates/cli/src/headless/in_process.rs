//! The front end of the command line. Passes each call on to the run, which holds the chat and
//! carries them out, one after another.

use std::time::Duration;

use async_trait::async_trait;
use chat::cycle::{Level, Notice};
use chat::document::{Document, Role};
use session::frontend::{Capabilities, Frontend, RequestStatus, SessionEvent};
use session::protocol::*;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use super::HeadlessRun;
use super::output::{NewBlock, Show};
use crate::terminal::Code;

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

impl HeadlessRun {
    pub(super) fn carry_out(&mut self, call: FrontendCall) {
        match call {
            FrontendCall::Apply(edit) => {
                let applied = self.buffer.apply(&edit);
                self.applied(applied);
                // An edit is a step of the cycle, so it is saved at once. An answer is saved at
                // intervals.
                self.save();
            }
            FrontendCall::Append(chunk) => {
                let applied = self.buffer.append(&chunk);
                self.applied(applied);
            }
            FrontendCall::ReleaseAnchor(it) => self.buffer.release_anchor(it.anchor),
            FrontendCall::Notify(notice) => self.notice(&notice),
            FrontendCall::Emit(event) => self.event(event),
            FrontendCall::Usage(usage) => self.output.usage(*usage),
            FrontendCall::Ask(question, reply) => self.reply(question, reply),
        }
    }

    /// Reports the outcome of an edit to the session.
    fn applied(&mut self, applied: Applied) {
        if applied.outcome == EditOutcome::Applied {
            self.stored.changed();
        }
        self.host.receive(FromEditor::Applied(applied));
    }

    fn reply(&mut self, question: EditorQuestion, reply: oneshot::Sender<EditorReply>) {
        let answer = match question {
            EditorQuestion::Prompt(prompt) => {
                return self.questions.prompt(prompt, reply, &mut self.output);
            }
            EditorQuestion::OpenText(it) => self.open_text(&it.path),
            EditorQuestion::ReplaceText(_) => cannot_be_replaced(),
            EditorQuestion::Review(review) => return self.show_review(review, reply),
            // Only Neovim has functions, parsers, and buffers. Without a reply, the session does without them.
            EditorQuestion::Functions(_)
            | EditorQuestion::FindProblems(_)
            | EditorQuestion::Reference(_) => return,
        };
        // Fails if the call was cancelled meanwhile.
        drop(reply.send(EditorReply::Buffers(answer)));
    }

    fn notice(&mut self, notice: &Notice) {
        self.outcome.failed |= notice.level == Level::Error;
        self.output.notice(notice);
        // Without a report, nothing else ends the run.
        if self.output.is_context() && notice.level == Level::Error {
            self.end.set(Code::Error);
        }
    }

    fn event(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::RequestStarted { .. } => {
                self.outcome.worked = true;
                self.outcome.requests += 1;
                self.report_new_blocks();
                self.output.request_started();
            }
            SessionEvent::RequestFinished { status, .. } => self.request_finished(status),
            SessionEvent::ToolStarted { .. } => {
                self.outcome.worked = true;
                self.output.event("tool_started", event.data());
            }
            SessionEvent::ToolDenied { ref call, .. } => {
                let denied = format!("{} ({})", call.name, call.id);
                self.outcome.denied.push(denied);
                self.output.event("tool_denied", event.data());
            }
            SessionEvent::ToolFinished { .. } => self.output.event("tool_finished", event.data()),
            SessionEvent::Summarized { .. } => self.output.event("summarized", event.data()),
            SessionEvent::Rested(rested) => {
                self.end.set_queued(rested.queued != 0);
                // Assigned and not added up: only the last rest says how the run ended.
                self.outcome.stuck = rested.stuck;
                self.rested(rested.limit);
            }
            SessionEvent::AnswerText(text) => self.output.answer_text(&text),
            SessionEvent::RequestNote(note) => self.output.note(&note),
            SessionEvent::WouldSend(request) => self.would_send(request),
            SessionEvent::WouldRun(call) => self.would_run(call),
            SessionEvent::Context(report) => self.context(&report),
            SessionEvent::CallShownAgain(call) => self.asked.show_again(&call.id),
            SessionEvent::CallRemark(call, remark) => self.trials.remark(call.id, remark),
            SessionEvent::CallTried(trial) => self.trials.end(trial),
            SessionEvent::ReviewEnded(outcome) => self.review_ended(outcome),
            // No file other than the chat is open here.
            SessionEvent::FilesChanged => {}
        }
    }

    fn request_finished(&mut self, status: RequestStatus) {
        self.save();
        self.outcome.failed |= status == RequestStatus::Error;
        self.outcome.cut |= status == RequestStatus::Limit;
        let has_calls = self.answer_has_calls();
        self.report_new_blocks();
        self.output.request_finished(status, has_calls);
    }

    /// Prints the calls and results that are new in the chat.
    pub(super) fn report_new_blocks(&mut self) {
        let blocks = self
            .reported
            .new_blocks(&Document::parse(self.buffer.text()));
        for block in &blocks {
            if let (Show::Results, NewBlock::Result { id, is_error, .. }) =
                (self.output.show(), block)
            {
                self.tool_result(id, *is_error);
            }
            self.output.block(block, &self.host.shared().registry);
        }
    }

    /// Counts a failed call as a failed run, for commands that print only results.
    fn tool_result(&mut self, id: &str, is_error: bool) {
        self.outcome.worked = true;
        // A denial has its own exit code.
        let mut denied = self.outcome.refused.iter().chain(&self.outcome.denied);
        let is_denied = denied.any(|it| it.ends_with(&format!(" ({id})")));
        self.outcome.failed |= is_error && !is_denied;
    }

    fn answer_has_calls(&self) -> bool {
        let document = Document::parse(self.text());
        let mut messages = document.messages.iter();
        let last = messages.rposition(|message| message.role == Role::Assistant);
        last.and_then(|at| document.turn(at)).is_some()
    }

    /// Returns the text of a file if it is the chat's, the only open one.
    fn open_text(&self, path: &str) -> BuffersAnswered {
        // A tool may name the chat by a link.
        let real = tools::leads_to(std::path::Path::new(path));
        if self.stored.path().is_none_or(|path| path != real) {
            return BuffersAnswered::default();
        }
        let text = String::from_utf8_lossy(self.text().bytes()).into_owned();
        BuffersAnswered {
            open: true,
            // A file ends with a line end, which the buffer's text lacks.
            text: Some(text + "\n"),
            modified: true,
            ..BuffersAnswered::default()
        }
    }
}

fn cannot_be_replaced() -> BuffersAnswered {
    BuffersAnswered {
        message: Some("A tool cannot change the chat that called it.".to_owned()),
        ..BuffersAnswered::default()
    }
}
