//! Lets a tool ask a model, `llmr.ai.completion` of the script tools specification: in a
//! separate conversation, with the chat's provider, key, and parameters.
//!
//! An agent holds the conversation. Tools that the model calls are calls inside a call, so
//! the chat's rules apply, and none of them waits for the user.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use agent::transport::WaitNote;
use agent::{Agent, Ended, Event, PromptRole, Provider, ToolContext, Usage};
use async_trait::async_trait;
use chat::Problem;
use policy::rules::Rules;
use provider::WebTools;
use tokio_util::sync::CancellationToken;
use tools::{ModelRequest, Models, Nested, Registry, state_dir};

use crate::credentials::Keyed;
use crate::endpoint::Destination;
use crate::protocol::BufferId;
use crate::route::Route;
use crate::usage::{RequestUsage, Tariff, UsageHistory};

/// Maximum number of requests for one question; the specification's library also stops after
/// ten.
const ROUNDS: u32 = 10;

/// The tools by which a model finds and runs others, so that it gets no definition that it did
/// not ask for. [`Nested`] decides whether one may run.
const FINDERS: [&str; 2] = ["execute_tool", "tool_search"];

/// Asks models for the tools of one call.
pub struct Completions {
    /// The rules of the chat.
    pub rules: Arc<Rules>,
    /// Finds where requests go.
    pub route: Route,
    /// Records usage and cost.
    pub usage: UsageHistory,
    /// The chat's buffer.
    pub buffer: BufferId,
    /// The chat's file.
    pub path: Option<PathBuf>,
    /// The chat's folder.
    pub folder: PathBuf,
    /// Requests that were made for this call.
    pub requests: AtomicU32,
}

const CANCELLED: &str = "Cancelled by the user.";

#[async_trait]
impl Models for Completions {
    async fn complete(
        &self,
        asked: ModelRequest,
        nested: Arc<dyn Nested>,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        let answer = self.answer(asked, nested);
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(CANCELLED.to_owned()),
            answer = answer => answer,
        }
    }
}

impl Completions {
    /// Answers a question. Dropping the future stops the request.
    async fn answer(&self, asked: ModelRequest, nested: Arc<dyn Nested>) -> Result<String, String> {
        let mut settings = self.rules.settings.clone();
        if let Some(model) = asked.model.as_ref().filter(|it| !it.is_empty()) {
            settings.model = Some(model.clone());
        }
        let note = |text: String| tracing::debug!(text, "a tool asks a model");
        let asker = Keyed {
            keys: self.route.keys.clone(),
            note: move |it: WaitNote| note(it.text),
        };
        let found = self
            .route
            .find(settings, &note)
            .await
            .map_err(|problem| sentences(&problem))?;
        // The tutor answers users, not tools.
        let Destination::Server(endpoint, mut parameters) = found else {
            return Err(
                "No provider is set up, so no model was asked. The user can set a key or the option \"provider\"."
                    .to_owned(),
            );
        };
        // The user allowed the web to the chat, not to what a tool asks.
        parameters.web = WebTools::default();
        let tariff = Tariff::of(&endpoint, &parameters);
        let provider = Provider::found(endpoint, *parameters).with_asker(Arc::new(asker));
        let mut context = ToolContext::new(".", state_dir::path().join("outputs"));
        context.exec.nested = nested;
        let (mut agent, words) = agent(provider, asked, context);
        let rounds = self.take_requests()?;
        agent = agent.with_max_turns(rounds);
        let (made, answer) = self.read(&mut agent, &words, rounds, &tariff).await;
        // A run never makes more requests than `rounds`; `min` only prevents an underflow.
        self.requests
            .fetch_sub(rounds - made.min(rounds), Ordering::Relaxed);
        answer
    }

