//! Exit codes of the command line.

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
    /// A call was refused, or there was no way to ask about it.
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
