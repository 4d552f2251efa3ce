//! `:Flemma log` shows the end of the audit log.

use tools::state_dir;

use crate::audit::{self, Audit};
use crate::protocol::Report;

/// Number of records that are shown by default.
pub const USUAL_COUNT: usize = 50;

/// Returns the report that `:Flemma log` shows.
pub fn report() -> Report {
    let audit = Audit::open(&state_dir::path());
    let (mut lines, mut files) = (Vec::new(), Vec::new());
    match audit.read_last(USUAL_COUNT) {
        Ok(log) => {
            lines = log.problems;
            let first = lines.len();
            // The newest first: the window opens at its top.
            let records: Vec<_> = log.records.into_iter().rev().collect();
            lines.extend(audit::lines(&records));
            for (line, record) in (first..).zip(&records) {
                let file = audit.diff_file(record);
                files.extend(file.map(|it| (line, it.to_string_lossy().into_owned())));
            }
        }
        Err(error) => lines.push(format!("The log cannot be read: {error}.")),
    }
    Report {
        title: "log",
        lines,
        files,
        ..Report::default()
    }
}
