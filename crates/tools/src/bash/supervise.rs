//! Supervises one command until all of its processes have ended.
//!
//! Decides when to stop the command, and words the result.

use std::future::pending;
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use chat::tool::ToolUseId;
use platform::exit_status;
use platform::pipe::CAPACITY;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::context::{Progress, ToolContext};
use crate::elicitation::{Elicitation, Form, FormContent, FormReply};
use crate::error::ToolError;
use crate::jobs::{Job, Jobs};
use crate::output::{Capture, Captured, FullOutput, Live, tail};
use crate::process::Running;
use crate::sandbox::Sandbox;
use crate::tool::ToolResult;

/// How long to read output after the shell has exited. A background process may keep the pipe open
/// forever.
const DRAIN: Duration = Duration::from_millis(200);
/// How long to wait for a killed shell. It takes longer only if the kernel is stuck.
const REAP: Duration = Duration::from_secs(1);
/// How long before its time limit the user is asked whether a command becomes a job.
const ASK_BEFORE: Duration = Duration::from_secs(10);
/// Bytes of a read that is part of a flood.
const FLOOD: usize = 64 * 1024;

/// How a command ended.
pub(super) enum CommandEnd {
    /// It exited, or another process killed it.
    Exited(ExitStatus),
    /// It was stopped at its time limit.
    TimedOut(Duration),
    /// The user cancelled it.
    Cancelled,
    /// The operating system reported an error.
    Unknown(io::Error),
}

impl CommandEnd {
    /// Says how it ended, in a clause.
    fn clause(&self) -> String {
        match self {
            Self::Exited(status) => sentence(*status).replace("Command", "it"),
            Self::TimedOut(limit) => format!(
                "it was stopped at its time limit of {} seconds",
                limit.as_secs_f64()
            ),
            Self::Cancelled => "it was stopped".to_owned(),
            Self::Unknown(error) => format!("its exit status is unknown: {error}"),
        }
    }
}

/// A running command and its captured output.
pub(super) struct Supervised {
    running: Running,
    cancel: CancellationToken,
    /// The job that it is, or may become.
    job: Option<Arc<Job>>,
    jobs: Jobs,
    elicitation: Arc<dyn Elicitation>,
    capture: Capture,
    live: Live,
    chunk: Vec<u8>,
    is_open: bool,
    /// True if output is kept. After a cancel it is read and discarded, so that the result is
    /// what the user saw when pressing the key. A job has no such result, and its last words count.
    keeps: bool,
    /// Why the command could not become a job, although the user wanted that.
    refused: Option<String>,
}

impl Supervised {
    pub(super) fn new(running: Running, id: &ToolUseId, ctx: &ToolContext) -> Self {
        Self {
            running,
            cancel: ctx.cancel.clone(),
            job: ctx.exec.job.clone(),
            jobs: ctx.exec.jobs.clone(),
            elicitation: ctx.user.elicitation.clone(),
            capture: Capture::new(&ctx.output_dir, "bash", id.as_str()),
            live: Live::new(ctx.progress.clone()),
            chunk: Vec::with_capacity(CAPACITY),
            is_open: true,
            keeps: true,
            refused: None,
        }
    }

    /// Reads until the command ends, reaches `limit`, or is cancelled. When this returns, none
    /// of its processes is running.
    pub(super) async fn run(mut self, limit: Duration) -> Report {
        if let Some(job) = &self.job {
            job.has_started();
        }
        let end = self.follow(limit).await;
        let by_itself = matches!(end, CommandEnd::Exited(_));
        self.keeps = self.is_job() || !matches!(end, CommandEnd::Cancelled);
        // The cheap test first: most commands leave nothing behind.
        let stopped = if by_itself && self.running.held.confirm_gone() {
            self.running.held.left()
        } else {
            self.stop_what_is_left(by_itself).await
        };
        self.drain().await;
        // Reaps the shell, unless it has exited by itself.
        let _ = timeout(REAP, self.running.held.reap()).await;
        self.live.send();
        let leftovers = if by_itself { stopped } else { 0 };
        if let Some(job) = &self.job {
            // A command that became a job does not wait for what it left.
            let left = match leftovers {
                0 => String::new(),
                1 => ", and a process that it had left running was stopped".to_owned(),
                count => format!(", and {count} processes that it had left running were stopped"),
            };
            job.exited(end.clause() + &left);
        }
        Report {
            captured: self.capture.finish().await,
            end,
            refused: self.refused,
            leftovers,
        }
    }

