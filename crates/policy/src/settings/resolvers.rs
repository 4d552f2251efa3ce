//! Functions that decide about calls beside the options.

use chat::approval::Policy;
use serde::Deserialize;

/// The registered functions; the plugin sends them again whenever one is added or removed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Resolvers {
    /// The functions.
    #[serde(default)]
    pub items: Vec<RegisteredResolver>,
    /// Names of built-in resolvers that the user removed.
    #[serde(default)]
    pub without: Vec<String>,
    /// Approvals of the command line.
    #[serde(skip)]
    pub command_line: CommandLineApproval,
}

/// The calls that `--approve` and `--yes` approve when no other rule decides.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommandLineApproval {
    /// The tools and rules that `--approve` names.
    pub policy: Policy,
    /// True if `--yes` approves every other call.
    pub yes: bool,
}

/// A function that the user or a plugin registered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RegisteredResolver {
    /// Unique.
    pub name: String,
    /// Priority; the highest is asked first.
    pub priority: i32,
    /// ID of the function in the front end.
    pub function: u64,
    /// Whether it denies when it fails; otherwise it passes.
    #[serde(default)]
    pub closed: bool,
    /// Whether it is a module named in `tools.auto_approve`.
    #[serde(default)]
    pub from_options: bool,
}
