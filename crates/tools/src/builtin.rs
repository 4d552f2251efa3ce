//! A row in the table of built-in tools.
//!
//! Each row is in the file of its tool, beside schema, description, and preview; the
//! registry lists them.

use crate::files::FileLocks;
use crate::tool::Tool;

/// The presets that exist without being defined. Each approves its own tools and those of
/// the presets before it.
///
/// Source of the first two: "Built-in presets" in the tools specification.
pub const PRESETS: [&str; 3] = [READONLY, DEFAULT, STANDARD];

/// Approves what reads files that a call names.
pub(crate) const READONLY: &str = "$readonly";
/// Approves what changes files as well.
pub(crate) const DEFAULT: &str = "$default";
/// Approves what looks around in folders and for tools as well.
pub(crate) const STANDARD: &str = "$standard";

/// What a tool does with the files that its calls name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// Nothing, or whatever commands do.
    None,
    /// Reads them: secrets are protected from it.
    Reads,
    /// Changes them: protected files are protected from it.
    Changes,
}

/// Makes a tool. The locks are shared by those that change files.
type Make = fn(&FileLocks) -> Box<dyn Tool>;

/// What is known of a built-in tool beyond what every tool says of itself.
pub(crate) struct BuiltIn {
    /// [`Tool::name`].
    pub name: &'static str,
    /// Makes the tool.
    pub make: Make,
    /// The first of [`PRESETS`] that approves it.
    pub preset: Option<&'static str>,
    /// Whether it can be called without asking because it neither reads nor changes
    /// anything beyond its own call.
    pub harmless: bool,
    pub files: FileAccess,
    /// The tool under the name and with the parameters of another system.
    pub alias: Option<(&'static str, Make)>,
}

impl BuiltIn {
    /// A row that approves nothing and has no other name.
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
