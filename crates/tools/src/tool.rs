//! The [`Tool`] trait: a name, a schema, and something to do.
//!
//! Refers to no tool by name, and supervises no call; that is `run`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::{ToolDefinition, ToolUseId};
use serde_json::Value;

use crate::context::ToolContext;
use crate::error::ToolError;

/// Something a model can ask for.
#[async_trait]
pub trait Tool: Send + Sync {
    /// The name the model uses, unique in a registry.
    fn name(&self) -> &str;

    /// The name people read.
    fn label(&self) -> &str;

    /// What the tool does, for the model.
    fn description(&self) -> &str;

    /// Words that somebody who looks for such a tool may use.
    fn keywords(&self) -> &[String] {
        &[]
    }

    /// JSON Schema of the arguments, an object schema.
    fn input_schema(&self) -> Value;

    /// Whether the schema meets OpenAI's strict mode: every property required,
    /// none additional.
    fn strict(&self) -> bool {
        false
    }

    /// Whether the model is offered the tool unless somebody turns it off.
    fn enabled(&self) -> bool {
        true
    }

    /// Whether it starts commands, which are held where there is a sandbox.
    fn runs_commands(&self) -> bool {
        false
    }

    /// How long a call with this `input` may take before it is given up;
    /// `default` is what the user set. A tool that ends itself in time asks for a
    /// little more than it needs.
    fn deadline(&self, _input: &Value, default: Duration) -> Duration {
        default
    }

    /// What a call with this `input` would do, as long as it takes; a window shows one line
    /// of it. Pure, unlike [`Tool::preview`]. `None` when the arguments don't fit, or when
    /// the general form, a list of the arguments, says as much.
    fn describe(&self, _input: &Value) -> Option<String> {
        None
    }

    /// Whether it must be asked to say what a call would do, see [`Tool::preview`].
    fn has_preview(&self) -> bool {
        false
    }

    /// One line that says what a call with this `input` would do, of at most `width`
    /// columns; `None` when it has nothing to say after all.
    async fn preview(&self, _input: &Value, _width: usize) -> Option<String> {
        None
    }

    /// The file that a call with this `input` would change, for whoever approves it by
    /// hand; the call does its work only while that file is as it was shown.
    /// Relative paths start from `cwd`.
    fn changes(&self, _input: &Value, _cwd: &Path) -> Option<PathBuf> {
        None
    }

    /// The files and folders that a call with this `input` names to read. Relative paths
    /// start from `cwd`.
    fn reads(&self, _input: &Value, _cwd: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Whether a call waits for the user unless a rule approves this tool by its name:
    /// what approves all that no rule speaks of does not approve it.
    fn asks_always(&self) -> bool {
        false
    }

    /// Whether it has something to say, or to do, when the user refuses a call, see
    /// [`Tool::refused`].
    fn hears_refusals(&self) -> bool {
        false
    }

    /// The user refused a call with this `input` in the chat of this buffer. What the
    /// model is told unless the user gave a reason; `None` for the usual words.
    async fn refused(&self, _input: &Value, _buffer: i64) -> Option<String> {
        None
    }

    /// Does it. Stops soon after `ctx.cancel` and leaves nothing running.
    ///
    /// # Errors
    ///
    /// One of [`ToolError`]; the model reads its text as an error result.
    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError>;

    /// The tool as a model sees it.
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.name().to_owned(),
            description: self.description().to_owned(),
            input_schema: self.input_schema(),
            strict: self.strict(),
            keywords: self.keywords().to_vec(),
        }
    }
}

/// What a tool achieved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    /// What the model reads.
    pub content: String,
    /// More for the user only: events, virtual text, the log.
    pub details: Option<Value>,
    /// Whether the user should see a cross although this is a result, as for a
    /// command that exited non-zero.
    pub marked_failed: bool,
}

impl ToolResult {
    /// A plain success.
    pub fn text(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            ..Self::default()
        }
    }
}
