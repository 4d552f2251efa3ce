//! A run: the requests and tool calls that answer one prompt.
//!
//! [`cycle::step`] of the crate `chat` decides what happens, as in the editor. This module
//! performs the effects and reports them as events. It makes progress only while
//! [`Run::next`] is awaited.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use async_trait::async_trait;
use chat::Problem;
use chat::approval::{self, CallKey, Question};
use chat::cycle::{self, AnswerEnd, Effect, Options, Ruling};
use chat::prompt::PromptRole;
use chat::server_tools::ExactAnswer;
use chat::tool::{ToolDefinition, ToolOutcome};
use provider::{Endpoint, Parameters, Secret, StreamEvent, TextCalls, Usage};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tools::{Progress, Ran, ToolContext};

use super::approval::Approval;
use super::{Agent, Call, Ended, Event, Remote, RunInput};
use crate::answer::{self, AnswerBuilder, AnswerEvent};
use crate::transport::{self, Asker, WaitNote};

/// The run that answers a prompt. Dropping it cancels requests and calls.
#[must_use = "nothing happens until its events are read"]
pub struct Run<'a> {
    agent: &'a mut Agent,
    /// Options of the cycle.
    options: Options,
    /// Endpoint and parameters of requests; `None` if the setup failed.
    target: Option<(Endpoint, Parameters)>,
    /// Tools offered to the model.
    offered: Vec<ToolDefinition>,
    /// Events that the cycle has not handled yet.
    waiting: VecDeque<cycle::CycleEvent>,
    /// Events that the program has not read yet.
    events: VecDeque<Event>,
    request: Option<Open>,
    /// Number of requests in this run.
    requests: u32,
    running: HashMap<CallKey, Running>,
    /// Calls that wait for the program's decision.
    asked: HashMap<CallKey, AbortHandle>,
    /// Calls that do not run and whose reason was not reported yet.
    refused: Vec<CallKey>,
    cancelled: bool,
    problem: Option<Problem>,
    finished: bool,
}

impl<'a> Run<'a> {
    pub(super) fn start(agent: &'a mut Agent, words: &str, early: VecDeque<String>) -> Self {
        let offered = agent.registry.iter().map(|tool| tool.definition());
        let offered = offered.collect();
        let mut run = Self {
            agent,
            options: Options::default(),
            target: None,
            offered,
            waiting: VecDeque::new(),
            events: VecDeque::new(),
            request: None,
            requests: 0,
            running: HashMap::new(),
            asked: HashMap::new(),
            refused: Vec::new(),
            cancelled: false,
            problem: None,
            finished: false,
        };
        // Reported by the first `next`, so that all failures come as events.
        if let Err(problem) = run.set_up(words) {
            run.problem = Some(problem);
            return run;
        }
        run.agent.conversation.say(words);
        run.waiting.push_back(cycle::CycleEvent::Advance);
        // Messages that were queued before this prompt are sent after its answer.
        run.waiting
            .extend(early.into_iter().map(cycle::CycleEvent::FollowUp));
        run
    }

    fn set_up(&mut self, words: &str) -> Result<(), Problem> {
        self.options = self.agent.options()?;
        self.target = Some(self.agent.provider.target()?);
        if words.trim().is_empty() {
            let fix = "Prompt with a text that is not blank.";
            return Err(Problem::new("There is nothing to send.", fix));
        }
        Ok(())
    }

