//! Follows one script until nothing of it is left.
//!
//! Knows when to stop and that it really stopped; not what the model is told.

use std::future::Future;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::clock::Clock;
use super::wire::ScriptMessage;
use crate::context::ToolContext;
use crate::output::{Capture, Captured, Live};
use crate::process::Piped;

/// How long output and the wire are still read once the script has exited: what it left
/// behind may hold them open for ever.
const DRAIN: Duration = Duration::from_millis(200);
/// How long a killed program may take to be gone. It is longer only inside the kernel.
const REAP: Duration = Duration::from_secs(1);
/// How much is read at once; a pipe holds as much.
const CHUNK: usize = 64 * 1024;

/// How a script ended.
#[derive(Debug)]
pub(super) enum JobEnd {
    /// By itself, or by somebody else's signal.
    Exited(ExitStatus),
    /// We stopped it at its time limit.
    TimedOut(Duration),
    /// We stopped it for the user.
    Cancelled,
    /// The operating system could not say.
    Unknown(io::Error),
}

/// Everything that is known about a script that is over.
pub(super) struct Over {
    /// How it ended.
    pub end: JobEnd,
    /// What its code said in the end.
    pub said: ScriptMessage,
    /// What it printed.
    pub printed: Captured,
    /// What it wrote on standard error.
    pub complained: Captured,
}

/// A script that runs, and what is kept of it.
pub(super) struct Job {
    piped: Piped,
    printed: Output,
    complained: Output,
    live: Live,
}

impl Job {
    /// Follows what was started. Long output is kept under the tool's name and the
    /// call's id.
    pub(super) fn new(mut piped: Piped, ctx: &ToolContext, name: &str, id: &str) -> Self {
        let output = |pipe| Output {
            pipe,
            capture: Capture::new(&ctx.output_dir, name, id),
            chunk: Vec::with_capacity(CHUNK),
        };
        Self {
            printed: output(piped.stdout.take()),
            complained: output(piped.stderr.take()),
            live: Live::new(ctx.progress.clone()),
            piped,
        }
    }

    /// Reads until the script ends by itself, at its limit, or by a cancel; when this
    /// returns, none of its processes runs any more. `talk` is our side of its wire.
    pub(super) async fn run(
        mut self,
        ctx: &ToolContext,
        clock: &Clock,
        talk: impl Future<Output = ScriptMessage>,
    ) -> Over {
        tokio::pin!(talk);
        let mut said = None;
        let end = self.follow(ctx, clock, talk.as_mut(), &mut said).await;
        let by_itself = matches!(end, JobEnd::Exited(_));
        if by_itself {
            let rest = async {
                if said.is_none() {
                    said = Some(talk.await);
                }
            };
            let _ = timeout(DRAIN, rest).await;
        } else {
            self.piped.held.ask_to_end();
        }
        if !(by_itself && self.piped.held.is_surely_gone()) {
            self.piped.held.stop().await;
        }
        let (printed, complained) = (&mut self.printed, &mut self.complained);
        let live = &mut self.live;
        let _ = timeout(DRAIN, async {
            printed.drain(live).await;
            complained.drain(live).await;
        })
        .await;
        // Reaps the program; when it exited by itself this is done already.
        let _ = timeout(REAP, self.piped.child.wait()).await;
        self.live.send();
        Over {
            end,
            said: said.unwrap_or(ScriptMessage::Nothing),
            printed: self.printed.capture.finish().await,
            complained: self.complained.capture.finish().await,
        }
    }

    async fn follow(
        &mut self,
        ctx: &ToolContext,
        clock: &Clock,
        mut talk: std::pin::Pin<&mut impl Future<Output = ScriptMessage>>,
        said: &mut Option<ScriptMessage>,
    ) -> JobEnd {
        let up = clock.up();
        tokio::pin!(up);
        loop {
            tokio::select! {
                biased;
                () = ctx.cancel.cancelled() => return JobEnd::Cancelled,
                () = &mut up => return JobEnd::TimedOut(clock.limit()),
                status = self.piped.wait() => {
                    return status.map_or_else(JobEnd::Unknown, JobEnd::Exited);
                }
                ended = &mut talk, if said.is_none() => *said = Some(ended),
                () = self.live.due() => self.live.send(),
                read = self.printed.read(), if self.printed.is_open() => {
                    self.printed.take(read, &mut self.live).await;
                }
                read = self.complained.read(), if self.complained.is_open() => {
                    self.complained.take(read, &mut self.live).await;
                }
            }
        }
    }
}

/// One of its two outputs.
struct Output {
    /// Nothing once it is closed.
    pipe: Option<pipe::Receiver>,
    capture: Capture,
    chunk: Vec<u8>,
}

impl Output {
    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    async fn read(&mut self) -> io::Result<usize> {
        match &mut self.pipe {
            Some(pipe) => pipe.read_buf(&mut self.chunk).await,
            None => Ok(0),
        }
    }

    async fn take(&mut self, read: io::Result<usize>, live: &mut Live) {
        if !matches!(read, Ok(bytes) if bytes > 0) {
            self.pipe = None;
        }
        live.push(self.capture.push(&self.chunk).await);
        self.chunk.clear();
    }

    async fn drain(&mut self, live: &mut Live) {
        while self.is_open() {
            let read = self.read().await;
            self.take(read, live).await;
        }
    }
}
