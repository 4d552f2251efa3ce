//! The channel to Neovim: the one module that names nvim-rs and rmpv.
//!
//! Incoming notifications are turned into our own types and put into a queue, in
//! order; nothing is handled here, because whatever blocks this module stops the
//! reader. Outgoing ones are whole frames in a queue of our own that one thread
//! drains, because nvim-rs has no outgoing notifications. There are no requests
//! in either direction, so nobody ever waits for an answer.

use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::sync::mpsc as blocking;
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures::io::AsyncWrite;
use nvim_rs::{Handler, Neovim};
use rmpv::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio_util::compat::TokioAsyncReadCompatExt;

use crate::protocol::FromEditor;

/// The Lua function that receives every message of ours.
const RECEIVE: &str = r#"require("flemma.host").receive(...)"#;

/// Sends messages to Neovim; cheap to clone. Messages arrive in the order in
/// which they were sent.
#[derive(Debug, Clone)]
pub struct Sender(blocking::Sender<Vec<u8>>);

impl Sender {
    /// Sends one message. A channel that is closed swallows it: the host is about
    /// to end.
    pub fn send(&self, name: &str, payload: &impl Serialize) {
        // msgpack-RPC notification: [2, method, params].
        match rmp_serde::to_vec_named(&(2u8, "nvim_exec_lua", (RECEIVE, (name, payload)))) {
            Ok(frame) => drop(self.0.send(frame)),
            Err(error) => tracing::error!(name, %error, "a message could not be written"),
        }
    }
}

/// Connects to the Neovim at our standard streams. The future ends when Neovim
/// closes the channel; messages come through the queue until then.
pub fn connect(incoming: mpsc::UnboundedSender<FromEditor>) -> (Sender, impl Future<Output = ()>) {
    let (frames, queue) = blocking::channel::<Vec<u8>>();
    std::thread::spawn(move || write_frames(&queue));
    let sender = Sender(frames.clone());
    let reader = tokio::io::stdin().compat();
    let (neovim, io) = Neovim::new(
        reader,
        FrameWriter {
            frames,
            bytes: Vec::new(),
        },
        Receiver(incoming),
    );
    let session = async move {
        if let Err(error) = io.await {
            tracing::info!(%error, "the channel to Neovim closed");
        }
        drop(neovim);
    };
    (sender, session)
}

fn write_frames(queue: &blocking::Receiver<Vec<u8>>) {
    let mut out = std::io::stdout().lock();
    while let Ok(frame) = queue.recv() {
        let mut written = out.write_all(&frame);
        while let Ok(next) = queue.try_recv() {
            written = written.and_then(|()| out.write_all(&next));
        }
        if let Err(error) = written.and_then(|()| out.flush()) {
            tracing::info!(%error, "Neovim does not read any more");
            return;
        }
    }
}

#[derive(Clone)]
struct Receiver(mpsc::UnboundedSender<FromEditor>);

#[async_trait]
impl Handler for Receiver {
    type Writer = FrameWriter;

    async fn handle_notify(&self, name: String, arguments: Vec<Value>, _: Neovim<FrameWriter>) {
        let payload = arguments.into_iter().next().unwrap_or(Value::Nil);
        match read(&name, payload) {
            Ok(message) => drop(self.0.send(message)),
            Err(error) => tracing::warn!(name, %error, "a message from Neovim was not understood"),
        }
    }
}

/// Parses a message at the edge; past here nobody sees a [`Value`].
fn read(name: &str, payload: Value) -> Result<FromEditor, String> {
    fn typed<T: DeserializeOwned>(payload: Value) -> Result<T, String> {
        rmpv::ext::from_value(payload).map_err(|error| error.to_string())
    }
    Ok(match name {
        "hello" => FromEditor::Hello(typed(payload)?),
        "configure" => FromEditor::Configure(typed(payload)?),
        "resolvers" => FromEditor::Resolvers(typed(payload)?),
        "attach" => FromEditor::Attach(typed(payload)?),
        "snapshot" => FromEditor::Snapshot(typed(payload)?),
        "changed" => FromEditor::Changed(typed(payload)?),
        "undone" => FromEditor::Undone(typed(payload)?),
        "saved" => FromEditor::Saved(typed(payload)?),
        "detached" => FromEditor::Detached(typed(payload)?),
        "command" => FromEditor::Command(typed(payload)?),
        "viewport" => FromEditor::Viewport(typed(payload)?),
        "applied" => FromEditor::Applied(typed(payload)?),
        "tools" => FromEditor::Tools(typed(payload)?),
        "tool_command" => FromEditor::ToolCommand(typed(payload)?),
        "tool_returned" => FromEditor::ToolReturned(typed(payload)?),
        "answered" => FromEditor::Answered(typed(payload)?),
        "open_files" => FromEditor::OpenFiles(typed(payload)?),
        "buffers_answered" => FromEditor::BuffersAnswered(typed(payload)?),
        _ => return Err(format!("no message is named {name:?}: {payload}")),
    })
}

/// Collects what nvim-rs writes into whole frames.
struct FrameWriter {
    frames: blocking::Sender<Vec<u8>>,
    bytes: Vec<u8>,
}

impl AsyncWrite for FrameWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.bytes.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let frame = std::mem::take(&mut self.bytes);
        let sent = self.frames.send(frame);
        Poll::Ready(sent.map_err(|_| std::io::ErrorKind::BrokenPipe.into()))
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        self.poll_flush(context)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_utf8_arrives_byte_for_byte() {
        let lines = Value::Array(vec![Value::from("é"), Value::Binary(vec![0xff, b'x'])]);
        let payload = Value::Map(vec![
            ("buffer".into(), 1.into()),
            ("seq".into(), 7.into()),
            ("lines".into(), lines),
            ("done".into(), true.into()),
        ]);
        let FromEditor::Snapshot(snapshot) = read("snapshot", payload).unwrap() else {
            panic!("a snapshot")
        };
        assert_eq!(snapshot.lines[0].as_ref(), "é".as_bytes());
        assert_eq!(snapshot.lines[1].as_ref(), [0xff, b'x']);
    }

    #[test]
    fn the_outcome_of_an_edit_is_read_by_its_name() {
        let field = |name: &str, value: Value| (Value::from(name), value);
        let payload = Value::Map(vec![
            field("buffer", 1.into()),
            field("edit", 2.into()),
            field("seq", 3.into()),
            field("outcome", "moved".into()),
        ]);
        let read = read("applied", payload).unwrap();
        assert!(
            matches!(read, FromEditor::Applied(applied) if applied.outcome == crate::protocol::Outcome::Moved)
        );
    }

    #[test]
    fn a_message_that_nobody_knows_is_an_error_and_no_panic() {
        assert!(read("no_such_message", Value::Nil).is_err());
        assert!(read("snapshot", Value::from(1)).is_err());
    }
}
