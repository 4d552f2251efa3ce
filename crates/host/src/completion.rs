//! A model that a tool asks, `llmr.ai.completion` of document 5: a conversation of its
//! own that stands in no document, with the chat's provider, key and parameters.
//!
//! What the model calls goes by the rules of the chat, as a call inside a call; that
//! includes nothing that would wait for the user.

mod answer;
mod calls;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use agent::transport;
use async_trait::async_trait;
use chat::Problem;
use chat::prompt::{Part, Prompt, PromptMessage, PromptRole};
use provider::{Endpoint, Parameters, TextCalls, Usage};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tools::{Asked, Models, Nested};

use self::answer::{Answer, make_distinct};
use self::calls::{offer, results};
use crate::credentials::Keyed;
use crate::endpoint::Destination;
use crate::protocol::BufferId;
use crate::route;
use crate::settings::Settings;
use crate::usage::{Entry, Ledger, Tariff};

/// Most requests of one question: document 5's library stops after ten.
const ROUNDS: usize = 10;

/// Asks models for the tools of one call.
pub struct Completions {
    /// The chat's options.
    pub settings: Settings,
    /// Where what it costs is noted.
    pub ledger: Ledger,
    /// The chat's buffer.
    pub buffer: BufferId,
    /// The chat's file.
    pub path: Option<PathBuf>,
    /// Requests that were made for this call.
    pub requests: AtomicU32,
}

#[async_trait]
impl Models for Completions {
    async fn complete(
        &self,
        asked: Asked,
        nested: &dyn Nested,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        let mut settings = self.settings.clone();
        if let Some(model) = asked.model.as_ref().filter(|it| !it.is_empty()) {
            settings.model = Some(model.clone());
        }
        let note = |text: String| tracing::debug!(text, "a tool asks a model");
        let found = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(CANCELLED.to_owned()),
            found = route::find(settings, &note) => found,
        };
        let Destination::Server(endpoint, parameters) = found.map_err(told)? else {
            return Err(
                "No provider is set up, so no model was asked. The user can set a key or the option \"provider\"."
                    .to_owned(),
            );
        };
        let mut prompt = prompt(asked);
        for _ in 0..ROUNDS {
            let mut answer = self
                .request(&prompt, &endpoint, &parameters, cancel)
                .await?;
            if answer.calls.is_empty() {
                return Ok(answer.text.trim().to_owned());
            }
            make_distinct(&mut answer, &prompt);
            let results = results(&answer.calls, nested, cancel).await;
            prompt
                .messages
                .push(message(PromptRole::Assistant, answer.parts));
            prompt.messages.push(message(PromptRole::User, results));
        }
        Err(format!(
            "The model called tools {ROUNDS} times in a row and gave no answer, so it was not asked again."
        ))
    }
}

const CANCELLED: &str = "Cancelled by the user.";

impl Completions {
    /// Makes one request and waits for the whole answer.
    async fn request(
        &self,
        prompt: &Prompt,
        endpoint: &Endpoint,
        parameters: &Parameters,
        cancel: &CancellationToken,
    ) -> Result<Answer, String> {
        let most = self.settings.tools.autopilot.max_turns;
        if self.requests.fetch_add(1, Ordering::Relaxed) >= most {
            return Err(format!(
                "This call has made {most} requests to models, the most that tools.autopilot.max_turns allows."
            ));
        }
        let started = now();
        let (events, mut batches) = mpsc::unbounded_channel();
        let (to, with, asked) = (endpoint.clone(), parameters.clone(), prompt.clone());
        let asker = Keyed(|_| {});
        let stop = cancel.child_token();
        // Who stops waiting for the answer stops the request.
        let _guard = stop.clone().drop_guard();
        tokio::spawn(async move {
            transport::send(asked, to, with, events, &asker, stop).await;
        });
        let mut calls = parameters
            .text_tools
            .then(|| TextCalls::new(prompt.tools.clone()));
        let mut answer = Answer::default();
        let mut ended = Err(CANCELLED.to_owned());
        while let Some(mut batch) = batches.recv().await {
            if let Some(calls) = &mut calls {
                batch = calls.read(batch);
            }
            for event in batch {
                if let Some(end) = answer.take(event, &endpoint.provider) {
                    ended = end;
                }
            }
        }
        if answer.usage != Usage::default() {
            self.ledger.add(Entry {
                buffer: self.buffer,
                path: self.path.clone(),
                tariff: Tariff::of(endpoint, parameters),
                usage: answer.usage,
                time: (started, now()),
            });
        }
        ended.map(|()| answer)
    }
}

fn message(role: PromptRole, parts: Vec<Part>) -> PromptMessage {
    // Providers refuse blank text.
    let parts = parts.into_iter();
    let parts = parts.filter(|it| !matches!(it, Part::Text(text) if text.trim().is_empty()));
    PromptMessage {
        role,
        parts: parts.collect(),
    }
}

/// The conversation of a question. Messages of one role that follow each other are one.
fn prompt(asked: Asked) -> Prompt {
    let mut system = Vec::new();
    let mut messages: Vec<PromptMessage> = Vec::new();
    for said in asked.messages {
        let role = match said.role.as_str() {
            "system" => {
                system.push(said.content);
                continue;
            }
            "assistant" => PromptRole::Assistant,
            _ => PromptRole::User,
        };
        if said.content.trim().is_empty() {
            continue;
        }
        let part = Part::Text(said.content);
        match messages.last_mut().filter(|last| last.role == role) {
            Some(last) => last.parts.push(part),
            None => messages.push(message(role, vec![part])),
        }
    }
    Prompt {
        system: (!system.is_empty()).then(|| system.join("\n\n")),
        messages,
        tools: if asked.tools { offer() } else { Vec::new() },
    }
}

fn told(problem: Problem) -> String {
    format!("{} {}", problem.what, problem.fix)
        .trim()
        .to_owned()
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let time = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
