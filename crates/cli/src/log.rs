//! `flemma log`: prints the last records of the audit log.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::audit::{self, Audit, Log};
use crate::state_dir;
use crate::terminal;

/// Prints the last `count` records, as text or as JSON lines, and reports damaged lines
/// on standard error. The exit code is 1 if there are any, or if the log cannot be read.
pub fn print(count: usize, as_json: bool) -> ExitCode {
    let written = Audit::open(&state_dir::path())
        .read_last(count)
        .and_then(|log| {
            log.problems.iter().for_each(|it| terminal::report(it));
            write_records(&log, as_json)?;
            Ok(log.problems.is_empty())
        });
    match written {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // A reader such as `head` closes the pipe early.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            terminal::report(&format!("The log cannot be shown: {error}."));
            ExitCode::FAILURE
        }
    }
}

fn write_records(log: &Log, as_json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if as_json {
        for record in &log.records {
            let record = serde_json::to_string(record)?;
            writeln!(out, "{}", terminal::json(&record))?;
        }
    } else {
        for line in audit::lines(&log.records) {
            writeln!(out, "{}", terminal::for_stdout(&line))?;
        }
    }
    out.flush()
}
