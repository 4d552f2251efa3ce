//! `:Flemma log` shows the end of the audit log.

use crate::audit::{self, Audit};
use crate::protocol::Report;
use crate::state_dir;

/// Number of records that are shown by default.
pub const USUAL_COUNT: usize = 50;

/// What `:Flemma log` shows.
pub fn report() -> Report {
    let lines = match Audit::open(&state_dir::path()).read_last(USUAL_COUNT) {
        Ok(log) => {
            let mut lines = log.problems;
            lines.extend(audit::lines(&log.records));
            lines
        }
        Err(error) => vec![format!("The log cannot be read: {error}.")],
    };
    Report {
        title: "log",
        lines,
    }
}
