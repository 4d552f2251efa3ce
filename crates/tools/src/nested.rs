//! A tool that calls another one: a search that runs what it found, a script.
//!
//! Who may call what is decided by whoever implements this.

use async_trait::async_trait;
use chat::tool::{ToolDefinition, ToolOutcome};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::search::{Entry, search};

/// What a call can reach of the other tools.
#[async_trait]
pub trait Nested: Send + Sync {
    /// The tools that can be called by name, also those that no model is offered.
    fn tools(&self) -> Vec<ToolDefinition>;

    /// Those of them that fit a few words, the best first, with how well they do; see
    /// [`crate::search`].
    fn search(&self, query: &str) -> Vec<(f64, ToolDefinition)> {
        let tools = self.tools();
        let entries = tools.iter().map(|tool| Entry {
            name: &tool.name,
            description: &tool.description,
            keywords: &[],
        });
        let hits = search(query, entries).into_iter();
        hits.map(|hit| (hit.score, tools[hit.at].clone())).collect()
    }

    /// Calls one by the same rules as if the model had, and waits for its end. What
    /// the rules do not approve ends in [`ToolOutcome::Failed`] with what the user can
    /// do about it. Ends soon after `cancel`.
    async fn call(&self, name: &str, input: Value, cancel: &CancellationToken) -> ToolOutcome;
}

/// Where a tool stands alone.
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
