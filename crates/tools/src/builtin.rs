//! The row that describes a built-in tool, and [`facts!`] for its constant methods.
//!
//! The file of each tool contains its row, next to its schema, description, and preview.
//! `registry::table` lists the rows.

use crate::files::FileLocks;
use crate::tool::Tool;

/// The built-in presets. Each approves its own tools and those of the presets before it.
///
/// Source of the first two: "Built-in presets" in the tools specification.
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

/// Implements the methods of [`Tool`] that return constants. `arguments` is the type that the
/// schema is derived from.
macro_rules! facts {
    (
        name: $name:expr,
        label: $label:expr,
        description: $description:expr,
        arguments: $arguments:ty,
        enabled: $enabled:expr $(,)?
    ) => {
        fn name(&self) -> &str {
            $name
        }

        fn label(&self) -> &str {
            $label
        }

        fn description(&self) -> &str {
            $description
        }

        fn input_schema(&self) -> serde_json::Value {
            crate::schema::strict::<$arguments>()
        }

        fn strict(&self) -> bool {
            true
        }

        fn enabled(&self) -> bool {
            $enabled
        }
    };
}
pub(crate) use facts;
