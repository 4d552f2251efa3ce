//! The frontmatter of a chat: evaluated once per key, within limits, to options,
//! variables, and a policy function.
//!
//! The text may come from a stranger, so it gets an engine of its own with pure
//! functions only, 100 ms, and 64 MB. Blocking: call it on a thread that may wait.
//! Does not know which options exist (see `options`) or which are trusted. Reads no file,
//! and is never called to open, draw, or fold a chat.

mod budget;
mod convert;
mod environment;
mod given;
mod json;
mod list;
mod located;
mod opt;
mod options;
mod places;
mod vm;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use chat::document::Document;
use serde_json::Value;

use vm::Vm;

/// Longest frontmatter and expression, in bytes: compiling cannot be interrupted,
/// so its input is bounded.
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
    /// The frontmatter of a chat in this file; `None` when it has none that can be
    /// read as a block.
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

/// What a frontmatter may refer to, and what it starts from.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Every registered tool, sorted, those that are not enabled as well.
    pub tools: Vec<String>,
    /// The enabled ones: the first value of `flemma.opt.tools`.
    pub default_tools: Vec<String>,
    /// Presets of tools, built-in and the user's, with their `$`.
    pub presets: Vec<String>,
    /// The list in `setup()`; absent if it is a function.
    pub auto_approve: Option<Vec<String>>,
    /// Presets of provider, model and parameters (`presets` in `setup()`), with their `$`.
    pub model_presets: Vec<String>,
}

/// Why a frontmatter has no value. Nothing of it counts then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontmatterError {
    /// Line of the file, counted from 1.
    pub line: usize,
    /// Byte of the line, counted from 1, when a single word is to blame.
    pub column: Option<usize>,
    /// Sentences for the user, with the line in them.
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

/// What a frontmatter asks for. Absent is untouched; nothing here is trusted yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// The tools of this chat, in order.
    pub tools: Option<Vec<String>>,
    /// Who decides about calls in this chat.
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
    /// A function: [`Evaluated::call_policy`] asks it.
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

/// A file that a chat asks for. Nothing was read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Include {
    /// The path as it was written.
    pub path: String,
    /// Whether it is an attachment and not text.
    pub binary: bool,
    /// A MIME type that overrides the one found.
    pub mime: Option<String>,
}

/// A frontmatter that was evaluated, and the engine its functions live in.
#[derive(Debug)]
pub struct Evaluated {
    /// What it asks for.
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
            "\"{other}\" is no language of a frontmatter. Write \"lua\" or \"json\" after the backticks."
        )),
    }
}

impl Evaluated {
    fn new(overrides: Overrides, vm: Vm) -> Self {
        Self { overrides, vm }
    }

    /// Asks the policy function about a call, with 50 ms of its own. `input` and
    /// `ctx` are copied, so what it does to them changes nothing. The answer is for
    /// [`chat::approval::read_policy_answer`]; null when it returned nothing.
    ///
    /// # Errors
    ///
    /// A sentence: there is no function, it failed, took too long, or returned what
    /// is no plain value. The call waits for the user then.
    pub fn call_policy(&self, tool: &str, input: &Value, ctx: &Value) -> Result<Value, String> {
        self.vm.call_policy(tool, input, ctx)
    }

    /// The value of `{{ code }}` with the frontmatter's variables, in 50 ms: nil is
    /// empty unless the expression is a mere name, a table is JSON. What it assigns is forgotten.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the expression.
    pub fn expression(&self, code: &str) -> Result<Expansion, String> {
        self.vm.expression(code)
    }

    /// The variables that the frontmatter made, sorted.
    #[cfg(test)]
    pub fn variable_names(&self) -> Vec<String> {
        self.vm.variable_names()
    }
}
