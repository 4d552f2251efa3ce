//! Requests of a run and their answers.

use std::sync::Arc;

use async_trait::async_trait;
use chat::Problem;
use chat::cycle::{self, AnswerEnd};
use provider::{Endpoint, Secret, StreamEvent, TextCalls, Usage};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Run;
use crate::answer::{self, AnswerBuilder, AnswerEvent};
use crate::event::{Call, Event};
use crate::remote::RunInput;
use crate::transport::{self, Asker, WaitNote};

/// An open request.
pub(super) struct Open {
    number: u64,
    answer: AnswerBuilder,
    /// Text received so far.
    text: String,
    usage: Usage,
    /// Cancels the request when dropped.
    _stop: DropGuard,
}

/// Forwards a request's notes to the run, and key renewals to the program.
struct Notes {
    number: u64,
    inbox: mpsc::UnboundedSender<RunInput>,
    asker: Option<Arc<dyn Asker>>,
}

#[async_trait]
impl Asker for Notes {
    fn note(&self, note: WaitNote) {
        drop(self.inbox.send(RunInput::Waiting(self.number, note.text)));
    }

    async fn renew_key(&self, provider: &str) -> Option<Secret> {
        self.asker.as_ref()?.renew_key(provider).await
    }
}

/// Forwards the events of a request to the run.
async fn forward(
    number: u64,
    mut batches: mpsc::UnboundedReceiver<Vec<StreamEvent>>,
    mut text_calls: Option<TextCalls>,
    inbox: mpsc::UnboundedSender<RunInput>,
) {
    while let Some(mut batch) = batches.recv().await {
        // The model knows no tools, so its calls are part of its text.
        if let Some(calls) = &mut text_calls {
            batch = calls.read(batch);
        }
        drop(inbox.send(RunInput::Stream(number, batch)));
    }
    // Only used if the stream closes without a terminal event.
    let gone = Problem::new("The request ended without an answer.", "Prompt again.");
    drop(inbox.send(RunInput::Stream(number, vec![StreamEvent::Error(gone)])));
}

impl Run<'_> {
    pub(super) fn is_open(&self, number: u64) -> bool {
        self.request.as_ref().is_some_and(|it| it.number == number)
    }

    /// Sends the conversation as a new request.
    pub(super) fn send(&mut self) {
        let Some((endpoint, parameters)) = self.target.clone() else {
            return;
        };
        let prompt = self.agent.conversation.prompt(&self.offered);
        let messages = self.agent.conversation.new_messages(&prompt);
        self.events.extend(messages.into_iter().map(Event::Message));
        self.requests += 1;
        self.agent.requests += 1;
        // `finish` reports how the last request ended, so an earlier end no longer counts.
        (self.problem, self.cancelled) = (None, false);
        let number = self.agent.requests;
        let cancel = self.open(&endpoint);
        self.emit(Event::RequestStarted {
            number: self.requests,
        });
        let inbox = self.agent.inbox.clone();
        let text_calls = parameters
            .text_tools
            .then(|| TextCalls::new(prompt.all_tools().cloned().collect()));
        let (events, batches) = mpsc::unbounded_channel();
        let notes = Notes {
            number,
            inbox: inbox.clone(),
            asker: self.agent.provider.asker.clone(),
        };
        tokio::spawn(async move {
            transport::send(prompt, endpoint, parameters, events, &notes, cancel).await;
        });
        tokio::spawn(forward(number, batches, text_calls, inbox));
    }

    /// Opens the request with the latest number and returns its cancellation token.
    fn open(&mut self, endpoint: &Endpoint) -> CancellationToken {
        let cancel = CancellationToken::new();
        let mut answer = AnswerBuilder::to(&self.agent.conversation.document());
        answer.set_provider(&endpoint.provider);
        self.request = Some(Open {
            number: self.agent.requests,
            answer,
            text: String::new(),
            usage: Usage::default(),
            _stop: cancel.clone().drop_guard(),
        });
        cancel
    }

    /// Handles events of the request with this number. Events of an older request are
    /// ignored.
    pub(super) fn stream(&mut self, number: u64, events: Vec<StreamEvent>) {
        for event in events {
            // Events of a request that was broken off are dropped.
            if !self.is_open(number) {
                return;
            }
            self.stream_event(event);
        }
    }

    fn stream_event(&mut self, event: StreamEvent) {
        let Some(open) = &mut self.request else {
            return;
        };
        match &event {
            StreamEvent::Text(text) => self.events.push_back(Event::Text(text.clone())),
            StreamEvent::Thinking(text) => self.events.push_back(Event::Thinking(text.clone())),
            StreamEvent::Usage(usage) => open.usage.replace(*usage),
            StreamEvent::ThinkingRefused => self.agent.provider.leave_out_thinking(),
            _ => {}
        }
        let said = open.answer.take(event);
        open.text.push_str(&open.answer.text());
        match said {
            Some(AnswerEvent::Call(issued)) => {
                let input = chat::json::parse_object(&issued.input);
                let key = answer::key(&issued);
                // The cycle takes only recorded calls for a provider's; it asks about all
                // others.
                key.into_iter().for_each(|it| self.agent.cycle.record(it));
                self.emit(Event::ToolUse(Call {
                    id: chat::tool::ToolUseId::new(issued.id),
                    name: issued.name,
                    // Arguments that are no JSON are passed on as text.
                    input: input.unwrap_or_else(|_| issued.input.into()),
                }));
            }
            Some(AnswerEvent::TextWasThinking(start)) => {
                start.insert(&mut open.text);
                self.emit(Event::TextWasThinking);
            }
            Some(AnswerEvent::Remark(text)) => self.emit(Event::Remark(text)),
            Some(AnswerEvent::Complete) => self.end_answer(AnswerEnd::Complete),
            Some(AnswerEvent::Limited(problem)) => self.cut_off(problem, AnswerEnd::Limited),
            Some(AnswerEvent::Failed(problem)) => self.cut_off(problem, AnswerEnd::Failed),
            None => {}
        }
    }

    /// Ends the answer early, keeping the received part with the reason.
    fn cut_off(&mut self, problem: Problem, end: AnswerEnd) {
        if let Some(open) = &mut self.request {
            open.answer.break_off(&problem.what);
        }
        self.problem = Some(problem);
        self.end_answer(end);
    }

    /// Cancels the open request.
    pub(super) fn break_off(&mut self) {
        if let Some(open) = &mut self.request {
            open.answer.break_off("cancelled by the user");
        }
        self.end_answer(AnswerEnd::Cancelled);
    }

    fn end_answer(&mut self, end: AnswerEnd) {
        let Some(mut open) = self.request.take() else {
            return;
        };
        open.text.push_str(&open.answer.text());
        // A request that failed before its first word leaves no message.
        if !open.text.is_empty() {
            self.agent.conversation.answer(&open.text);
            let message = self.agent.conversation.new_answer();
            self.events.extend(message.map(Event::Message));
        }
        self.emit(Event::RequestFinished { usage: open.usage });
        self.waiting.push_back(cycle::CycleEvent::AnswerEnded(end));
    }
}
