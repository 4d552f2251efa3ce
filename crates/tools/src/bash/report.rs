//! Words the result of a command for the model.

use std::process::ExitStatus;

use platform::exit_status;
use serde_json::{Value, json};

use super::job::CommandEnd;
use crate::error::ToolError;
use crate::output::{Captured, FullOutput, tail};
use crate::sandbox::Sandbox;
use crate::tool::ToolResult;

/// A command that has ended.
pub(super) struct Report {
    /// Its output.
    pub captured: Captured,
    /// How it ended.
    pub end: CommandEnd,
    /// Background processes that were stopped after it.
    pub leftovers: usize,
}

impl Report {
    /// Whether the sandbox could not be set up, so nothing ran; see
    /// [`Sandbox::is_failed_start`].
    pub(super) fn is_not_started(&self, sandbox: &Sandbox) -> bool {
        match &self.end {
            CommandEnd::Exited(status) => {
                sandbox.is_failed_start(status.code(), &self.captured.text)
            }
            _ => false,
        }
    }

    /// Converts the report to a result. A command that fails is a result; one that was stopped
    /// is an error.
    pub(super) fn into_result(self) -> Result<ToolResult, ToolError> {
        let mut content = tail(&self.captured);
        if self.leftovers > 0 {
            // The model may believe that a server it started is running.
            content.push_str(&leftovers(self.leftovers));
        }
        match self.end {
            CommandEnd::Exited(status) => {
                // An exit code other than 0 is often an answer, as of `grep` or a test.
                if !status.success() {
                    content.push_str(&format!("\n\n{}", sentence(status)));
                }
                Ok(ToolResult {
                    content,
                    details: Some(details(status, &self.captured)),
                    marked_failed: !status.success(),
                    hindered: None,
                })
            }
            CommandEnd::TimedOut(limit) => Err(ToolError::Failed(format!(
                "{content}\n\nCommand timed out after {} seconds and was stopped.",
                limit.as_secs_f64()
            ))),
            CommandEnd::Cancelled if self.captured.text.is_empty() => Err(ToolError::Cancelled),
            // The user has seen the output, and the model needs to know what was done so far.
            CommandEnd::Cancelled => Err(ToolError::CancelledAfter(content)),
            CommandEnd::Unknown(error) => Err(ToolError::Failed(format!(
                "{content}\n\nThe exit status of the command is unknown: {error}."
            ))),
        }
    }
}

fn leftovers(count: usize) -> String {
    if count == 1 {
        "\n\n[1 background process was still running when the command ended, and was stopped.]"
            .to_owned()
    } else {
        format!(
            "\n\n[{count} background processes were still running when the command ended, and \
             were stopped.]"
        )
    }
}

fn sentence(status: ExitStatus) -> String {
    match (status.code(), exit_status::signal(status)) {
        (Some(code), _) => format!("Command exited with code {code}"),
        (None, Some(signal)) => format!("Command was killed by {}", signal_name(signal)),
        (None, None) => "Command ended without an exit code".to_owned(),
    }
}

fn signal_name(signal: i32) -> String {
    exit_status::signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}

fn details(status: ExitStatus, captured: &Captured) -> Value {
    let full = match &captured.full {
        Some(FullOutput::Whole(path) | FullOutput::Start(path)) => Some(path.display().to_string()),
        _ => None,
    };
    json!({ "exit_code": status.code(), "signal": exit_status::signal(status), "full_output": full })
}
