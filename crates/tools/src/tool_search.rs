//! `tool_search` and `execute_tool`: tools that are not part of the request, found by a query
//! and called by name.
//!
//! `search` ranks the matches. The rules decide about a call of `execute_tool` as about the
//! call inside it, and normally the session runs that call directly. Without a session,
//! `execute_tool` runs it through `ctx.exec.nested`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::approval::{EXECUTE_TOOL, inside};
use chat::tool::{ToolDefinition, ToolOutcome, ToolUseId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::builtin::{BuiltIn, STANDARD, TypedTool};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::nested::Nested;
use crate::schema;
use crate::tool::{CallResult, Tool, ToolResult, ToolTraits};

/// Default maximum number of results; each contains a long schema.
const MOST: usize = 10;
/// The time limit of `execute_tool`: that of the longest call inside it.
const LONGEST: Duration = Duration::from_secs(3605);

/// The tool `tool_search`.
pub(crate) struct ToolSearch;

/// The tool `execute_tool`.
pub(crate) struct ExecuteTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Words {
    /// What the tool should do, in a few words, or its name.
    query: String,
    /// Most tools to return, 10 unless given. An empty query returns all.
    max_results: Option<f64>,
}

impl Words {
    /// The maximum number of results.
    fn most(&self) -> Result<usize, ToolError> {
        match self.max_results {
            None if self.query.trim().is_empty() => Ok(usize::MAX),
            None => Ok(MOST),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a cast of a float saturates"
            )]
            Some(most) if most >= 1.0 => Ok(most as usize),
            Some(most) => Err(ToolError::InvalidInput(format!(
                "\"max_results\" is {most} and must be at least 1. Nothing was searched."
            ))),
        }
    }
}

/// The row of `tool_search`.
pub(crate) const SEARCH: BuiltIn = BuiltIn {
    preset: Some(STANDARD),
    ..BuiltIn::new("tool_search", |_| Box::new(ToolSearch))
};

impl TypedTool for ToolSearch {
    type Arguments = Words;
    type Needs = Arc<dyn Nested>;

    const NAME: &'static str = "tool_search";
    const LABEL: &'static str = "Find a tool";
    const DESCRIPTION: &'static str = "Find tools that are not in your list, by their name or by what they do. Returns the best with \
        their arguments as JSON; run one with execute_tool.";

    async fn call(&self, words: Words, _id: &ToolUseId, nested: Arc<dyn Nested>) -> CallResult {
        let most = words.most()?;
        let found = nested.search(&words.query);
        // Neither is of use inside `execute_tool`.
        let is_other = |tool: &ToolDefinition| tool.name != Self::NAME && tool.name != EXECUTE_TOOL;
        let found = found.into_iter().filter(|(_, tool)| is_other(tool));
        let found: Vec<Value> = found
            .take(most)
            .map(|(score, tool)| entry(score, &tool))
            .collect();
        let text = if found.is_empty() {
            format!("No tool fits \"{}\". Try other words.", words.query)
        } else {
            serde_json::to_string_pretty(&found).unwrap_or_default()
        };
        Ok(ToolResult::text(text))
    }
}

/// Formats a result. A score without a fraction is an integer.
fn entry(score: f64, tool: &ToolDefinition) -> Value {
    let rounded = (score * 100.0).round() / 100.0;
    let score = if rounded == 1.0 {
        json!(1)
    } else {
        json!(rounded)
    };
    json!({
        "name": tool.name,
        "description": tool.description,
        "score": score,
        "inputSchema": tool.input_schema,
    })
}

/// The row of `execute_tool`.
pub(crate) const EXECUTE: BuiltIn = BuiltIn::new(EXECUTE_TOOL, |_| Box::new(ExecuteTool));

#[async_trait]
impl Tool for ExecuteTool {
    fn name(&self) -> &str {
        EXECUTE_TOOL
    }

    fn label(&self) -> &str {
        "Run a tool"
    }

    fn description(&self) -> &str {
        "Run a tool that tool_search found, by its name and with its arguments."
    }

    fn input_schema(&self) -> Value {
        let properties = json!({
            "name": {"type": "string", "description": "The tool's name."},
            "arguments": {
                "type": ["object", "null"],
                "description": "Its arguments, as its inputSchema says.",
            },
        });
        schema::object(&properties, &["name"])
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            is_enabled: false,
            ..ToolTraits::default()
        }
    }

    fn deadline(&self, _input: &Value, _default: Duration) -> Duration {
        LONGEST
    }

    async fn execute(&self, _id: &ToolUseId, input: Value, ctx: ToolContext) -> CallResult {
        let Some((name, arguments)) = inside(EXECUTE_TOOL, &input) else {
            let why = "\"name\" must be the name of a tool. Nothing was run.";
            return Err(ToolError::InvalidInput(why.to_owned()));
        };
        match ctx.exec.nested.call(name, arguments, &ctx.cancel).await {
            ToolOutcome::Done {
                content,
                marked_failed,
            } => Ok(ToolResult {
                content,
                marked_failed,
                ..ToolResult::default()
            }),
            ToolOutcome::Failed(why) => Err(ToolError::Failed(why)),
            ToolOutcome::Cancelled(_) => Err(ToolError::Cancelled),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn most(arguments: Value) -> Result<usize, ToolError> {
        let words: Words = schema::arguments("tool_search", arguments).unwrap();
        words.most()
    }

    #[test]
    fn as_many_tools_are_returned_as_the_call_wants() {
        for (arguments, expected) in [
            (json!({"query": "a"}), 10),
            (json!({"query": "a", "max_results": null}), 10),
            (json!({"query": "a", "max_results": 3}), 3),
            (json!({"query": "a", "max_results": 25.0}), 25),
            (json!({"query": ""}), usize::MAX),
            (json!({"query": " "}), usize::MAX),
            (json!({"query": "", "max_results": 1}), 1),
        ] {
            assert_eq!(most(arguments.clone()).unwrap(), expected, "{arguments}");
        }
        for few in [json!(0), json!(-1), json!(0.5)] {
            let arguments = json!({"query": "a", "max_results": few});
            assert!(most(arguments).is_err(), "{few}");
        }
    }
}
