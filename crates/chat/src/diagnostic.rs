//! What does not fit the grammar, where, and how to mend it.

use crate::text::Lines;

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something will not happen as written.
    Error,
    /// Something is probably not meant as written.
    Warning,
}

/// A remark on some lines of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The lines it is about.
    pub lines: Lines,
    /// How much it matters.
    pub severity: Severity,
    /// A sentence that names the fact and its consequence.
    pub message: String,
    /// A change that mends it.
    pub fix: Option<Fix>,
}

/// A change of whole lines that the user can apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What it does, as a command: `Write "approved"`.
    pub title: String,
    /// The lines it replaces.
    pub lines: Lines,
    /// What stands there afterwards.
    pub replacement: Vec<String>,
}

impl Diagnostic {
    /// Something will not happen as written.
    pub fn error(lines: Lines, message: impl Into<String>) -> Self {
        Self {
            lines,
            severity: Severity::Error,
            message: message.into(),
            fix: None,
        }
    }

    /// Something is probably not meant as written.
    pub fn warning(lines: Lines, message: impl Into<String>) -> Self {
        Self {
            lines,
            severity: Severity::Warning,
            message: message.into(),
            fix: None,
        }
    }

    /// Adds the change that mends it.
    pub fn with_fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }
}
