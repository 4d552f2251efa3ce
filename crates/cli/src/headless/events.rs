//! Carries out the calls of the front end, one after another.

use chat::cycle::{Level, Notice};
use chat::document::{Document, Role};
use session::frontend::{RequestStatus, SessionEvent};
use session::protocol::*;
use tokio::sync::oneshot;

use super::in_process::FrontendCall;
use super::reported::NewBlock;
use super::{HeadlessRun, Show};

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
