//! How a run ended, and its exit code.

use crate::exit_code::Code;

/// What has happened in a run so far.
#[derive(Debug, Default)]
pub struct RunOutcome {
    /// True if the user stopped it.
    pub cancelled: bool,
    /// True after an error.
    pub failed: bool,
    /// Number of requests.
    pub requests: u32,
    /// True if autopilot stopped at its limit of requests or of their cost.
    pub limited: bool,
    /// True if the model repeated a failing call.
    pub stuck: bool,
    /// True if the last answer was cut off by its token limit.
    pub cut: bool,
    /// Calls that the user or an end of standard input denied, as `name (id)`.
    pub refused: Vec<String>,
    /// Calls that a rule denied, as `name (id)`.
    pub denied: Vec<String>,
    /// True if anything was sent or run.
    pub worked: bool,
}

impl RunOutcome {
    /// Returns the exit code. Of several causes, the most serious one counts.
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