    /// Waits for the next event; `None` after [`Event::Finished`]. Cancel-safe. Requires a
    /// tokio runtime.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.finished {
                return None;
            }
            self.go_on();
            if !self.events.is_empty() {
                continue;
            }
            if self.is_over() {
                self.finish();
                continue;
            }
            let input = self.agent.inputs.recv().await;
            // Never `None`, because the agent holds a sender too.
            input.into_iter().for_each(|input| self.handle(input));
        }
    }

    /// Runs to the end and returns the text of the last answer.
    ///
    /// # Errors
    ///
    /// The run ended in any way other than [`Ended::Done`].
    pub async fn answer(mut self) -> Result<String, Ended> {
        let mut text = String::new();
        // Where the text since the last event of another kind begins.
        let mut begin = 0;
        while let Some(event) = self.next().await {
            match event {
                // Only the last answer counts; text before a call is a comment on it.
                Event::RequestStarted { .. } => {
                    text.clear();
                    begin = 0;
                }
                Event::Text(more) => text.push_str(&more),
                Event::TextWasThinking => text.truncate(begin),
                Event::Thinking(_) | Event::ToolUse(_) => begin = text.len(),
                Event::Finished(Ended::Done) => return Ok(text),
                Event::Finished(ended) => return Err(ended),
                _ => {}
            }
        }
        Ok(text)
    }

    /// Returns a handle that can steer or cancel the run from another task.
    pub fn remote(&self) -> Remote {
        self.agent.remote()
    }

    /// Steers the model, see [`Remote::steer`].
    pub fn steer(&self, words: impl Into<String>) {
        self.remote().steer(words);
    }

    /// Queues a message, see [`Remote::follow_up`].
    pub fn follow_up(&self, words: impl Into<String>) {
        self.remote().follow_up(words);
    }

    /// Cancels the run, see [`Remote::cancel`].
    pub fn cancel(&self) {
        self.remote().cancel();
    }

    fn handle(&mut self, input: RunInput) {
        match input {
            RunInput::Stream(number, events) => self.stream(number, events),
            RunInput::Waiting(number, text) if self.is_open(number) => {
                self.emit(Event::Waiting(text))
            }
            // A note of a request that was broken off.
            RunInput::Waiting(..) => {}
            RunInput::Output(id, text) => self.emit(Event::ToolOutput { id, text }),
            RunInput::Ended(call, ran) => self.call_ended(call, ran),
            RunInput::Decided(call, may_run) => self.call_decided(call, may_run),
            RunInput::Steer(words) => self.waiting.push_back(cycle::CycleEvent::Steer(words)),
            RunInput::FollowUp(words) => self.waiting.push_back(cycle::CycleEvent::FollowUp(words)),
            RunInput::Cancel => self.stop(),
        }
    }

    fn emit(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Handles events until the run has to wait.
    fn go_on(&mut self) {
        while let Some(event) = self.waiting.pop_front() {
            let document = self.agent.conversation.document();
            let effects = cycle::step(&mut self.agent.cycle, event, &document, &self.options);
            effects.into_iter().for_each(|effect| self.perform(effect));
            self.emit_refused();
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Edit(edits) => {
                self.agent.conversation.apply(edits);
                // The cycle decides about the changed text before anything else.
                self.waiting.push_front(cycle::CycleEvent::Continue);
            }
            Effect::Send => self.send(),
            Effect::CancelRequest => self.break_off(),
            Effect::Run { call, input, .. } => self.run_call(call, input),
            Effect::CancelTools(calls) => self.cancel_calls(&calls),
            Effect::Ask(questions) => questions.into_iter().for_each(|it| self.ask(it)),
            Effect::Record(decided) => {
                let refused = decided.into_iter();
                let refused = refused.filter(|it| it.ruling != Ruling::Approved);
                self.refused.extend(refused.map(|it| it.call));
            }
            // Notices are written for users; a program gets events.
            Effect::Notify(notice) => tracing::debug!(notice.text),
            // A program has no cursor and presses no keys.
            Effect::Cursor { .. } | Effect::TellWaiting { .. } | Effect::Summarize(_) => {}
        }
    }

    /// Reports why calls did not run, once their results are in the conversation. Cancelled
    /// calls that were running report their own end.
    fn emit_refused(&mut self) {
        for call in std::mem::take(&mut self.refused) {
            match self.agent.conversation.result(&call.id) {
                Some(why) => self.emit(Event::ToolNotRun {
                    id: call.id,
                    name: call.name,
                    why,
                }),
                None if self.running.contains_key(&call) => {}
                // The result is written by a later step; report it then.
                None => self.refused.push(call),
            }
        }
    }

    /// Cancels the run.
    fn stop(&mut self) {
        if self.is_over() {
            return;
        }
        self.cancelled = true;
        self.waiting.push_back(cycle::CycleEvent::Cancel);
        self.go_on();
        self.stop_asking();
    }

    /// Returns true if nothing is in progress and no event is left to handle.
    fn is_over(&self) -> bool {
        let idle = self.running.is_empty() && self.asked.is_empty() && self.request.is_none();
        idle && self.waiting.is_empty()
    }

    fn finish(&mut self) {
        self.finished = true;
        // The tools offered do not change the messages.
        let prompt = self.agent.conversation.prompt(&[]);
        let messages = self.agent.conversation.new_messages(&prompt);
        self.events.extend(messages.into_iter().map(Event::Message));
        let says_last = prompt.messages.last().map(|it| it.role);
        let ended = if let Some(problem) = self.problem.take() {
            Ended::Failed(problem)
        } else if self.cancelled {
            Ended::Cancelled
        } else if self.agent.cycle.reached_limit() {
            let requests = self.agent.cycle.turns();
            self.emit(Event::TurnLimit { requests });
            Ended::TurnLimit
        } else if self.agent.cycle.is_stuck() {
            let what = "The model made the same call with the same error in 3 requests, so it was not asked again.";
            let fix = "Prompt it with what it should do instead.";
            Ended::Failed(Problem::new(what, fix))
        } else if says_last == Some(PromptRole::User) {
            // The cycle stops here rather than send the same error forever.
            let what =
                "The model wrote unreadable calls twice in a row, so it was not asked again.";
            Ended::Failed(Problem::new(what, "Prompt it again."))
        } else {
            Ended::Done
        };
        self.emit(Event::Finished(ended));
    }
}

