//! How a run on the command line ended, for the shell.

use std::process::ExitCode;

/// An exit code. The numbers are documented and do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Done.
    Ok,
    /// Something went wrong, or there was nothing to do.
    Error,
    /// The command line is wrong.
    Usage,
    /// The most requests in a row were made with more to do, the model repeated a failing
    /// call, or an answer was cut by its token limit.
    Limit,
    /// A call was refused, or nobody could be asked about it.
    Denied,
    /// The user stopped it.
    Cancelled,
}

impl Code {
    /// The number.
    pub fn number(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::Limit => 3,
            Self::Denied => 4,
            // As a shell says that a program ended by SIGINT.
            Self::Cancelled => 130,
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code.number())
    }
}

/// What happened so far.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Whether the user stopped it.
    pub cancelled: bool,
    /// Whether anything went wrong.
    pub failed: bool,
    /// Whether the most requests in a row were made.
    pub limited: bool,
    /// Whether the model made the same failing call again and again.
    pub stuck: bool,
    /// Whether the last answer was cut by its token limit.
    pub cut: bool,
    /// Calls that were refused here, by tool.
    pub refused: Vec<String>,
    /// Calls that a rule denied, by tool.
    pub denied: Vec<String>,
    /// Whether anything was sent or run.
    pub worked: bool,
}

impl Outcome {
    /// The exit code, the worst first.
    pub fn code(&self) -> Code {
        if self.cancelled {
            Code::Cancelled
        } else if self.failed || !self.worked {
            Code::Error
        } else if self.limited || self.stuck || self.cut {
            Code::Limit
        } else if self.refused.is_empty() && self.denied.is_empty() {
            Code::Ok
        } else {
            Code::Denied
        }
    }
}
