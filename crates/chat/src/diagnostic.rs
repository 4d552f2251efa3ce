//! Diagnostics: text that does not fit the grammar, with fixes.

use crate::text::Lines;

/// Severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something will not happen as written.
    Error,
    /// A probable mistake.
    Warning,
}

/// A diagnostic about some lines of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The lines concerned.
    pub lines: Lines,
    /// Its severity.
    pub severity: Severity,
    /// A sentence with the problem and its consequence.
    pub message: String,
    /// A change that fixes the problem.
    pub fix: Option<Fix>,
}

/// A change of whole lines that the user can apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// Title as a command: `Write "approved"`.
    pub title: String,
    /// The lines it replaces.
    pub lines: Lines,
    /// The new lines.
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

    /// A probable mistake.
    pub fn warning(lines: Lines, message: impl Into<String>) -> Self {
        Self {
            lines,
            severity: Severity::Warning,
            message: message.into(),
            fix: None,
        }
    }

    /// Adds a fix.
    pub fn with_fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }
}