impl Drop for Run<'_> {
    /// Cancels what is in progress and gives each call a result, so that the conversation
    /// can continue.
    fn drop(&mut self) {
        if self.finished || self.is_over() {
            return;
        }
        self.stop();
        // Their tasks can't report their end any more, because no `next` follows.
        let cut = || ToolOutcome::Cancelled("Cancelled by the user.".to_owned());
        let running = self.running.drain().map(|(call, _)| (call, cut()));
        let ended: Vec<_> = running.collect();
        self.waiting
            .push_back(cycle::CycleEvent::ToolsFinished(ended));
        self.go_on();
    }
}

/// A running call.
struct Running {
    cancel: CancellationToken,
    label: String,
}

impl Run<'_> {
    /// Asks the program whether a call may run.
    fn ask(&mut self, question: Question) {
        let Question { call, input, .. } = question;
        let asked = self.agent.approval.may_run(Call {
            id: call.id.clone(),
            name: call.name.clone(),
            input,
        });
        let inbox = self.agent.inbox.clone();
        let asking = tokio::spawn(asked);
        self.asked.insert(call.clone(), asking.abort_handle());
        tokio::spawn(async move {
            // A panic in the program's function counts as a refusal.
            let may_run = asking.await.unwrap_or_default();
            // Sending fails only after the agent was dropped.
            drop(inbox.send(RunInput::Decided(call, may_run)));
        });
    }

    /// Handles the program's decision about a call.
    fn call_decided(&mut self, call: CallKey, may_run: bool) {
        // After a cancel the question was answered already.
        if self.asked.remove(&call).is_some() {
            let answers = Approval::answers(call, may_run);
            self.waiting
                .push_back(cycle::CycleEvent::ResolverAnswered(answers));
        }
    }

    /// Stops waiting for decisions; undecided calls do not run.
    fn stop_asking(&mut self) {
        let asked: Vec<CallKey> = self.asked.keys().cloned().collect();
        for call in asked {
            if let Some(asking) = self.asked.get(&call) {
                asking.abort();
            }
            self.call_decided(call, false);
        }
    }

    /// Returns a context whose output goes to the run.
    fn context_of(&self, call: &CallKey) -> ToolContext {
        let (inbox, id) = (self.agent.inbox.clone(), call.id.clone());
        ToolContext {
            cancel: CancellationToken::new(),
            progress: Progress::new(move |text| {
                drop(inbox.send(RunInput::Output(id.clone(), text.to_owned())));
            }),
            ..self.agent.context.clone()
        }
    }

    /// Starts an approved call.
    fn run_call(&mut self, call: CallKey, input: Value) {
        let (name, input) = match approval::inside(&call.name, &input) {
            // Approval was decided for the inner call, so run that one.
            Some((inner, arguments)) if self.agent.registry.get(inner).is_some() => {
                (inner.to_owned(), arguments)
            }
            // The inner tool is nested; the outer tool runs it.
            _ => (call.name.clone(), input),
        };
        let Some(tool) = self.agent.registry.get(&name) else {
            let gone = ToolOutcome::Failed(format!("There is no tool named \"{name}\"."));
            let ended = vec![(call, gone)];
            return self
                .waiting
                .push_back(cycle::CycleEvent::ToolsFinished(ended));
        };
        let context = self.context_of(&call);
        let label = tool.label().to_owned();
        self.emit(Event::ToolStarted {
            call: Call {
                id: call.id.clone(),
                name: call.name.clone(),
                input: input.clone(),
            },
            label: label.clone(),
        });
        let cancel = context.cancel.clone();
        self.running.insert(call.clone(), Running { cancel, label });
        let inbox = self.agent.inbox.clone();
        tokio::spawn(async move {
            let ran = tools::run_in_full(tool, call.id.clone(), input, context).await;
            drop(inbox.send(RunInput::Ended(call, ran)));
        });
    }

    fn call_ended(&mut self, call: CallKey, ran: Ran) {
        // A call of an earlier run, which has a result already.
        let Some(Running { label, .. }) = self.running.remove(&call) else {
            return;
        };
        let (content, is_error) = match &ran.outcome {
            ToolOutcome::Done { content, .. } => (content, false),
            ToolOutcome::Failed(text) | ToolOutcome::Cancelled(text) => (text, true),
        };
        self.emit(Event::ToolFinished {
            id: call.id.clone(),
            name: call.name.clone(),
            label,
            content: content.clone(),
            is_error,
            details: ran.details,
        });
        self.agent.conversation.keep_files(&call.id, ran.files);
        // `ToolFinished` has reported the end already.
        self.refused.retain(|refused| *refused != call);
        let ended = vec![(call, ran.outcome)];
        self.waiting
            .push_back(cycle::CycleEvent::ToolsFinished(ended));
    }

    fn cancel_calls(&self, calls: &[CallKey]) {
        for running in calls.iter().filter_map(|call| self.running.get(call)) {
            running.cancel.cancel();
        }
    }
}

