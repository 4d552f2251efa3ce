//! Supervises one command until all of its processes have ended.
//!
//! Decides when to stop the command. `report` words the result.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use chat::tool::ToolUseId;
use tokio::io::AsyncReadExt;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::report::Report;
use crate::context::ToolContext;
use crate::output::{Capture, Live};
use crate::process::Running;

/// How long to read output after the shell has exited. A background job may keep the pipe open
/// forever.
const DRAIN: Duration = Duration::from_millis(200);
/// How long to wait for a killed shell. It takes longer only if the kernel is stuck.
const REAP: Duration = Duration::from_secs(1);
/// Bytes read at once; the capacity of a pipe.
const CHUNK: usize = 64 * 1024;

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

/// A running command and its captured output.
pub(super) struct Job {
    running: Running,
    cancel: CancellationToken,
    capture: Capture,
    live: Live,
    chunk: Vec<u8>,
    is_open: bool,
    /// Whether output is kept. After a cancel it is read and discarded, so that the result is
    /// what the user saw when pressing the key.
    keeps: bool,
}

impl Job {
    pub(super) fn new(running: Running, id: &ToolUseId, ctx: &ToolContext) -> Self {
        Self {
            running,
            cancel: ctx.cancel.clone(),
            capture: Capture::new(&ctx.output_dir, "bash", id.as_str()),
            live: Live::new(ctx.progress.clone()),
            chunk: Vec::with_capacity(CHUNK),
            is_open: true,
            keeps: true,
        }
    }

    /// Reads until the command ends, reaches `limit`, or is cancelled. When this returns, none
    /// of its processes is running.
    pub(super) async fn run(mut self, limit: Duration) -> Report {
        let end = self.follow(limit).await;
        let by_itself = matches!(end, CommandEnd::Exited(_));
        self.keeps = !matches!(end, CommandEnd::Cancelled);
        // The cheap test first: most commands leave nothing behind.
        let stopped = if by_itself && self.running.held.is_surely_gone() {
            self.running.held.left()
        } else {
            self.stop_what_is_left(by_itself).await
        };
        self.drain().await;
        // Reaps the shell, unless it has exited by itself.
        let _ = timeout(REAP, self.running.held.reap()).await;
        self.live.send();
        Report {
            captured: self.capture.finish().await,
            end,
            leftovers: if by_itself { stopped } else { 0 },
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
        tokio::pin!(deadline);
        loop {
            tokio::select! {
                // Biased: a command that prints without pause must not delay its cancel.
                biased;
                () = self.cancel.cancelled() => return CommandEnd::Cancelled,
                () = &mut deadline => return CommandEnd::TimedOut(limit),
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

    /// Reads the rest of the pipe for at most [`DRAIN`].
    async fn drain(&mut self) {
        let rest = async {
            while self.is_open {
                let read = self.running.output.read_buf(&mut self.chunk).await;
                self.take(read).await;
            }
        };
        // Output that comes later is that of a background job, and is lost.
        let _ = timeout(DRAIN, rest).await;
    }

    async fn take(&mut self, read: io::Result<usize>) {
        // After an error, the rest cannot be read either.
        self.is_open = matches!(read, Ok(bytes) if bytes > 0);
        if self.keeps {
            let text = self.capture.push(&self.chunk).await;
            self.live.push(&text);
        }
        self.chunk.clear();
    }
}
