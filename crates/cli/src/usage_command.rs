//! `flemma usage`: tokens and cost of all requests, per day, model, and project.

use std::process::ExitCode;

use session::usage::log::{UsageLog, UsageReport, lines};
use tools::state_dir;

use crate::exit_code::Code;
use crate::stdout;
use crate::terminal;

/// Prints the usage of the last days, as a table or as one JSON object, and reports damaged
/// lines of the log on standard error.
pub fn print(days: u32, as_json: bool) -> ExitCode {
    let mut report = match UsageReport::read(&UsageLog::open(&state_dir::path()), Some(days)) {
        Ok(report) => report,
        Err(error) => {
            return Code::Error.report(&format!("The usage log cannot be read: {error}."));
        }
    };
    if as_json {
        let json = serde_json::to_string(&report).unwrap_or_default();
        return stdout::print(&terminal::json(&json)).into();
    }
    // Above the table, because a reader may stop at the end of the first page.
    for problem in std::mem::take(&mut report.problems) {
        terminal::report(&problem);
    }
    stdout::print(lines(&report).join("\n").trim_end()).into()
}
