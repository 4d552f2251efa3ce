//! What a running script asks for: other tools, and a model.
//!
//! Whether any of it may happen is decided behind [`crate::Nested`] and
//! [`crate::Models`]; here a script's words become such a question.

use chat::tool::ToolOutcome;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::context::ToolContext;
use crate::models::ModelRequest;
use crate::search::{Entry, search};

/// A question of a script.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Question {
    /// Which tools there are.
    List(#[expect(dead_code, reason = "it is always true")] bool),
    /// Which fit some words.
    Search(String),
    /// The result of one.
    Call {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// The words of a model.
    Completion(ModelRequest),
}

/// Answers a question with text, or with why not.
pub(super) async fn answer(question: Question, ctx: &ToolContext) -> Result<String, String> {
    match question {
        Question::List(_) => {
            let tools = ctx.nested.tools().into_iter();
            let tools = tools.map(|it| json!({"name": it.name, "description": it.description}));
            Ok(Value::Array(tools.collect()).to_string())
        }
        Question::Search(query) => {
            let tools = ctx.nested.tools();
            let hits = search(&query, tools.iter().map(Entry::from)).into_iter();
            let hits = hits.map(|hit| {
                let description = &tools[hit.at].description;
                json!({"name": hit.name, "description": description, "score": hit.score})
            });
            Ok(Value::Array(hits.collect()).to_string())
        }
        Question::Call { name, arguments } => {
            told(ctx.nested.call(&name, arguments, &ctx.cancel).await)
        }
        Question::Completion(asked) => {
            asked.check()?;
            ctx.models
                .complete(asked, ctx.nested.clone(), &ctx.cancel)
                .await
        }
    }
}

fn told(outcome: ToolOutcome) -> Result<String, String> {
    match outcome {
        ToolOutcome::Done { content, .. } => Ok(content),
        ToolOutcome::Failed(why) | ToolOutcome::Cancelled(why) => Err(why),
    }
}
