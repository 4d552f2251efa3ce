//! What the host says, one message after another.

use chat::cycle::{Level, Notice};
use chat::document::{Document, Role};

use super::in_process::FrontendCall;
use super::news::News;
use super::{Front, Show};
use crate::frontend::{RequestStatus, SessionEvent};
use crate::protocol::*;

impl Front {
    pub(super) fn carry_out(&mut self, call: FrontendCall) {
        match call {
            FrontendCall::Apply(edit) => {
                let applied = self.buffer.apply(&edit);
                self.written(applied);
                self.save();
            }
            FrontendCall::Append(chunk) => {
                let applied = self.buffer.append(&chunk);
                self.written(applied);
            }
            FrontendCall::ReleaseAnchor(it) => self.buffer.release_anchor(it.anchor),
            FrontendCall::Notify(notice) => self.notice(&notice),
            FrontendCall::Emit(event) => self.event(event),
            FrontendCall::Ask(EditorQuestion::Prompt(it), reply) => self.prompt(it, reply),
            FrontendCall::Ask(question, reply) => {
                let answer = match question {
                    EditorQuestion::OpenText(it) => self.open_text(&it.path),
                    EditorQuestion::ReplaceText(_) => cannot_be_replaced(),
                    // Only Lua has functions. Dropping `reply` tells the session so.
                    EditorQuestion::Functions(_) | EditorQuestion::Prompt(_) => return,
                };
                // A call that was cancelled meanwhile takes no answer.
                drop(reply.send(EditorReply::Buffers(answer)));
            }
        }
    }

    fn written(&mut self, applied: Applied) {
        if applied.outcome == Outcome::Applied {
            self.saving.changed();
        }
        self.host.receive(FromEditor::Applied(applied));
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
                self.tell_news();
                self.output.request_started();
            }
            SessionEvent::RequestFinished { status, .. } => {
                self.save();
                self.outcome.failed |= status == RequestStatus::Error;
                self.outcome.cut |= status == RequestStatus::Limit;
                let calls = self.answer_has_calls();
                self.tell_news();
                self.output.request_finished(status, calls);
            }
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
                self.unsaid = rested.queued != 0;
                self.outcome.stuck = rested.stuck;
                self.rested(rested.limit);
            }
            SessionEvent::AnswerText(text) => self.output.words(&text),
            SessionEvent::RequestNote(note) => self.output.note(&note),
            SessionEvent::WouldSend(request) => self.would_send(request),
            SessionEvent::WouldRun(call) => self.would_run(call),
            SessionEvent::CallShownAgain(call) => self.ask_again(&call.id),
            // No other file than the chat's is open here.
            SessionEvent::FilesChanged => {}
        }
    }

    /// Tells which calls and results stand in the chat now.
    pub(super) fn tell_news(&mut self) {
        let news = self.told.news(&Document::parse(self.buffer.text()));
        for item in &news {
            if let (Show::Results, News::Result { id, is_error, .. }) = (self.output.show(), item) {
                self.tool_result(id, *is_error);
            }
            self.output.news(item, &self.host.shared().registry);
        }
    }

    /// Where a result is all that counts, its failure is the run's.
    fn tool_result(&mut self, id: &str, is_error: bool) {
        self.outcome.worked = true;
        let all = self.outcome.refused.iter().chain(&self.outcome.denied);
        let refused = all.into_iter().any(|it| it.ends_with(&format!(" ({id})")));
        if is_error && !refused {
            self.outcome.failed = true;
        }
    }

    fn answer_has_calls(&self) -> bool {
        let document = Document::parse(self.text());
        let mut messages = document.messages.iter();
        let last = messages.rposition(|message| message.role == Role::Assistant);
        last.and_then(|at| document.turn(at)).is_some()
    }

    /// The chat itself is open here; no other file is.
    fn open_text(&self, path: &str) -> BuffersAnswered {
        if !self.is_open(path) {
            return BuffersAnswered::default();
        }
        let text = String::from_utf8_lossy(self.text().bytes()).into_owned();
        BuffersAnswered {
            open: true,
            text: Some(text + "\n"),
            modified: true,
            ..BuffersAnswered::default()
        }
    }

    fn is_open(&self, path: &str) -> bool {
        let real = tools::leads_to(std::path::Path::new(path));
        self.file.as_ref().is_some_and(|file| file.path() == real)
    }
}

fn cannot_be_replaced() -> BuffersAnswered {
    BuffersAnswered {
        message: Some("The chat cannot be changed by a tool that it runs.".to_owned()),
        ..BuffersAnswered::default()
    }
}
