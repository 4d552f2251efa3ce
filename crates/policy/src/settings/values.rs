//! The values of the options as the host uses them, one type per table.

use std::collections::BTreeMap;

use chat::cycle::CursorAfterResult;
use serde::Deserialize;
use serde_json::{Map, Value};

/// `checkpoints.*`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct CheckpointSettings {
    /// Whether files are stored before calls change them.
    pub enabled: bool,
    /// Maximum megabytes per project.
    pub limit: u64,
}

/// `folds.*`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct FoldSettings {
    /// Whether folds exist.
    pub enabled: bool,
    /// The kinds of folds that are closed initially.
    pub closed: Vec<String>,
}

/// `tools.*`
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ToolSettings {
    /// Whether calls that no rule decides wait for the user.
    pub require_approval: bool,
    /// Names, presets, modules, or a function.
    pub auto_approve: Value,
    /// Tools that models are offered in addition to the default ones.
    pub offer: Vec<String>,
    /// The user's presets by name.
    pub presets: BTreeMap<String, Preset>,
    /// See [`AutopilotSettings`].
    pub autopilot: AutopilotSettings,
    /// Seconds that a tool may run.
    pub default_timeout: f64,
    /// The changes of files that wait for the user.
    pub review: ReviewRule,
    /// Whether the result of a change names the file's new problems.
    pub diagnostics: bool,
    /// Milliseconds that a call must be visible before one key runs it.
    pub review_delay: u64,
    /// Maximum number of concurrent calls in a chat; 0 means unlimited.
    pub max_concurrent: usize,
    /// Whether running calls show a spinner.
    pub show_spinner: bool,
    /// The place to which the cursor goes when a call that waited gets its result.
    pub cursor_after_result: CursorAfterResult,
    /// Whether nothing can be typed into a chat while its tools run.
    pub lock_buffer: bool,
    /// See [`BashSettings`].
    pub bash: BashSettings,
    /// See [`HttpSettings`].
    pub http_get: HttpSettings,
}

/// `tools.review`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewRule {
    /// When the run is over.
    #[default]
    After,
    /// Before each call runs.
    Always,
    /// Not at all.
    None,
}

/// `tools.autopilot.*`
#[derive(Debug, Clone, Default, Deserialize)]
pub struct AutopilotSettings {
    /// Whether one phase follows another without a key.
    pub enabled: bool,
    /// Maximum number of requests in a row without the user.
    pub max_turns: u32,
    /// Maximum price of requests in a row without the user, in US dollars.
    pub max_cost: Option<f64>,
}

/// `mcp.*`
#[derive(Debug, Clone, Default, Deserialize)]
pub struct McpSettings {
    /// Servers by name, as they were written.
    pub servers: Map<String, Value>,
    /// Whether a project's servers are used.
    pub project: bool,
}

/// `tools.bash.*`
#[derive(Debug, Clone, Default, Deserialize)]
pub struct BashSettings {
    /// The shell; `bash` when absent.
    pub shell: Option<String>,
    /// The directory of commands; `$FLEMMA_BUFFER_PATH` is the chat's directory.
    pub cwd: Option<String>,
    /// Variables added to the environment of commands.
    pub env: BTreeMap<String, String>,
    /// Commands that the preset `$shell-safe` also approves.
    pub allow: Vec<String>,
    /// Commands that never run.
    pub deny: Vec<String>,
    /// The treatment of commands that `$shell-safe` does not approve.
    pub unlisted: Unlisted,
    /// Whether commands can be tried.
    pub trial: bool,
    /// Files and folders in the home folder that a trial without the user's request shows.
    #[serde(default)]
    pub trial_home: Vec<String>,
}

/// `tools.bash.unlisted`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unlisted {
    /// The other rules decide; without one the user is asked.
    #[default]
    Ask,
    /// They are refused.
    Deny,
}

/// `tools.http_get.*`
#[derive(Debug, Clone, Default, Deserialize)]
pub struct HttpSettings {
    /// Hosts and networks.
    pub allow: Vec<String>,
}

/// A named collection of rules.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Preset {
    /// Tools to approve.
    #[serde(default)]
    pub approve: Vec<String>,
    /// Tools to deny.
    #[serde(default)]
    pub deny: Vec<String>,
}

/// `ui.*`
#[derive(Debug, Clone, Default, Deserialize)]
pub struct UiSettings {
    /// Seconds for which the usage of an answer is shown, or `false`.
    pub usage: Value,
}

/// `trust.*`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct TrustSettings {
    /// What frontmatter may loosen that the user did not type.
    pub frontmatter: FrontmatterTrust,
    /// The decision about calls that were in the file when it was opened.
    pub unrecognized_calls: UnrecognizedCalls,
}

/// `trust.frontmatter`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrontmatterTrust {
    /// Nothing until the user trusts it.
    #[default]
    Ask,
    /// Whatever it says.
    Always,
}

/// `trust.unrecognized_calls`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnrecognizedCalls {
    /// The user.
    #[default]
    Review,
    /// The rules, as for any other call.
    Policy,
}
