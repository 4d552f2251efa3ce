//! A run: the requests and tool calls that answer one prompt.
//!
//! [`cycle::step`] of the crate `chat` decides what happens, as in the editor. This module
//! performs the effects and reports them as events. It makes progress only while
//! [`Run::next`] is awaited.

mod calls;
mod requests;

use std::collections::{HashMap, VecDeque};

use chat::Problem;
use chat::approval::CallKey;
use chat::cycle::{self, Effect, Options, Ruling};
use chat::prompt::PromptRole;
use chat::tool::{ToolDefinition, ToolOutcome};
use provider::{Endpoint, Parameters};
use tokio::task::AbortHandle;

use super::Agent;
use crate::event::{Ended, Event};
use crate::remote::{Remote, RunInput};

use self::calls::Running;
use self::requests::Open;

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
            Effect::Cursor { .. } | Effect::TellWaiting { .. } => {}
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
