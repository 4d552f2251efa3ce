//! A model with scripted answers, and tools that end when the test lets them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use agent::transport::Events;
use async_trait::async_trait;
use chat::Problem;
use chat::prompt::{Part, Prompt};
use chat::tool::ToolUseId;
use provider::{StopReason, StreamEvent, ToolUse};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tools::{Tool, ToolContext, ToolError, ToolResult};

use crate::endpoint::Destination;
use crate::models::{Models, Note};

/// The events of one answer. Without a terminal event it stays open for more.
pub type Answer = Vec<StreamEvent>;

/// Returns a complete answer with this text.
pub fn says(text: &str) -> Answer {
    let mut answer = begins(text);
    answer.push(StreamEvent::Stop(StopReason::EndTurn));
    answer
}

/// Returns the beginning of an answer.
pub fn begins(text: &str) -> Answer {
    vec![StreamEvent::Text(text.to_owned())]
}

/// Returns the end of an answer that began.
pub fn ends() -> Answer {
    vec![StreamEvent::Stop(StopReason::EndTurn)]
}

/// Returns an answer that fails.
pub fn fails(why: &str) -> Answer {
    vec![StreamEvent::Error(Problem::new(why, "Try again."))]
}

/// Returns an answer of calls: id, tool, and arguments.
pub fn calls<const N: usize>(calls: [(&str, &str, Value); N]) -> Answer {
    let mut answer = Vec::new();
    for (id, name, input) in calls {
        let (id, name, input) = (id.to_owned(), name.to_owned(), input.to_string());
        answer.push(StreamEvent::ToolUseStart { name: name.clone() });
        answer.push(StreamEvent::ToolUse(ToolUse { id, name, input }));
    }
    answer.push(StreamEvent::Stop(StopReason::ToolUse));
    answer
}

/// Returns a call of `echo`, which returns its text at once.
pub fn echo(id: &str) -> (&str, &'static str, Value) {
    (id, "echo", json!({"text": format!("{id} ran")}))
}

/// Returns a call of `wait`, which returns its text when the gate opens.
pub fn wait(id: &str) -> (&str, &'static str, Value) {
    (id, "wait", json!({"text": format!("{id} ran")}))
}

/// A model with scripted answers.
#[derive(Debug, Default)]
pub struct Script {
    answers: Mutex<VecDeque<Answer>>,
    prompts: Mutex<Vec<Prompt>>,
    open: Mutex<Option<Events>>,
    /// Notified about each request.
    asked: Arc<Notify>,
}

impl Script {
    /// Returns a model that notifies `asked` about each request that it leaves open.
    pub fn new(asked: Arc<Notify>) -> Self {
        Self {
            asked,
            ..Self::default()
        }
    }

    pub fn answers_next(&self, answer: Answer) {
        self.answers.lock().unwrap().push_back(answer);
    }

    /// Continues the open answer.
    pub fn continues(&self, more: Answer) {
        let open = self.open.lock().unwrap();
        drop(open.as_ref().expect("an open answer").send(more));
    }

    pub fn requests(&self) -> usize {
        self.prompts.lock().unwrap().len()
    }

    /// Returns the last message of the last request: text, and results with their ids.
    pub fn last_message(&self) -> Vec<String> {
        let prompts = self.prompts.lock().unwrap();
        let message = prompts.last().and_then(|it| it.messages.last());
        let parts = message.expect("a request").parts.iter();
        let parts = parts.map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::ToolResult {
                tool_use_id,
                content,
                is_error,
                ..
            } => {
                let mark = if *is_error { " (error)" } else { "" };
                format!("{tool_use_id}{mark}: {content}")
            }
            other => format!("{other:?}"),
        });
        parts.collect()
    }
}

#[async_trait]
impl Models for Script {
    async fn answer(
        &self,
        _destination: Destination,
        prompt: Prompt,
        events: Events,
        _note: Note,
        cancel: CancellationToken,
    ) {
        self.prompts.lock().unwrap().push(prompt);
        let answer = self.answers.lock().unwrap().pop_front();
        let answer = answer.unwrap_or_else(|| says("Done."));
        let is_whole = answer.last().is_some_and(StreamEvent::is_terminal);
        drop(events.send(answer));
        if !is_whole {
            *self.open.lock().unwrap() = Some(events);
            self.asked.notify_waiters();
            cancel.cancelled().await;
        }
    }
}

/// The tools `echo` and `wait`.
pub struct Echo {
    pub name: &'static str,
    /// The gate that `wait` waits for.
    pub gate: Option<Arc<Semaphore>>,
}

#[async_trait]
impl Tool for Echo {
    fn name(&self) -> &str {
        self.name
    }

    fn label(&self) -> &str {
        "Echo"
    }

    fn description(&self) -> &str {
        "Returns its text."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        })
    }

    async fn execute(
        &self,
        _id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        if let Some(gate) = &self.gate {
            tokio::select! {
                () = ctx.cancel.cancelled() => return Err(ToolError::Cancelled),
                permit = gate.acquire() => permit.map_or((), |it| it.forget()),
            }
        }
        let text = input["text"].as_str().unwrap_or_default();
        Ok(ToolResult::text(text))
    }
}
