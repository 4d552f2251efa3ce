//! Follows one command until nothing of it is left.
//!
//! Knows when to stop and that it really stopped; not what the model is told.

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

/// How long output is still read once the shell has exited: a background job may
/// hold the pipe open for ever.
const DRAIN: Duration = Duration::from_millis(200);
/// How long a killed shell may take to be gone. It is longer only inside the kernel.
const REAP: Duration = Duration::from_secs(1);
/// How much is read at once; a pipe holds as much.
const CHUNK: usize = 64 * 1024;

/// How a command ended.
pub(super) enum CommandEnd {
    /// By itself, or by a signal of another process.
    Exited(ExitStatus),
    /// We stopped it at its time limit.
    TimedOut(Duration),
    /// We stopped it for the user.
    Cancelled,
    /// The operating system could not say.
    Unknown(io::Error),
}

/// A command that runs, and what is kept of it.
pub(super) struct Job {
    running: Running,
    cancel: CancellationToken,
    capture: Capture,
    live: Live,
    chunk: Vec<u8>,
    is_open: bool,
    /// Whether output still counts. After a cancel it is read and thrown away: the result
    /// holds what was there when the user pressed the key.
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

    /// Reads until the command ends by itself, at `limit`, or by a cancel; when
    /// this returns, none of its processes runs any more.
    pub(super) async fn run(mut self, limit: Duration) -> Report {
        let end = self.follow(limit).await;
        let by_itself = matches!(end, CommandEnd::Exited(_));
        self.keeps = !matches!(end, CommandEnd::Cancelled);
        let stopped = if by_itself && self.running.is_surely_gone() {
            self.running.left()
        } else {
            self.stop_what_is_left(by_itself).await
        };
        self.drain().await;
        // Reaps the shell; when it exited by itself this is done already.
        let _ = timeout(REAP, self.running.child.wait()).await;
        self.live.send();
        Report {
            captured: self.capture.finish().await,
            end,
            leftovers: if by_itself { stopped } else { 0 },
        }
    }

    /// Tells how many processes there were. What they print in the end is read.
    async fn stop_what_is_left(&mut self, by_itself: bool) -> usize {
        if by_itself {
            self.drain().await;
        } else {
            self.running.ask_to_end();
        }
        self.running.stop().await
    }

    async fn follow(&mut self, limit: Duration) -> CommandEnd {
        let deadline = sleep(limit);
        tokio::pin!(deadline);
        loop {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => return CommandEnd::Cancelled,
                () = &mut deadline => return CommandEnd::TimedOut(limit),
                status = self.running.child.wait() => {
                    let status = status.and_then(|status| self.running.released(status));
                    return status.map_or_else(CommandEnd::Unknown, CommandEnd::Exited);
                }
                () = self.live.due() => self.live.send(),
                read = self.running.output.read_buf(&mut self.chunk), if self.is_open => {
                    self.take(read).await;
                }
            }
        }
    }

    /// Reads what is left in the pipe, and no longer than [`DRAIN`].
    async fn drain(&mut self) {
        let rest = async {
            while self.is_open {
                let read = self.running.output.read_buf(&mut self.chunk).await;
                self.take(read).await;
            }
        };
        let _ = timeout(DRAIN, rest).await;
    }

    async fn take(&mut self, read: io::Result<usize>) {
        self.is_open = matches!(read, Ok(bytes) if bytes > 0);
        if self.keeps {
            let text = self.capture.push(&self.chunk).await;
            self.live.push(text);
        }
        self.chunk.clear();
    }
}
