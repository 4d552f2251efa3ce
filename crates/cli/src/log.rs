//! `flemma log`: prints the last records of the audit log.

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use session::audit::{self, Audit, Log};
use tools::state_dir;

use crate::terminal;

/// Prints the last `count` records, as text or as JSON lines, and reports damaged lines on
/// standard error.
///
/// With `diffs`, also prints what calls changed in files. The exit code is 1 if there are
/// damaged lines, or if the log cannot be read.
pub fn print(count: usize, as_json: bool, diffs: bool) -> ExitCode {
    let audit = Audit::open(&state_dir::path());
    let written = audit.read_last(count).and_then(|log| {
        // Above the records, because a reader may stop at the end of the first page.
        log.problems.iter().for_each(|it| terminal::report(it));
        if as_json {
            write_json(&log)?
        } else {
            write_records(&audit, &log, diffs)?
        }
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

fn write_json(log: &Log) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for record in &log.records {
        let record = serde_json::to_string(record)?;
        writeln!(out, "{}", terminal::json(&record))?;
    }
    out.flush()
}

fn write_records(audit: &Audit, log: &Log, diffs: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    // A log without records has one line that says so.
    let records = log.records.iter().map(Some).chain([None]);
    for (line, record) in audit::lines(&log.records).iter().zip(records) {
        writeln!(out, "{}", terminal::for_stdout(line))?;
        let diff = record.filter(|_| diffs).and_then(|it| audit.diff_file(it));
        if let Some(Ok(diff)) = diff.map(fs::read_to_string) {
            write!(out, "{}", terminal::for_stdout(&diff))?;
        }
    }
    out.flush()
}
