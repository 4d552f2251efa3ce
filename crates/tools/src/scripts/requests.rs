//! Requests of a running script: calls of other tools, and completions.
//!
//! This module only forwards them. [`crate::Nested`] and [`crate::Models`] decide whether they
//! are allowed.

use chat::tool::ToolOutcome;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::context::ToolContext;
use crate::models::ModelRequest;
use crate::search::{SearchEntry, search};

/// A request of a script.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// The list of tools.
    List(#[expect(dead_code, reason = "it is always true")] bool),
    /// The tools that match a query.
    Search(String),
    /// A call of a tool.
    Call {
        /// The tool's name.
        name: String,
        /// The arguments.
        arguments: Value,
    },
    /// A completion of a model.
    Completion(ModelRequest),
}

/// Returns the response to a request, or the reason for its failure.
pub(super) async fn answer(request: Request, ctx: &ToolContext) -> Result<String, String> {
    match request {
        Request::List(_) => {
            let tools = ctx.nested.tools().into_iter();
            let tools = tools.map(|it| json!({"name": it.name, "description": it.description}));
            Ok(Value::Array(tools.collect()).to_string())
        }
        Request::Search(query) => {
            let tools = ctx.nested.tools();
            let hits = search(&query, tools.iter().map(SearchEntry::from)).into_iter();
            let hits = hits.map(|hit| {
                let description = &tools[hit.at].description;
                json!({"name": hit.name, "description": description, "score": hit.score})
            });
            Ok(Value::Array(hits.collect()).to_string())
        }
        Request::Call { name, arguments } => {
            match ctx.nested.call(&name, arguments, &ctx.cancel).await {
                // A command that exits with an error code has a result as well.
                ToolOutcome::Done { content, .. } => Ok(content),
                ToolOutcome::Failed(why) | ToolOutcome::Cancelled(why) => Err(why),
            }
        }
        Request::Completion(asked) => {
            asked.check()?;
            ctx.models
                .complete(asked, ctx.nested.clone(), &ctx.cancel)
                .await
        }
    }
}
