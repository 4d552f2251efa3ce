//! `:Flemma jobs`: the background jobs of all chats, and the log of one.

use std::path::Path;

use serde::Deserialize;
use tools::{JobSummary, Jobs, LogPart, duration};

use crate::protocol::Report;

/// Maximum columns of a line, for a terminal of 80.
const WIDTH: usize = 78;

/// Returns the report about all jobs, each of which has two lines.
pub fn report(jobs: &Jobs) -> Report {
    let jobs = jobs.list();
    let mut report = Report {
        title: "jobs",
        ..Report::default()
    };
    if jobs.is_empty() {
        report.lines = vec!["There are no background jobs.".to_owned()];
    }
    for job in jobs {
        let line = report.lines.len();
        report.lines.extend(lines(&job));
        let names = [line, line + 1].map(|line| (line, job.name.clone()));
        report.jobs.extend(names);
    }
    report
}

fn lines(job: &JobSummary) -> [String; 2] {
    let age = duration(job.age);
    let state = match &job.end {
        None => format!("running for {age}"),
        Some(how) => {
            let how = how.strip_prefix("it ").unwrap_or(how);
            format!("{how} after {age}")
        }
    };
    let chat = job.owner.path.as_deref().and_then(Path::file_name);
    let chat = chat.map_or("a chat without a file".into(), |it| it.to_string_lossy());
    let about = format!("{}  {state}  {chat}  {}", job.name, job.title);
    let last = if job.last_line.is_empty() {
        "(no output)"
    } else {
        &job.last_line
    };
    [about, format!("    {last}")].map(|line| chat::preview::one_line(&line, WIDTH))
}

/// A question for a part of a job's log.
#[derive(Debug, Deserialize)]
pub(crate) struct JobLog {
    name: String,
    /// The position from which the log is wanted.
    from: u64,
}

impl JobLog {
    pub(crate) fn answer(&self, jobs: &Jobs) -> Option<LogPart> {
        jobs.log(&self.name, self.from)
    }
}

/// A request to stop a job.
#[derive(Debug, Deserialize)]
pub(crate) struct StopJob {
    name: String,
}

impl StopJob {
    /// Returns false if the job does not run.
    pub(crate) fn stop(&self, jobs: &Jobs) -> bool {
        jobs.stop(&self.name)
    }
}
