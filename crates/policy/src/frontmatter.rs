//! The frontmatter of a chat: evaluated once per key, within limits, to options, variables, and
//! a policy function.
//!
//! The text may be hostile, so it runs in an engine of its own with pure functions only, 100 ms,
//! and 64 MB. Blocking: call it on a thread that may wait. Does not know which options exist
//! (see `options`) or which are trusted. Reads no file, and is never called to open, draw, or
//! fold a chat.

mod convert;
mod environment;
mod json;
mod list;
mod opt;
mod options;
mod vm;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use chat::document::Document;
use serde_json::Value;

use vm::Vm;

/// Maximum bytes of a frontmatter or an expression. Compiling can't be interrupted, so its input
/// is limited.
const MAX_SOURCE: usize = 128 * 1024;

/// The text of a frontmatter and its place in the file.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// `lua` or `json`, as its fence says.
    pub language: String,
    /// The text inside the fence.
    pub text: String,
    /// Line of the file at which `text` starts, counted from 1.
    pub first_line: usize,
    /// The chat, for `__filename` and `__dirname`; absent when it has no name yet.
    pub file: Option<PathBuf>,
}

impl Source {
    /// Returns the frontmatter of a chat in this file; `None` if it has none or its block is
    /// malformed.
    pub fn of(document: &Document<'_>, file: Option<&Path>) -> Option<Self> {
        let frontmatter = document.frontmatter.as_ref()?;
        frontmatter.problem.is_none().then(|| Self {
            language: frontmatter.language.clone(),
            text: document.frontmatter_text(),
            // `lines` counts from 0 and begins with the fence, which is not part of the text.
            first_line: frontmatter.lines.start + 2,
            file: file.map(Path::to_owned),
        })
    }
}

/// Names that a frontmatter may refer to, and the initial values of its lists.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// All registered tools, sorted, including those that are not enabled.
    pub tools: Vec<String>,
    /// The enabled tools: the initial value of `flemma.opt.tools`.
    pub default_tools: Vec<String>,
    /// Presets of tools, built-in and the user's, with their `$`.
    pub presets: Vec<String>,
    /// The list in `setup()`; absent if it is a function.
    pub auto_approve: Option<Vec<String>>,
    /// Presets of provider, model and parameters (`presets` in `setup()`), with their `$`.
    pub model_presets: Vec<String>,
}

/// An error that makes the whole frontmatter invalid; none of its options apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontmatterError {
    /// Line of the file, counted from 1.
    pub line: usize,
    /// Byte of the line, counted from 1, if a single word caused the error.
    pub column: Option<usize>,
    /// Message for the user, which includes the line.
    pub message: String,
}

impl FrontmatterError {
    fn new(line: usize, column: Option<usize>, what: impl fmt::Display) -> Self {
        Self {
            line,
            column,
            message: format!("frontmatter line {line}: {what}"),
        }
    }
}

impl fmt::Display for FrontmatterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FrontmatterError {}

/// The options that a frontmatter sets; absent ones stay unchanged. Not checked for trust.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// The tools of this chat, in order.
    pub tools: Option<Vec<String>>,
    /// The approval rules of this chat.
    pub auto_approve: Option<AutoApprove>,
    /// The other options, in tables as `setup()` takes them.
    pub values: Value,
    /// Line of the file where each option was last set, by its path in `setup()`.
    pub lines: BTreeMap<String, usize>,
}

/// `flemma.opt.tools.auto_approve`
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AutoApprove {
    /// Names of tools and presets.
    List {
        /// In the order they were given.
        names: Vec<String>,
        /// Tools that no preset of the list approves.
        exclusions: Vec<String>,
    },
    /// A function, called by [`Evaluated::call_policy`].
    Function(FunctionHandle),
}

/// Refers to the policy function, which lives in its [`Evaluated`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionHandle {
    /// Line of the file where it was assigned.
    pub line: usize,
}

/// The value of a template expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expansion {
    /// Text to put in its place.
    Text(String),
    /// A file to put in its place: the value of `include(path, options)`.
    Include(Include),
}

/// A file that a chat includes. It has not been read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Include {
    /// The path as it was written.
    pub path: String,
    /// True if it is an attachment and not text.
    pub binary: bool,
    /// A MIME type that overrides the one found.
    pub mime: Option<String>,
}

/// An evaluated frontmatter, and the engine in which its functions live.
#[derive(Debug)]
pub struct Evaluated {
    /// The options that it sets.
    pub overrides: Overrides,
    vm: Vm,
}

/// Evaluates a frontmatter. An empty one in `lua` gives an engine for expressions.
///
/// # Errors
///
/// The language is unknown, the text does not parse or fails, an option or value does not
/// exist, or a limit was reached.
pub fn evaluate(source: &Source, known: &Known) -> Result<Evaluated, FrontmatterError> {
    // None of these problems is in one line, so they are all reported at the first one.
    let refuse = |what: String| Err(FrontmatterError::new(source.first_line, None, what));
    if source.text.len() > MAX_SOURCE {
        return refuse(format!(
            "it is {} KB long; at most {} KB are read.",
            source.text.len() / 1024,
            MAX_SOURCE / 1024
        ));
    }
    match source.language.as_str() {
        "lua" => vm::evaluate(source, known),
        "json" => json::evaluate(source, known),
        // `Source::of` gives no block in another language, but any caller can make a source.
        other => refuse(format!(
            "Frontmatter must be Lua or JSON, not \"{other}\". Write \"lua\" or \"json\" after the backticks."
        )),
    }
}

impl Evaluated {
    fn new(overrides: Overrides, vm: Vm) -> Self {
        Self { overrides, vm }
    }

    /// Calls the policy function for a call, with a limit of 50 ms. `input` and `ctx` are
    /// copied, so the function cannot change them. [`chat::approval::read_policy_answer`] reads
    /// the result; null means that the function returned nothing.
    ///
    /// # Errors
    ///
    /// A sentence: there is no function, it failed or took too long, or its result is not a
    /// plain value. The call then waits for the user.
    pub fn call_policy(&self, tool: &str, input: &Value, ctx: &Value) -> Result<Value, String> {
        self.vm.call_policy(tool, input, ctx)
    }

    /// Evaluates the template expression `{{ code }}` with the frontmatter's variables, in at
    /// most 50 ms. nil becomes the empty text unless the expression is only a name; a table
    /// becomes JSON. Assignments are discarded.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the expression.
    pub fn expression(&self, code: &str) -> Result<Expansion, String> {
        self.vm.expression(code)
    }

    /// Returns the variables of the frontmatter, sorted.
    #[cfg(test)]
    pub fn variable_names(&self) -> Vec<String> {
        self.vm.variable_names()
    }
}
