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

/// When a run ends, and with which exit code.
#[derive(Debug)]
pub struct RunEnd {
    code: Option<Code>,
    /// Maximum number of requests in a row, for the message about it.
    max_turns: u32,
    /// True if messages are queued.
    has_queued: bool,
    /// True once they were moved to the prompt, which is tried once.
    took_back_queue: bool,
}

impl RunEnd {
    /// Creates the end of a run that goes on.
    pub fn new(max_turns: u32) -> Self {
        Self {
            code: None,
            max_turns,
            has_queued: false,
            took_back_queue: false,
        }
    }

    /// Returns the exit code if the run has ended.
    pub fn code(&self) -> Option<Code> {
        self.code
    }

    /// Ends the run.
    pub fn set(&mut self, code: Code) {
        self.code = Some(code);
    }

    /// Returns the maximum number of requests in a row.
    pub fn max_turns(&self) -> u32 {
        self.max_turns
    }

    /// Sets whether messages are queued.
    pub fn set_queued(&mut self, has_queued: bool) {
        self.has_queued = has_queued;
    }

    /// Returns true if queued messages must be moved to the prompt before the run ends.
    pub fn take_back_queue(&mut self) -> bool {
        // Only once: if the session cannot move them, the run would never end.
        self.has_queued && !std::mem::replace(&mut self.took_back_queue, true)
    }
}
