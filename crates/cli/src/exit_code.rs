//! Exit codes of the command line.

use std::process::ExitCode;

use crate::terminal;

/// An exit code. The numbers are documented and do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Done.
    Ok,
    /// An error, or nothing to do.
    Error,
    /// The command line is wrong.
    Usage,
    /// A limit was reached: requests in a row, the same failing call, or tokens of an answer.
    Limit,
    /// A call was denied, or its question had no answer.
    Denied,
    /// The user cancelled.
    Cancelled,
}

impl Code {
    /// Returns the number.
    pub fn number(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::Limit => 3,
            Self::Denied => 4,
            // As shells report a program that SIGINT ended.
            Self::Cancelled => 130,
        }
    }

    /// Prints a message on standard error and returns the code.
    pub fn report(self, message: &str) -> ExitCode {
        terminal::report(message);
        self.into()
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code.number())
    }
}
