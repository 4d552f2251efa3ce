//! The row that describes a built-in tool, and the trait of those with typed arguments.
//!
//! The file of each tool contains its row, next to its schema, description, and preview.
//! `registry` lists the rows.

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
use crate::jobs::Background;
use crate::schema;
use crate::tool::{CallResult, ProposalResult, Tool, ToolTraits};
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
pub enum FileUse {
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
    /// True if the tool runs without approval because it neither reads nor modifies anything
    /// outside of its own call and the jobs of its chat.
    pub harmless: bool,
    /// How it accesses the files named in its calls.
    pub files: FileUse,
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
            files: FileUse::None,
            alias: None,
        }
    }
}

/// A built-in tool with typed arguments. Implements [`Tool`]; each item is described there.
pub(crate) trait TypedTool: Send + Sync {
    /// The type that arguments are parsed into and that the schema is derived from.
    type Arguments: DeserializeOwned + JsonSchema + Send;
    /// The parts of a call's environment that it can touch.
    type Needs: From<ToolContext> + Send;

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

    fn background(&self, _input: &Value) -> Background {
        Background::Never
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
        _needs: Self::Needs,
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
        needs: Self::Needs,
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

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            // `schema::strict` makes the schemas of all these tools.
            is_strict: true,
            is_enabled: T::ENABLED,
            runs_commands: T::RUNS_COMMANDS,
            can_be_tried: T::CAN_BE_TRIED,
            ..ToolTraits::default()
        }
    }

    fn deadline(&self, input: &Value, default: Duration) -> Duration {
        self.limit(input, default) + T::SLACK
    }

    fn background(&self, input: &Value) -> Background {
        TypedTool::background(self, input)
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
        let arguments = schema::arguments(T::NAME, input.clone())?;
        self.plan(arguments, ctx.clone().into()).await
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
        let arguments = schema::arguments(T::NAME, input)?;
        self.call(arguments, id, ctx.into()).await
    }
}

// Helpers for [`crate::Tool::describe`].

/// The model's purpose for the call as a comment, or an empty string.
pub(crate) fn label(label: &str) -> String {
    match label {
        "" => String::new(),
        label => format!("  # {label}"),
    }
}

/// Replaces leading and trailing spaces by a visible character, because `a` and `a ` are two
/// files.
pub(crate) fn visible_ends(path: &str) -> String {
    let inner = path.trim_matches(' ');
    let before = path.len() - path.trim_start_matches(' ').len();
    let after = path.len() - before - inner.len();
    format!("{}{inner}{}", "␣".repeat(before), "␣".repeat(after))
}

#[cfg(test)]
mod tests {
    use chat::preview::preview;
    use serde_json::{Value, json};

    use crate::Registry;

    #[track_caller]
    fn check(name: &str, input: &Value, expected: &str) {
        assert_eq!(preview(&Registry::builtin(), name, input, 80), expected);
    }

    #[test]
    fn the_built_in_tools_read_like_the_specification() {
        check(
            "calculator",
            &json!({"expression": "2 + 2"}),
            "calculator: 2 + 2",
        );
        check(
            "calculator_async",
            &json!({"expression": "sqrt(16)", "delay": 500}),
            "calculator_async: sqrt(16)  # 500ms",
        );
        check(
            "bash",
            &json!({"command": "git status", "label": "checking repo", "timeout": null}),
            "bash: $ git status  # checking repo",
        );
        check(
            "read",
            &json!({"path": "config.lua", "offset": 100, "limit": 50, "label": "reading tail"}),
            "read: config.lua  +100,50  # reading tail",
        );
        check(
            "edit",
            &json!({"path": "config.lua", "oldText": "a", "newText": "b", "label": "fixing typo"}),
            "edit: config.lua  # fixing typo",
        );
        check(
            "write",
            &json!({"path": "output.txt", "content": "x".repeat(2355), "label": "saving log"}),
            "write: output.txt  (2.3 KB)  # saving log",
        );
    }

    #[test]
    fn a_read_with_only_a_limit_starts_at_zero() {
        check(
            "read",
            &json!({"path": "src/config.lua", "offset": null, "limit": 50, "label": "reading config"}),
            "read: src/config.lua  +0,50  # reading config",
        );
        check("read", &json!({"path": "a", "offset": 3}), "read: a  +3");
    }

    #[test]
    fn a_look_around_says_for_what_and_where() {
        check(
            "grep",
            &json!({"pattern": "TODO", "path": "src", "glob": "*.rs", "limit": 5, "label": "open work"}),
            "grep: /TODO/  in src  (*.rs)  # open work",
        );
        check("grep", &json!({"pattern": "a", "path": null}), "grep: /a/");
        check("find", &json!({"pattern": "*.md"}), "find: *.md");
        check(
            "ls",
            &json!({"path": null, "max_depth": 2}),
            "ls: .  2 levels",
        );
        check("ls", &json!({"path": "src "}), "ls: src␣");
        check("grep", &json!({"pattern": 7}), "grep: pattern=7");
        check(
            "http_get",
            &json!({"url": "https://docs.rs/", "max_size": null, "label": "the manual"}),
            "http_get: https://docs.rs/  # the manual",
        );
    }

    #[test]
    fn arguments_that_do_not_fit_get_the_generic_form() {
        check("bash", &json!({"cmd": "ls"}), "bash: cmd=\"ls\"");
        check("bash", &json!({"command": 7}), "bash: command=7");
        check("bash", &json!("ls"), "bash: \"ls\"");
        check("bash", &json!(null), "bash: null");
        check(
            "read",
            &json!({"path": "a", "offset": "3"}),
            "read: offset=\"3\", path=\"a\"",
        );
        check("write", &json!({"path": "a"}), "write: path=\"a\"");
    }

    #[test]
    fn a_blank_at_the_end_of_a_path_is_seen() {
        check(
            "write",
            &json!({"path": "a ", "content": "abc"}),
            "write: a␣  (3 B)",
        );
    }
}