    /// Takes the requests that a question may make from those that the call has left. The
    /// caller gives back those that were not made.
    fn take_requests(&self) -> Result<u32, String> {
        let most = self.rules.settings.tools.autopilot.max_turns;
        let take = |made: u32| Some(made + most.saturating_sub(made).min(ROUNDS));
        let order = Ordering::Relaxed;
        // Taken before they are made, because several completions may run at once. Unused ones
        // are given back.
        let made = self.requests.fetch_update(order, order, take);
        match made.map(|made| most.saturating_sub(made).min(ROUNDS)) {
            Ok(rounds) if rounds > 0 => Ok(rounds),
            _ => Err(too_many(most)),
        }
    }

    /// Reads the run to its end. Returns the number of requests, and the answer.
    async fn read(
        &self,
        agent: &mut Agent,
        words: &str,
        rounds: u32,
        tariff: &Tariff,
    ) -> (u32, Result<String, String>) {
        let (mut made, mut started, mut text) = (0, now(), String::new());
        // Where the text since the last event of another kind begins.
        let mut begin = 0;
        let mut run = agent.prompt(words);
        while let Some(event) = run.next().await {
            match event {
                Event::RequestStarted { number } => {
                    (made, started) = (number, now());
                    // Only the last answer counts: text before a call is about the call.
                    text.clear();
                    begin = 0;
                }
                Event::Text(more) => text.push_str(&more),
                Event::TextWasThinking => text.truncate(begin),
                Event::Thinking(_) | Event::ToolUse(_) => begin = text.len(),
                Event::RequestFinished { usages } => self.note_usage(usages, started, tariff),
                Event::Finished(ended) => {
                    return (
                        made,
                        self.ended(ended, rounds).map(|()| text.trim().to_owned()),
                    );
                }
                _ => {}
            }
        }
        (made, Err(CANCELLED.to_owned()))
    }

    fn ended(&self, ended: Ended, rounds: u32) -> Result<(), String> {
        match ended {
            Ended::Done => Ok(()),
            Ended::Failed(problem) => Err(sentences(&problem)),
            Ended::TurnLimit if rounds == ROUNDS => Err(format!(
                "The model called tools {ROUNDS} times in a row without giving an answer, so it was not asked again."
            )),
            Ended::TurnLimit => Err(too_many(self.rules.settings.tools.autopilot.max_turns)),
            Ended::Cancelled => Err(CANCELLED.to_owned()),
        }
    }

    fn note_usage(&self, usages: Vec<Usage>, started: u64, tariff: &Tariff) {
        if !usages.is_empty() {
            self.usage.add(RequestUsage {
                buffer: self.buffer,
                path: self.path.clone(),
                folder: self.folder.clone(),
                tariff: tariff.clone(),
                usages,
                time: (started, now()),
            });
        }
    }
}

/// Returns an agent with all messages of the question but the last, and the last one.
fn agent(provider: Provider, asked: ModelRequest, context: ToolContext) -> (Agent, String) {
    let mut agent = Agent::new(provider)
        .with_context(context)
        .with_max_concurrent(1)
        // Its only tools lead to calls inside a call, which the chat's rules decide about.
        .approve_all();
    if asked.tools {
        let built_in = Registry::builtin();
        let finders = FINDERS.iter().filter_map(|name| built_in.get(name));
        agent = agent.with_shared_tools(finders.collect());
    }
    let messages = asked.messages.into_iter();
    let mut said: Vec<_> = messages
        .filter(|said| !said.content.trim().is_empty())
        .collect();
    let system: Vec<String> = said
        .extract_if(.., |it| it.role == "system")
        .map(|it| it.content)
        .collect();
    if !system.is_empty() {
        agent = agent.with_system(&system.join("\n\n"));
    }
    // The last message becomes the prompt; the agent gets the others as the conversation so far.
    let words = said.pop().map(|it| it.content).unwrap_or_default();
    for earlier in said {
        let role = match earlier.role.as_str() {
            "assistant" => PromptRole::Assistant,
            _ => PromptRole::User,
        };
        agent = agent.with_said(role, &earlier.content);
    }
    (agent, words)
}

fn too_many(most: u32) -> String {
    format!(
        "This call has made {most} requests to models, the most that tools.autopilot.max_turns allows."
    )
}

fn sentences(problem: &Problem) -> String {
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
