//! How a run on the command line ended, for the shell.

use crate::exit_code::Code;

/// What happened so far.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Whether the user stopped it.
    pub cancelled: bool,
    /// Whether anything went wrong.
    pub failed: bool,
    /// Number of requests.
    pub requests: u32,
    /// Whether autopilot stopped at its limit of requests or of their cost.
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
