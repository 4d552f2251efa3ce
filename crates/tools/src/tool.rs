//! The [`Tool`] trait and the result of a call.
//!
//! This module refers to no tool by name. `run` supervises calls.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use chat::diff::StatedChange;
use chat::result_files::ResultFile;
use chat::tool::{ToolDefinition, ToolUseId};
use serde_json::Value;

use crate::context::ToolContext;
use crate::error::ToolError;
use crate::jobs::Background;
use crate::proposal::Proposal;
use crate::trial::Trial;

/// Properties of a tool that hold for all arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "any of them can be true of a tool"
)]
pub struct ToolTraits {
    /// True if the schema meets OpenAI's strict mode: every property is required and no others
    /// are allowed.
    pub is_strict: bool,
    /// True if the tool is offered to models by default.
    pub is_enabled: bool,
    /// True if the tool starts commands, which run in the sandbox if there is one.
    pub runs_commands: bool,
    /// True if a call needs the user unless a rule approves this tool by name. Rules that
    /// approve all unlisted tools don't count.
    pub asks_always: bool,
    /// True if the tool computes its own preview; see [`Tool::preview`].
    pub has_preview: bool,
    /// True if the tool handles rejected calls; see [`Tool::refused`].
    pub hears_refusals: bool,
    /// True if calls can be tried; see [`Tool::can_be_tried`].
    pub can_be_tried: bool,
}

impl Default for ToolTraits {
    /// A tool that is offered, and nothing else.
    fn default() -> Self {
        Self {
            is_strict: false,
            is_enabled: true,
            runs_commands: false,
            asks_always: false,
            has_preview: false,
            hears_refusals: false,
            can_be_tried: false,
        }
    }
}

/// A tool that a model can call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// The name that the model uses, unique in a registry.
    fn name(&self) -> &str;

    /// The name shown to the user.
    fn label(&self) -> &str;

    /// The description for the model.
    fn description(&self) -> &str;

    /// Further words by which the tool can be found.
    fn keywords(&self) -> &[String] {
        &[]
    }

    /// JSON Schema of the arguments: an object schema.
    fn input_schema(&self) -> Value;

    /// Properties of the tool that hold for all arguments.
    fn traits(&self) -> ToolTraits {
        ToolTraits::default()
    }

    /// The time limit of a call with this `input`; `default` is the user's setting. A tool that
    /// enforces its own limit returns slightly more than that limit.
    fn deadline(&self, _input: &Value, default: Duration) -> Duration {
        default
    }

    /// Returns how a call with this `input` can run in the background. One that does so has no time
    /// limit, and a trial of it is not possible.
    fn background(&self, _input: &Value) -> Background {
        Background::Never
    }

    /// Returns true if a call with this `input` can be tried; see [`Tool::attempt`].
    fn can_be_tried(&self, input: &Value) -> bool {
        self.traits().can_be_tried && self.background(input) != Background::Asked
    }

    /// Describes what a call with this `input` would do. The text may be long; a window shows
    /// one line of it. Pure, unlike [`Tool::preview`]. Returns `None` if the arguments have the
    /// wrong type, or if the default form, a list of the arguments, is as good.
    fn describe(&self, _input: &Value) -> Option<String> {
        None
    }

    /// Returns what a call with this `input` changes in files. Pure. `None` if the arguments
    /// don't say it.
    fn stated_change(&self, _input: &Value) -> Option<StatedChange> {
        None
    }

    /// Returns the path of the file whose content is the result of a call with this `input`.
    /// The result gets the colors of that file.
    fn shown_file(&self, _input: &Value) -> Option<String> {
        None
    }

    /// Describes what a call with this `input` would do in one line of at most `width` columns.
    /// Returns `None` to fall back to [`Tool::describe`].
    async fn preview(&self, _input: &Value, _width: usize) -> Option<String> {
        None
    }

    /// The files that a call with this `input` would create, modify, move, or delete. If the
    /// user approves the call by hand, it runs only while all of them are unchanged since the
    /// preview. Relative paths start at `cwd`.
    fn changes(&self, _input: &Value, _cwd: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Computes what a call with this `input` would do to files, without doing it: on the text
    /// of the editor for an open file, otherwise on that of the disk. [`Tool::execute`] plans
    /// with the same code. Returns `None` if the tool changes no files that it names.
    ///
    /// # Errors
    ///
    /// The error with which the call would fail now.
    async fn propose(&self, _input: &Value, _ctx: &ToolContext) -> ProposalResult {
        Ok(None)
    }

    /// The files and folders that a call with this `input` names and reads. Relative paths
    /// start at `cwd`.
    fn reads(&self, _input: &Value, _cwd: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Handles a call with this `input` that the user rejected in the chat of this buffer.
    /// Returns the text for the model if the user gave no reason, or `None` for the default
    /// text.
    async fn refused(&self, _input: &Value, _buffer: i64) -> Option<String> {
        None
    }

    /// Runs the call in a trial: it sees the project, and changes nothing. Stops soon after
    /// `ctx.cancel`.
    ///
    /// # Errors
    ///
    /// The call can't be tried here, or the trial was cancelled.
    async fn attempt(
        &self,
        _id: &ToolUseId,
        _input: Value,
        _ctx: ToolContext,
    ) -> Result<Trial, ToolError> {
        Err(ToolError::cannot_be_tried())
    }

    /// Executes the call. Stops soon after `ctx.cancel` and leaves no process running.
    ///
    /// # Errors
    ///
    /// Any [`ToolError`]. The model reads its text as an error result.
    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError>;

    /// The definition that is sent to a model.
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.name().to_owned(),
            description: self.description().to_owned(),
            input_schema: self.input_schema(),
            strict: self.traits().is_strict,
            keywords: self.keywords().to_vec(),
        }
    }
}

/// The result of [`Tool::execute`].
pub(crate) type CallResult = Result<ToolResult, ToolError>;
/// The result of [`Tool::propose`].
pub(crate) type ProposalResult = Result<Option<Proposal>, ToolError>;

/// The result of a successful call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    /// The text for the model.
    pub content: String,
    /// Files that the model sees with the text, which has a line about each.
    pub files: Vec<ResultFile>,
    /// Further data for the user only: events, virtual text, the log.
    pub details: Option<Value>,
    /// True if the user sees this result as failed, as for a command that exits with a non-zero
    /// code.
    pub marked_failed: bool,
    /// The reason why a command failed in the read-only view, to follow "asks:". It does more if the user
    /// approves it.
    pub hindered: Option<&'static str>,
}

impl ToolResult {
    /// A successful result that consists of a file, with the line about it.
    pub(crate) fn file(file: ResultFile) -> Self {
        Self {
            content: file.line.clone(),
            files: vec![file],
            ..Self::default()
        }
    }

    /// A successful result that consists of text.
    pub fn text(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            ..Self::default()
        }
    }
}
