//! Calls from one tool to another.
//!
//! The implementation decides which calls are allowed.

use async_trait::async_trait;
use chat::tool::{ToolDefinition, ToolOutcome};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::search::{SearchEntry, search};

/// The other tools that a call can reach.
#[async_trait]
pub trait Nested: Send + Sync {
    /// The tools that can be called by name, including those not offered to models.
    fn tools(&self) -> Vec<ToolDefinition>;

    /// The tools that match `query`, best first, with their scores; see [`crate::search`].
    fn search(&self, query: &str) -> Vec<(f64, ToolDefinition)> {
        let tools = self.tools();
        let entries = tools.iter().map(|tool| SearchEntry {
            name: &tool.name,
            description: &tool.description,
            keywords: &[],
        });
        let hits = search(query, entries).into_iter();
        hits.map(|hit| (hit.score, tools[hit.at].clone())).collect()
    }

    /// Calls a tool by the same rules as if the model had called it, and waits for the result.
    /// A call that the rules don't approve returns [`ToolOutcome::Failed`] with a text that
    /// says what the user can do. Stops soon after `cancel`.
    async fn call(&self, name: &str, input: Value, cancel: &CancellationToken) -> ToolOutcome;
}

/// An environment without other tools.
pub(crate) struct NoOthers;

#[async_trait]
impl Nested for NoOthers {
    fn tools(&self) -> Vec<ToolDefinition> {
        Vec::new()
    }

    async fn call(&self, name: &str, _input: Value, _cancel: &CancellationToken) -> ToolOutcome {
        ToolOutcome::Failed(format!(
            "\"{name}\" was not run: tools cannot call each other here."
        ))
    }
}
