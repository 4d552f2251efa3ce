//! Transport over two streams, one message per line.

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

/// Maximum line length in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

/// Reads the client's lines and writes ours.
pub(super) struct Lines<R> {
    lines: FramedRead<R, AnyDelimiterCodec>,
    out: mpsc::UnboundedSender<Out>,
}

/// A line to write, and the sender notified once it is written.
struct Out {
    line: Vec<u8>,
    written: Option<oneshot::Sender<io::Result<()>>>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Returns the transport and its writer task, which ends after the last line once the
    /// transport is dropped.
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

    /// Parses a line. An invalid message is answered here.
    fn message(&self, line: &[u8]) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        let answer = match messages::read(line) {
            Ok(message) => match serde_json::from_value(message.clone()) {
                Ok(message) => return Some(message),
                // Valid JSON-RPC of a kind that the SDK doesn't know.
                Err(_) => messages::unreadable(&message),
            },
            Err(answer) => Some(answer),
        };
        if let Some(answer) = answer {
            let line = answer.to_string().into_bytes();
            let written = None;
            // Fails only if the writer has ended, and then the client reads nothing any more.
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
            // Fails if the SDK no longer waits for the line.
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
                // If the writer has ended, `written` reports it.
                let _ = self.out.send(Out { line, written });
            });
        async move {
            sent?;
            let ended = |_| Err(io::ErrorKind::NotConnected.into());
            written.await.unwrap_or_else(ended)
        }
    }

    /// Cancel-safe: a partly read line stays in `lines`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match self.lines.next().await? {
                Ok(line) => {
                    if let Some(message) = self.message(&line) {
                        return Some(message);
                    }
                }
                Err(error) => {
                    // This may be a line that is too long. Its request has no known ID, so
                    // there is no answer to it.
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
