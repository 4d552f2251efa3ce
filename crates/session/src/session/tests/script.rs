//! A model with scripted answers, and tools that end when the test lets them.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use agent::transport::Events;
use async_trait::async_trait;
use chat::Problem;
use chat::prompt::{Part, Prompt, PromptMessage, PromptRole};
use chat::tool::ToolUseId;
use provider::{StopReason, StreamEvent, ToolUse};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tools::{Tool, ToolContext, ToolError, ToolResult};

use crate::endpoint::Destination;
use crate::models::{ModelBackend, WaitReporter};

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
    let calls = calls.into_iter();
    let mut answer: Answer = calls
        .flat_map(|(id, name, input)| call(id, name, &input.to_string()))
        .collect();
    answer.push(StreamEvent::Stop(StopReason::ToolUse));
    answer
}

/// Returns the events of one call, whose arguments may be anything.
pub fn call(id: &str, name: &str, input: &str) -> Answer {
    let [id, name, input] = [id, name, input].map(str::to_owned);
    let start = StreamEvent::ToolUseStart { name: name.clone() };
    vec![start, StreamEvent::ToolUse(ToolUse { id, name, input })]
}

/// Returns a call of `echo`, which returns its text at once.
pub fn echo(id: &str) -> (&str, &'static str, Value) {
    (id, "echo", json!({"text": format!("{id} ran")}))
}

/// Returns a call of `wait`, which returns its text when the gate opens.
pub fn wait(id: &str) -> (&str, &'static str, Value) {
    (id, "wait", json!({"text": format!("{id} ran")}))
}

/// Returns a call of `read`.
pub fn read<'a>(id: &'a str, path: &str) -> (&'a str, &'static str, Value) {
    (id, "read", json!({"path": path}))
}

/// Returns a call of `bash`.
pub fn bash<'a>(id: &'a str, command: &str) -> (&'a str, &'static str, Value) {
    (id, "bash", json!({"command": command}))
}

/// A model with scripted answers.
#[derive(Debug, Default)]
pub struct Script {
    answers: Mutex<VecDeque<Answer>>,
    prompts: Mutex<Vec<(Destination, Prompt)>>,
    open: Mutex<Option<Events>>,
    /// The tokens of every prompt, if they are counted.
    tokens: Mutex<Option<u64>>,
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

    /// Counts this many tokens in every prompt.
    pub fn counts(&self, tokens: u64) {
        *self.tokens.lock().unwrap() = Some(tokens);
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
        let (_, prompt) = prompts.last().expect("a request");
        expect_valid(prompt);
        prompt.messages.last().map(shown).unwrap()
    }

    /// Returns the last request, without its destination.
    pub fn prompt(&self) -> Prompt {
        let prompts = self.prompts.lock().unwrap();
        let (_, prompt) = prompts.last().expect("a request");
        expect_valid(prompt);
        prompt.clone()
    }

    /// Returns the body of the last request, encoded for its provider.
    pub fn body(&self) -> Value {
        let prompts = self.prompts.lock().unwrap();
        let (destination, prompt) = prompts.last().expect("a request");
        let Destination::Server(endpoint, parameters) = destination else {
            panic!("the request has no provider");
        };
        let request = provider::encode(prompt, endpoint, parameters).unwrap();
        serde_json::from_slice(&request.body).unwrap()
    }

    /// Returns the names of the tools that the last request offers.
    pub fn offered(&self) -> Vec<String> {
        self.prompt().tools.into_iter().map(|it| it.name).collect()
    }
}

/// Returns the parts of a message: text, and results with their ids.
pub fn shown(message: &PromptMessage) -> Vec<String> {
    let parts = message.parts.iter().map(|part| match part {
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

/// Fails if a provider would refuse the conversation: the speakers take turns, the user has
/// the first and the last word, and each call is answered once, in the next message.
fn expect_valid(prompt: &Prompt) {
    let mut open: Vec<&ToolUseId> = Vec::new();
    let messages = prompt.messages.iter();
    let messages: Vec<_> = messages
        .filter(|it| it.role != PromptRole::System)
        .collect();
    for (at, message) in messages.iter().enumerate() {
        let role = [PromptRole::User, PromptRole::Assistant][at % 2];
        assert_eq!(message.role, role, "{prompt:#?}");
        let results = message.parts.iter().filter_map(|it| match it {
            Part::ToolResult { tool_use_id, .. } => Some(tool_use_id),
            _ => None,
        });
        assert_eq!(results.collect::<Vec<_>>(), open, "{prompt:#?}");
        let calls = message.parts.iter().filter_map(|it| match it {
            Part::ToolUse { id, .. } => Some(id),
            _ => None,
        });
        open = calls.collect();
        let ids: HashSet<_> = open.iter().collect();
        assert_eq!(ids.len(), open.len(), "{prompt:#?}");
    }
    assert_eq!(messages.len() % 2, 1, "{prompt:#?}");
}

#[async_trait]
impl ModelBackend for Script {
    async fn count_tokens(&self, _destination: &Destination, _prompt: &Prompt) -> Option<u64> {
        *self.tokens.lock().unwrap()
    }

    async fn answer(
        &self,
        destination: Destination,
        prompt: Prompt,
        events: Events,
        _note: WaitReporter,
        cancel: CancellationToken,
    ) {
        self.prompts.lock().unwrap().push((destination, prompt));
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