    /// Stops remaining processes and returns how many there were. Their last output is still
    /// read.
    async fn stop_what_is_left(&mut self, by_itself: bool) -> usize {
        if by_itself {
            // The shell's own output first: what is left may print until it is stopped.
            self.drain().await;
        } else {
            self.running.held.ask_to_end();
        }
        self.running.stop().await
    }

    async fn follow(&mut self, limit: Duration) -> CommandEnd {
        let deadline = sleep(limit);
        // A job has been asked for already.
        let asking = self.job.clone().filter(|it| !it.is_in_background());
        let asking = consent(self.elicitation.clone(), asking.is_some(), limit);
        tokio::pin!(deadline, asking);
        let (mut is_asking, mut has_limit) = (true, true);
        loop {
            tokio::select! {
                // Biased: a command that prints without pause must not delay its cancel.
                biased;
                () = self.cancel.cancelled() => return CommandEnd::Cancelled,
                is_wanted = &mut asking, if is_asking => {
                    is_asking = false;
                    has_limit = !(is_wanted && self.detach());
                }
                () = &mut deadline, if has_limit => return CommandEnd::TimedOut(limit),
                status = self.running.held.wait() => {
                    return status.map_or_else(CommandEnd::Unknown, CommandEnd::Exited);
                }
                () = self.live.due() => self.live.send(),
                read = self.running.output.read_buf(&mut self.chunk), if self.is_open => {
                    self.take(read).await;
                }
            }
        }
    }

    fn is_job(&self) -> bool {
        self.job.as_ref().is_some_and(|it| it.is_in_background())
    }

    /// Lets the command run on as a job. Returns false if that is not possible.
    fn detach(&mut self) -> bool {
        let Some(job) = &self.job else {
            return false;
        };
        self.refused = job.detach(&self.jobs).err();
        if self.refused.is_none() {
            // Its call has a result, so live output is no longer shown there.
            self.live = Live::new(Progress::default());
        }
        self.refused.is_none()
    }

    /// Reads the rest of the pipe for at most [`DRAIN`].
    async fn drain(&mut self) {
        let rest = async {
            while self.is_open {
                let read = self.running.output.read_buf(&mut self.chunk).await;
                self.take(read).await;
            }
        };
        // Output that comes later is that of a background process, and is lost.
        let _ = timeout(DRAIN, rest).await;
    }

    async fn take(&mut self, read: io::Result<usize>) {
        // After an error, the rest cannot be read either.
        self.is_open = matches!(read, Ok(bytes) if bytes > 0);
        if self.keeps {
            let text = self.capture.push(&self.chunk).await;
            self.live.push(text);
            if let Some(job) = &self.job {
                job.output(text);
                if let Some(file) = self.capture.file() {
                    job.has_file(file);
                }
            }
            // Its file is read while it runs. A flood is still written in blocks.
            if self.is_job() && self.chunk.len() < FLOOD {
                self.capture.flush().await;
            }
        }
        self.chunk.clear();
    }
}

/// Asks [`ASK_BEFORE`] a time limit whether the command becomes a job. Returns true if the user wants
/// that. Never returns if the front end cannot ask, or the limit is shorter.
async fn consent(elicitation: Arc<dyn Elicitation>, can_ask: bool, limit: Duration) -> bool {
    let Some(before) = limit.checked_sub(ASK_BEFORE).filter(|_| can_ask) else {
        return pending().await;
    };
    sleep(before).await;
    let message = format!(
        "The time limit is in {} s. Let it run on in the background?",
        ASK_BEFORE.as_secs()
    );
    let form = Form {
        by: "Flemma".to_owned(),
        message,
        wanted: FormContent::Fields(Vec::new()),
    };
    matches!(elicitation.ask(form).await, FormReply::Accepted(_))
}

// Words the result of a command for the model.

/// A command that has ended.
pub(super) struct Report {
    /// Its output.
    pub captured: Captured,
    /// How it ended.
    pub end: CommandEnd,
    /// Background processes that were stopped after it.
    pub leftovers: usize,
    /// Why it did not run on as a job, although the user wanted that.
    pub refused: Option<String>,
}

impl Report {
    /// Returns true if the sandbox could not be set up, so nothing ran; see
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
                    files: Vec::new(),
                    content,
                    details: Some(details(status, &self.captured)),
                    marked_failed: !status.success(),
                    hindered: None,
                })
            }
            CommandEnd::TimedOut(limit) => {
                let refused = self.refused.map(|why| {
                    format!(" The user wanted it to run on in the background, but that was not possible: {why}")
                });
                Err(ToolError::Failed(format!(
                    "{content}\n\nCommand timed out after {} seconds and was stopped.{}",
                    limit.as_secs_f64(),
                    refused.unwrap_or_default()
                )))
            }
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
