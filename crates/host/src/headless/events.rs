//! What the host says, one message after another.

use chat::approval::{CallKey, Decision};
use chat::document::{Document, Role};
use chat::tool::ToolUseId;
use serde_json::{Value, json};

use super::messages::{Ask, Event, FromHost, Notice, OpenText, read};
use super::news::News;
use super::{Front, Show};
use crate::front::Message;
use crate::protocol::*;

impl Front {
    pub(super) fn receive(&mut self, message: Message) {
        let name = message.name.clone();
        match read(message) {
            Ok(message) => self.carry_out(message),
            Err(error) => tracing::error!(name, %error, "a message has another form"),
        }
    }

    fn carry_out(&mut self, message: FromHost) {
        match message {
            FromHost::Apply(edit) => {
                let applied = self.buffer.apply(&edit);
                self.written(applied);
                self.save();
            }
            FromHost::Append(append) => {
                let applied = self.buffer.append(&append);
                self.written(applied);
            }
            FromHost::ReleaseAnchor(anchor) => self.buffer.release_anchor(anchor.anchor),
            FromHost::Notify(notice) => self.notice(&notice),
            FromHost::Event(event) => self.event(&event),
            FromHost::Ask(ask) => self.functions(&ask),
            FromHost::OpenText(question) => self.open_text(&question),
            FromHost::ReplaceText(question) => self.replace_text(&question),
            FromHost::Prompt(prompt) => self.prompt(prompt),
            FromHost::AnswerText(text) => self.output.words(&text),
            FromHost::Note(note) => self.output.note(&note),
            FromHost::WouldSend(request) => self.would_send(&request),
            FromHost::WouldRun(call) => self.would_run(&call),
            FromHost::ShownAgain(call) => self.ask_again(&call.id),
            FromHost::Drawing => {}
        }
    }

    fn written(&mut self, applied: Applied) {
        if applied.outcome == Outcome::Applied {
            self.saving.changed();
        }
        self.host.receive(FromEditor::Applied(applied));
    }

    fn notice(&mut self, notice: &Notice) {
        self.outcome.failed |= notice.level == "error";
        self.output.notice(notice);
    }

    fn event(&mut self, event: &Event) {
        match event.name.as_str() {
            "FlemmaRequestStarted" => {
                self.outcome.worked = true;
                self.tell_news();
                self.output.request_started();
            }
            "FlemmaRequestFinished" => {
                self.save();
                let status = &event.data["status"];
                self.outcome.failed |= status == "error";
                self.outcome.cut |= status == "limit";
                let calls = self.answer_has_calls();
                self.tell_news();
                self.output.request_finished(status, calls);
            }
            "FlemmaToolStarted" => {
                self.outcome.worked = true;
                self.output.event("tool_started", without_buffer(event));
            }
            "FlemmaToolDenied" => {
                let text = |name: &str| event.data[name].as_str().unwrap_or_default();
                let call = format!("{} ({})", text("tool_name"), text("tool_id"));
                self.outcome.denied.push(call);
                self.output.event("tool_denied", without_buffer(event));
            }
            "FlemmaToolFinished" => self.output.event("tool_finished", without_buffer(event)),
            "FlemmaRested" => {
                self.unsaid = event.data["queued"] != 0;
                self.outcome.stuck = event.data["stuck"] == true;
                self.rested(event.data["limit"] == true);
            }
            _ => {}
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

    /// The one function of this front end: what the command line approves.
    fn functions(&mut self, ask: &Ask) {
        let values = ask.calls.iter().map(|call| {
            let decision = key(&call.arguments).and_then(|call| self.approve.decide(&call.name));
            let word = match decision {
                Some(Decision::Deny) => json!("deny"),
                Some(Decision::Approve) => json!("approve"),
                _ if self.yes => json!("approve"),
                _ => Value::Null,
            };
            call.functions
                .iter()
                .map(|_| answer(word.clone()))
                .collect()
        });
        let values = values.collect();
        self.host.receive(FromEditor::Answered(Answered {
            ask: ask.ask,
            values,
        }));
    }

    /// The chat itself is open here; no other file is.
    fn open_text(&mut self, question: &OpenText) {
        let ask = question.ask;
        let answered = if self.is_open(&question.path) {
            let text = String::from_utf8_lossy(self.text().bytes()).into_owned();
            BuffersAnswered {
                ask,
                open: true,
                text: Some(text + "\n"),
                modified: true,
                ..BuffersAnswered::default()
            }
        } else {
            BuffersAnswered {
                ask,
                ..BuffersAnswered::default()
            }
        };
        self.host.receive(FromEditor::BuffersAnswered(answered));
    }

    fn replace_text(&mut self, question: &OpenText) {
        let message = "The chat cannot be changed by a tool that it runs.";
        self.host
            .receive(FromEditor::BuffersAnswered(BuffersAnswered {
                ask: question.ask,
                message: Some(message.to_owned()),
                ..BuffersAnswered::default()
            }));
    }

    fn is_open(&self, path: &str) -> bool {
        let real = tools::leads_to(std::path::Path::new(path));
        self.file.as_ref().is_some_and(|file| file.path() == real)
    }
}

fn answer(word: Value) -> FunctionAnswer {
    let kind = if word.is_null() { "nil" } else { "string" };
    FunctionAnswer {
        ok: true,
        value: word,
        kind: kind.to_owned(),
        message: None,
    }
}

fn without_buffer(event: &Event) -> Value {
    let mut data = event.data.clone();
    if let Some(data) = data.as_object_mut() {
        data.remove("bufnr");
    }
    data
}

/// The call that a function is asked about: its name and its arguments come first.
fn key(arguments: &[Value]) -> Option<CallKey> {
    Some(CallKey {
        id: ToolUseId::new("asked"),
        name: arguments.first()?.as_str()?.to_owned(),
        input: chat::json::canonical(arguments.get(1)?),
    })
}
