//! A conversation with a model that calls tools, for any Rust program.
//!
//! ```no_run
//! use agent::{Agent, Event, Provider, default_tools};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), agent::Problem> {
//! let mut agent = Agent::new(Provider::from_environment()?).with_tools(default_tools());
//! let mut run = agent.prompt("What is in Cargo.toml?");
//! while let Some(event) = run.next().await {
//!     match event {
//!         Event::Text(text) => print!("{text}"),
//!         Event::ToolStarted { call, label } => println!("[{label}] {}", call.input),
//!         Event::Finished(ended) => println!("\n{ended:?}"),
//!         _ => {}
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! To add a [`Tool`] of your own, push it to the list:
//!
//! ```
//! use agent::{Tool, ToolContext, ToolError, ToolResult, ToolUseId, Value, async_trait, json};
//!
//! struct Weather;
//!
//! #[async_trait]
//! impl Tool for Weather {
//!     fn name(&self) -> &str {
//!         "get_weather"
//!     }
//!     fn label(&self) -> &str {
//!         "Weather"
//!     }
//!     fn description(&self) -> &str {
//!         "Get current weather for a city."
//!     }
//!     fn input_schema(&self) -> Value {
//!         json!({"type": "object", "properties": {"city": {"type": "string"}}})
//!     }
//!     async fn execute(&self, _id: &ToolUseId, input: Value, _ctx: ToolContext) -> Result<ToolResult, ToolError> {
//!         let city = input["city"].as_str();
//!         let city = city.ok_or_else(|| ToolError::InvalidInput("missing city".to_owned()))?;
//!         Ok(ToolResult::text(format!("Weather in {city}: 72°F, sunny")))
//!     }
//! }
//!
//! # use agent::{Agent, Event, Provider};
//! # async fn ask() -> Result<(), agent::Problem> {
//! let mut tools = agent::default_tools();
//! tools.push(Box::new(Weather)); // implements agent::Tool
//! let mut agent = Agent::new(Provider::from_environment()?).with_tools(tools).approve(["get_weather"]);
//! let mut run = agent.prompt("Do I need a coat in Oslo?");
//! while let Some(event) = run.next().await { /* Event::Text, Event::ToolStarted, … */ }
//! # Ok(()) }
//! ```
//!
//! A chat in the editor follows the same rules, with the same code ([`chat::cycle`]): a
//! call runs only if a name or a function approves it; a call that cannot run ends in an
//! error result for the model; every request is counted; text of a model or a tool never
//! becomes a call. The conversation is the text of a `.chat` file ([`Agent::chat`]).
//!
//! Knows no editor, and no options except those that the program sets.

mod agent;
pub mod answer;
mod provider;
pub mod transport;

pub use self::agent::{Agent, Call, Ended, Event, Remote, Run};
pub use self::provider::Provider;

pub use ::provider::{Patience, Thinking, ThinkingLevel, Usage};
pub use async_trait::async_trait;
pub use chat::Problem;
pub use chat::prompt::{Part, PromptMessage, PromptRole};
pub use chat::tool::{ToolDefinition, ToolUseId};
pub use serde_json::{Value, json};
pub use tokio_util::sync::CancellationToken;
pub use tools::{Progress, Sandbox, Tool, ToolContext, ToolError, ToolResult, default_tools};
