//! The row that describes a built-in tool, and the trait of those with typed arguments.
//!
//! The file of each tool contains its row, next to its schema, description, and preview.
//! `registry::table` lists the rows.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use chat::diff::StatedChange;
use chat::tool::ToolUseId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::FileLocks;
use crate::schema;
use crate::tool::{CallResult, ProposalResult, Tool};
use crate::trial::Trial;

/// The built-in presets. Each approves its own tools and those of the presets before it.
pub const PRESETS: [&str; 3] = [READONLY, DEFAULT, STANDARD];

/// Approves tools that read the files named in a call.
pub(crate) const READONLY: &str = "$readonly";
/// Also approves tools that modify files.
pub(crate) const DEFAULT: &str = "$default";
/// Also approves tools that search folders and tools.
pub(crate) const STANDARD: &str = "$standard";

/// How a tool accesses the files named in its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// Not at all, or only through the commands it runs.
    None,
    /// Reads them, so secrets are protected from it.
    Reads,
    /// Modifies them, so protected files are protected from it.
    Changes,
}

/// Constructs a tool. Tools that modify files share the locks.
type Make = fn(&FileLocks) -> Box<dyn Tool>;

/// A row of the table: what the registry and the policy need to know about a built-in tool.
pub(crate) struct BuiltIn {
    /// [`Tool::name`].
    pub name: &'static str,
    /// Constructs the tool.
    pub make: Make,
    /// The first of [`PRESETS`] that approves the tool.
    pub preset: Option<&'static str>,
    /// Whether the tool runs without approval because it neither reads nor modifies anything
    /// outside of its own call.
    pub harmless: bool,
    /// How it accesses the files named in its calls.
    pub files: FileAccess,
    /// A second name with the parameters of another system, and the tool behind it.
    pub alias: Option<(&'static str, Make)>,
}

impl BuiltIn {
    /// A row without preset, alias, and file access.
    pub(crate) const fn new(name: &'static str, make: Make) -> Self {
        Self {
            name,
            make,
            preset: None,
            harmless: false,
            files: FileAccess::None,
            alias: None,
        }
    }
}

/// A built-in tool with typed arguments. Implements [`Tool`]; each item is described there.
pub(crate) trait TypedTool: Send + Sync {
    /// The type that arguments are parsed into and that the schema is derived from.
    type Arguments: DeserializeOwned + JsonSchema + Send;

    const NAME: &'static str;
    const LABEL: &'static str;
    const DESCRIPTION: &'static str;
    const ENABLED: bool = false;
    const RUNS_COMMANDS: bool = false;
    const CAN_BE_TRIED: bool = false;
    /// Added to a call's time limit before the supervisor gives it up. Not zero for a tool that
    /// enforces the limit itself, so that it has the time to return partial results.
    const SLACK: Duration = Duration::ZERO;

    fn limit(&self, _input: &Value, default: Duration) -> Duration {
        default
    }

    fn changes(&self, _input: &Value, _cwd: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    fn reads(&self, _input: &Value, _cwd: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// [`Tool::describe`] for arguments that could be parsed.
    fn summary(&self, _arguments: &Self::Arguments) -> Option<String> {
        None
    }

    /// [`Tool::stated_change`] for arguments that could be parsed.
    fn stated_change(&self, _arguments: &Self::Arguments) -> Option<StatedChange> {
        None
    }

    /// [`Tool::shown_file`] for arguments that could be parsed.
    fn content_of(&self, _arguments: &Self::Arguments) -> Option<String> {
        None
    }

    /// [`Tool::propose`] with parsed arguments.
    fn plan(
        &self,
        _arguments: Self::Arguments,
        _ctx: &ToolContext,
    ) -> impl Future<Output = ProposalResult> + Send {
        async { Ok(None) }
    }

    /// [`Tool::attempt`] with parsed arguments.
    fn attempt(
        &self,
        _arguments: Self::Arguments,
        _id: &ToolUseId,
        _ctx: ToolContext,
    ) -> impl Future<Output = Result<Trial, ToolError>> + Send {
        async { Err(ToolError::cannot_be_tried()) }
    }

    /// [`Tool::execute`] with parsed arguments.
    fn call(
        &self,
        arguments: Self::Arguments,
        id: &ToolUseId,
        ctx: ToolContext,
    ) -> impl Future<Output = CallResult> + Send;
}

#[async_trait]
impl<T: TypedTool> Tool for T {
    fn name(&self) -> &str {
        T::NAME
    }

    fn label(&self) -> &str {
        T::LABEL
    }

    fn description(&self) -> &str {
        T::DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        schema::strict::<T::Arguments>()
    }

    // `schema::strict` makes the schemas of all these tools.
    fn strict(&self) -> bool {
        true
    }

    fn enabled(&self) -> bool {
        T::ENABLED
    }

    fn runs_commands(&self) -> bool {
        T::RUNS_COMMANDS
    }

    fn can_be_tried(&self) -> bool {
        T::CAN_BE_TRIED
    }

    fn deadline(&self, input: &Value, default: Duration) -> Duration {
        self.limit(input, default) + T::SLACK
    }

    fn changes(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        TypedTool::changes(self, input, cwd)
    }

    fn reads(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        TypedTool::reads(self, input, cwd)
    }

    fn describe(&self, input: &Value) -> Option<String> {
        // Other arguments are shown in the default form, and the call reports what is wrong.
        self.summary(&T::Arguments::deserialize(input).ok()?)
    }

    fn stated_change(&self, input: &Value) -> Option<StatedChange> {
        TypedTool::stated_change(self, &T::Arguments::deserialize(input).ok()?)
    }

    fn shown_file(&self, input: &Value) -> Option<String> {
        self.content_of(&T::Arguments::deserialize(input).ok()?)
    }

    async fn propose(&self, input: &Value, ctx: &ToolContext) -> ProposalResult {
        self.plan(schema::arguments(T::NAME, input.clone())?, ctx)
            .await
    }

    async fn attempt(
        &self,
        id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<Trial, ToolError> {
        let arguments = schema::arguments(T::NAME, input)?;
        TypedTool::attempt(self, arguments, id, ctx).await
    }

    async fn execute(&self, id: &ToolUseId, input: Value, ctx: ToolContext) -> CallResult {
        self.call(schema::arguments(T::NAME, input)?, id, ctx).await
    }
}
