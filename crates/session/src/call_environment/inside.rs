//! Lets a running call use the other tools, up to three calls deep.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use chat::approval::CallKey;
use chat::tool::{ToolDefinition, ToolOutcome, ToolUseId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tools::{Nested, Progress};

use super::CallEnvironment;

/// Maximum depth of calls inside calls.
const DEEPEST: usize = 3;

/// The other tools, for one call.
pub(super) struct Inside {
    around: CallEnvironment,
    outer: ToolUseId,
    depth: usize,
    /// Number of calls that it made.
    calls: AtomicU64,
}

#[async_trait]
impl Nested for Inside {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.around.rules.options.tools.values().cloned().collect()
    }

    fn search(&self, query: &str) -> Vec<(f64, ToolDefinition)> {
        let here = &self.around.rules.options.tools;
        let found = self.around.shared.registry.search(query).into_iter();
        // A search must not find a tool that the chat leaves out.
        let found = found.filter(|(_, tool)| here.contains_key(tool.name()));
        found
            .map(|(score, tool)| (score, tool.definition()))
            .collect()
    }

    async fn call(&self, name: &str, input: Value, cancel: &CancellationToken) -> ToolOutcome {
        match self.run(name, input, cancel).await {
            Ok(outcome) => outcome,
            Err(why) => ToolOutcome::Failed(why),
        }
    }
}

impl Inside {
    pub(super) fn new(around: CallEnvironment, outer: &ToolUseId, depth: usize) -> Self {
        Self {
            around,
            outer: outer.clone(),
            depth,
            calls: AtomicU64::new(0),
        }
    }

    async fn run(
        &self,
        name: &str,
        input: Value,
        cancel: &CancellationToken,
    ) -> Result<ToolOutcome, String> {
        if self.depth >= DEEPEST {
            return Err(format!(
                "\"{name}\" was not run: calls are nested {DEEPEST} deep already."
            ));
        }
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let call = CallKey {
            // The log shows by the ID which call made this one.
            id: ToolUseId::new(format!("{}/{number}", self.outer)),
            name: name.to_owned(),
            input: chat::json::canonical(&input),
        };
        let way_out = format!(
            "a call inside a call cannot wait for the user. It runs when the user adds \"{name}\" \
             to tools.auto_approve, or when you call it yourself."
        );
        let progress = Progress::default();
        let around = &self.around;
        around
            .run(call, input, progress, cancel, self.depth, &way_out)
            .await
    }
}