/// An open request.
struct Open {
    number: u64,
    answer: AnswerBuilder,
    /// Text received so far.
    text: String,
    usage: Usage,
    /// Usage of the requests before it whose answer was paused.
    paused: Vec<Usage>,
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
    fn is_open(&self, number: u64) -> bool {
        self.request.as_ref().is_some_and(|it| it.number == number)
    }

    /// Sends the conversation as a new request.
    fn send(&mut self) {
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
            paused: Vec::new(),
            _stop: cancel.clone().drop_guard(),
        });
        cancel
    }

    /// Handles events of the request with this number. Events of an older request are
    /// ignored.
    fn stream(&mut self, number: u64, events: Vec<StreamEvent>) {
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
            StreamEvent::Paused => open.paused.push(std::mem::take(&mut open.usage)),
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
                    // Arguments that are not valid JSON are passed on as text.
                    input: input.unwrap_or_else(|_| issued.input.into()),
                }));
            }
            Some(AnswerEvent::TextWasThinking(start)) => {
                start.insert(&mut open.text);
                self.emit(Event::TextWasThinking);
            }
            Some(AnswerEvent::Remark(text)) => self.emit(Event::Remark(text)),
            Some(AnswerEvent::Complete(exact)) => self.end_answer(AnswerEnd::Complete, exact),
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
        self.end_answer(end, None);
    }

    /// Cancels the open request.
    fn break_off(&mut self) {
        if let Some(open) = &mut self.request {
            open.answer.break_off("cancelled by the user");
        }
        self.end_answer(AnswerEnd::Cancelled, None);
    }

    fn end_answer(&mut self, end: AnswerEnd, exact: Option<ExactAnswer>) {
        let Some(mut open) = self.request.take() else {
            return;
        };
        open.text.push_str(&open.answer.text());
        // A request that failed before its first word leaves no message.
        if !open.text.is_empty() {
            self.agent.conversation.answer(&open.text, exact);
            let message = self.agent.conversation.new_answer();
            self.events.extend(message.map(Event::Message));
        }
        let mut usages = open.paused;
        usages.push(open.usage);
        usages.retain(|it| *it != Usage::default());
        self.emit(Event::RequestFinished { usages });
        self.waiting.push_back(cycle::CycleEvent::AnswerEnded(end));
    }
}
