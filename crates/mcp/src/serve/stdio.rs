//! Messages over two streams, one a line.

use std::io;

use futures::StreamExt;
use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::codec::{AnyDelimiterCodec, FramedRead};

use super::messages;

/// Longest line, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

/// The other side's lines, and ours.
pub(super) struct Lines<R> {
    lines: FramedRead<R, AnyDelimiterCodec>,
    out: mpsc::UnboundedSender<Out>,
}

/// A line that is to be written, and who waits for that.
struct Out {
    line: Vec<u8>,
    written: Option<oneshot::Sender<io::Result<()>>>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// The lines, and a task that writes; it ends with the last line once they are dropped.
    pub(super) fn new<W>(reader: R, writer: W) -> (Self, JoinHandle<()>)
    where
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (out, waiting) = mpsc::unbounded_channel();
        let writing = tokio::spawn(write(writer, waiting));
        let codec = AnyDelimiterCodec::new_with_max_length(b"\n".into(), b"\n".into(), LONGEST);
        let lines = FramedRead::new(reader, codec);
        (Self { lines, out }, writing)
    }

    /// The message of a line; what is wrong with it is answered here.
    fn message(&self, line: &[u8]) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        let answer = match messages::read(line) {
            Ok(message) => match serde_json::from_value(message.clone()) {
                Ok(message) => return Some(message),
                Err(_) => messages::unreadable(&message),
            },
            Err(answer) => answer,
        };
        if let Some(answer) = answer {
            let line = answer.to_string().into_bytes();
            let written = None;
            let _ = self.out.send(Out { line, written });
        }
        None
    }
}

async fn write<W: AsyncWrite + Unpin>(mut writer: W, mut waiting: mpsc::UnboundedReceiver<Out>) {
    while let Some(Out { mut line, written }) = waiting.recv().await {
        line.push(b'\n');
        let result = match writer.write_all(&line).await {
            Ok(()) => writer.flush().await,
            error => error,
        };
        if let Some(written) = written {
            let _ = written.send(result);
        }
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (done, written) = oneshot::channel();
        let sent = serde_json::to_vec(&item)
            .map_err(io::Error::from)
            .map(|line| {
                let written = Some(done);
                // Where the writer has ended, `written` says so.
                let _ = self.out.send(Out { line, written });
            });
        async move {
            sent?;
            let ended = |_| Err(io::ErrorKind::NotConnected.into());
            written.await.unwrap_or_else(ended)
        }
    }

    /// Can be dropped while it waits: what was read of a line stays in `lines`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match self.lines.next().await? {
                Ok(line) => {
                    if let Some(message) = self.message(&line) {
                        return Some(message);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "the program's input ended");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
