//! The channel to Neovim, the only module that refers to nvim-rs and rmpv.
//!
//! Parses incoming notifications and queues them in order. Handles none of them, because that
//! would block the reader. Outgoing notifications are frames in a queue of our own, because
//! nvim-rs has none; a task writes them, and combines messages that are queued together.
//! There are no requests in either direction. Only keys that move the cursor or open a list wait for
//! the answer to a question, for a second at most.

#[cfg(unix)]
mod unix;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use futures::io::AsyncWrite;
use nvim_rs::{Handler, Neovim};
use rmpv::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;
use session::protocol::{EditorReply, FromEditor};
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_util::compat::TokioAsyncReadCompatExt;

/// Lua that receives our messages.
const RECEIVE: &str = r#"require("flemma.host").receive_all(...)"#;
/// Maximum size of combined messages, because Neovim does nothing else while it reads them.
const MAX_COMBINED: usize = 64 * 1024;
/// How long an autocommand waits for messages that are sent right after it. They go first, because
/// what users do in it would delay what the screen shows.
const EVENT_WAIT: Duration = Duration::from_millis(2);
/// Maximum number of yields while input is unread, because Neovim may keep sending.
const MAX_READS: u32 = 16;
/// Number of yields until a message that was read has been handled.
const YIELDS_TO_HANDLE: u32 = 3;

/// Sends messages to Neovim, in order. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sender(mpsc::UnboundedSender<Outgoing>);

/// Data to write, in msgpack.
#[derive(Debug)]
enum Outgoing {
    /// A message: an array of its name and its payload.
    Message(Vec<u8>),
    /// A message that runs autocommands of the user.
    Event(Vec<u8>),
    /// A frame of nvim-rs.
    Frame(Vec<u8>),
}

impl Sender {
    /// Sends a message. A closed channel drops it, because the host is about to end.
    pub fn send(&self, name: &str, payload: &impl Serialize) {
        self.push(Outgoing::Message, name, payload);
    }

    /// Sends a message that runs autocommands of the user, after those that are sent right after it.
    pub fn send_event(&self, payload: &impl Serialize) {
        self.push(Outgoing::Event, "event", payload);
    }

    fn push(&self, kind: fn(Vec<u8>) -> Outgoing, name: &str, payload: &impl Serialize) {
        match rmp_serde::to_vec_named(&(name, payload)) {
            Ok(message) => drop(self.0.send(kind(message))),
            Err(error) => tracing::error!(name, %error, "a message cannot be encoded"),
        }
    }
}

/// Connects to the Neovim at the standard streams. The future ends when Neovim closes the
/// channel; until then, `incoming` gets its messages. Needs a tokio runtime.
pub fn connect(incoming: mpsc::UnboundedSender<FromEditor>) -> (Sender, impl Future<Output = ()>) {
    let (frames, queue) = mpsc::unbounded_channel();
    let (input, output) = standard();
    tokio::spawn(async move {
        if let Err(error) = write_frames(queue, output, EVENT_WAIT).await {
            tracing::info!(%error, "Neovim has stopped reading");
        }
    });
    let sender = Sender(frames.clone());
    let (neovim, io) = Neovim::new(
        input.compat(),
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
        // The handle keeps the channel open, so it lives as long as the reader.
        drop(neovim);
    };
    (sender, session)
}

/// Waits until the messages that Neovim has sent so far are handled.
pub async fn read_first() {
    for _ in 0..MAX_READS {
        tokio::task::yield_now().await;
        if !has_unread() {
            break;
        }
    }
    // Each yield runs all tasks that are ready: the reader, the handler, and the host.
    for _ in 0..YIELDS_TO_HANDLE {
        tokio::task::yield_now().await;
    }
}

async fn write_frames(
    mut queue: mpsc::UnboundedReceiver<Outgoing>,
    mut output: impl tokio::io::AsyncWrite + Unpin,
    wait: Duration,
) -> io::Result<()> {
    // Those that wait, and how long.
    let (mut events, mut due) = (Messages::default(), Instant::now());
    loop {
        let received = match events.count {
            0 => Some(queue.recv().await),
            _ => timeout_at(due, queue.recv()).await.ok(),
        };
        let is_closed = matches!(received, Some(None));
        let mut bytes = Vec::new();
        let mut messages = Messages::default();
        let mut next = received.flatten();
        // What was sent before an event is not what it waits for.
        let mut has_come = is_closed;
        // Each frame costs Neovim an iteration of its event loop, so messages are combined.
        while let Some(outgoing) = next {
            has_come |= events.count > 0 && !matches!(outgoing, Outgoing::Event(_));
            match outgoing {
                Outgoing::Message(message) => messages.add(&message),
                Outgoing::Event(event) => {
                    if events.count == 0 {
                        due = Instant::now() + wait;
                    }
                    events.add(&event);
                }
                Outgoing::Frame(frame) => {
                    messages.end(&mut bytes)?;
                    bytes.extend(frame);
                }
            }
            // A write must end, so that Neovim can begin to draw.
            let has_room = bytes.len() + messages.bytes.len() < MAX_COMBINED;
            next = has_room.then(|| queue.try_recv().ok()).flatten();
        }
        if has_come || Instant::now() >= due {
            messages.append(&mut events);
        }
        messages.end(&mut bytes)?;
        if !bytes.is_empty() {
            output.write_all(&bytes).await?;
            output.flush().await?;
        }
        if is_closed {
            return Ok(());
        }
    }
}

/// Messages that are written as one frame.
#[derive(Debug, Default)]
struct Messages {
    count: u32,
    bytes: Vec<u8>,
}

impl Messages {
    fn add(&mut self, message: &[u8]) {
        self.count += 1;
        self.bytes.extend_from_slice(message);
    }

    /// Moves all of `more` to the end.
    fn append(&mut self, more: &mut Self) {
        let Self { count, bytes } = std::mem::take(more);
        self.count += count;
        self.bytes.extend(bytes);
    }

    /// Moves the messages, if any, to `out` as one frame.
    fn end(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let Self { count, bytes } = std::mem::take(self);
        if count == 0 {
            return Ok(());
        }
        // A msgpack-RPC notification: [2, method, [code, [messages]]]. The frame of an empty
        // array ends in that array. Its byte is replaced by our array: 0xdd, and the length in
        // four bytes.
        let empty: Vec<u8> = Vec::new();
        let frame = (2u8, "nvim_exec_lua", (RECEIVE, (empty,)));
        let mut frame = rmp_serde::to_vec(&frame).map_err(io::Error::other)?;
        frame.pop();
        frame.push(0xdd);
        frame.extend(count.to_be_bytes());
        out.extend(frame);
        out.extend(bytes);
        Ok(())
    }
}

#[derive(Clone)]
struct Receiver(mpsc::UnboundedSender<FromEditor>);

#[async_trait]
impl Handler for Receiver {
    type Writer = FrameWriter;

    async fn handle_notify(&self, name: String, arguments: Vec<Value>, _: Neovim<FrameWriter>) {
        // How Neovim reports a notification of ours that failed, after its type.
        if name == "nvim_error_event" {
            let why = arguments.get(1).and_then(Value::as_str).unwrap_or_default();
            return tracing::warn!(why, "Neovim could not carry out a message");
        }
        let payload = arguments.into_iter().next().unwrap_or(Value::Nil);
        match read(&name, payload) {
            Ok(message) => drop(self.0.send(message)),
            Err(error) => tracing::warn!(name, %error, "a message from Neovim cannot be parsed"),
        }
    }
}

/// Replaces bytes that are not UTF-8, which no request can hold.
fn clean(value: Value) -> Value {
    match value {
        Value::String(text) if !text.is_str() => {
            String::from_utf8_lossy(text.as_bytes()).into_owned().into()
        }
        Value::Array(items) => Value::Array(items.into_iter().map(clean).collect()),
        Value::Map(fields) => {
            let fields = fields.into_iter();
            Value::Map(fields.map(|(name, value)| (name, clean(value))).collect())
        }
        value => value,
    }
}

fn typed<T: DeserializeOwned>(payload: Value) -> Result<T, String> {
    rmpv::ext::from_value(payload).map_err(|error| error.to_string())
}

/// Parses the reply to a question, whose number is among its fields.
fn replied<T: DeserializeOwned>(
    payload: Value,
    reply: impl Fn(T) -> EditorReply,
) -> Result<FromEditor, String> {
    let fields = payload.as_map().into_iter().flatten();
    let number = fields
        .filter(|(name, _)| name.as_str() == Some("ask"))
        .find_map(|(_, value)| value.as_u64());
    let number = number.ok_or("it has no number")?;
    Ok(FromEditor::Replied(number, reply(typed(payload)?)))
}

/// Parses a message. No other module handles a [`Value`] of the channel.
fn read(name: &str, payload: Value) -> Result<FromEditor, String> {
    Ok(match name {
        "hello" => FromEditor::Hello(typed(payload)?),
        "configure" => FromEditor::Configure(typed(payload)?),
        "resolvers" => FromEditor::Resolvers(typed(payload)?),
        "attach" => FromEditor::Attach(typed(payload)?),
        "snapshot" => FromEditor::Snapshot(typed(payload)?),
        "changed" => FromEditor::Changed(typed(payload)?),
        "saved" => FromEditor::Saved(typed(payload)?),
        "renamed" => FromEditor::Renamed(typed(payload)?),
        "detached" => FromEditor::Detached(typed(payload)?),
        "command" => FromEditor::Command(typed(clean(payload))?),
        "viewport" => FromEditor::Viewport(typed(payload)?),
        "applied" => FromEditor::Applied(typed(payload)?),
        "tools" => FromEditor::Tools(typed(payload)?),
        "tool_command" => FromEditor::ToolCommand(typed(payload)?),
        "tool_returned" => FromEditor::ToolReturned(typed(payload)?),
        "answered" => replied(payload, EditorReply::Functions)?,
        "open_files" => FromEditor::OpenFiles(typed(payload)?),
        "file_saved" => FromEditor::FileSaved(typed(payload)?),
        "directory" => FromEditor::Directory(typed(payload)?),
        "lookup" => FromEditor::Lookup(typed(payload)?),
        "query" => FromEditor::Query(typed(clean(payload))?),
        "problems_found" => replied(payload, EditorReply::Problems)?,
        "reference_answered" => replied(clean(payload), EditorReply::Reference)?,
        "reviewed" => replied(payload, EditorReply::Reviewed)?,
        "prompted" => replied(payload, EditorReply::Prompted)?,
        "buffers_answered" => replied(payload, EditorReply::Buffers)?,
        _ => return Err(format!("there is no message {name:?}: {payload}")),
    })
}

/// Collects what nvim-rs writes until it flushes: a frame.
struct FrameWriter {
    frames: mpsc::UnboundedSender<Outgoing>,
    bytes: Vec<u8>,
}

impl AsyncWrite for FrameWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.bytes.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let frame = std::mem::take(&mut self.bytes);
        let sent = self.frames.send(Outgoing::Frame(frame));
        Poll::Ready(sent.map_err(|_| io::ErrorKind::BrokenPipe.into()))
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}

/// Standard input.
type Input = Box<dyn AsyncRead + Send + Unpin>;
/// Standard output.
type Output = Box<dyn tokio::io::AsyncWrite + Send + Unpin>;

/// Opens both streams. Makes them non-blocking, also for other processes that share them.
///
/// Neovim gives its jobs sockets and other programs give pipes, and tokio polls both. Other files, and
/// all streams on Windows, need a thread, which makes each message slower by two context switches.
fn standard() -> (Input, Output) {
    (
        system::input().unwrap_or_else(|_| Box::new(tokio::io::stdin())),
        system::output().unwrap_or_else(|_| Box::new(tokio::io::stdout())),
    )
}

/// Returns true if standard input has unread data. Always false on Windows.
fn has_unread() -> bool {
    system::has_unread()
}

#[cfg(windows)]
mod windows {
    use std::io;

    use super::{Input, Output};

    pub(super) fn has_unread() -> bool {
        false
    }

    // Neovim's pipes can't be polled: it opens them for blocking reads and writes.

    pub(super) fn input() -> io::Result<Input> {
        Ok(Box::new(tokio::io::stdin()))
    }

    pub(super) fn output() -> io::Result<Output> {
        Ok(Box::new(tokio::io::stdout()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[test]
    fn a_line_that_is_not_utf8_arrives_byte_for_byte() {
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
    fn a_question_has_no_bytes_that_a_request_cannot_hold() {
        // A string of four bytes.
        let encoded = b"\xa4\xffx\xc0\xaf";
        let text = rmpv::decode::read_value(&mut &encoded[..]).unwrap();
        let lines = Value::Array(vec![text, "ä€😀".into()]);
        let payload = Value::Map(vec![
            ("lookup".into(), 1.into()),
            ("name".into(), "x".into()),
            ("arguments".into(), lines),
        ]);
        let FromEditor::Query(query) = read("query", payload).unwrap() else {
            panic!("a query")
        };
        assert_eq!(
            query.arguments,
            serde_json::json!(["\u{fffd}x\u{fffd}\u{fffd}", "ä€😀"])
        );
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
            matches!(read, FromEditor::Applied(applied) if applied.outcome == session::protocol::EditOutcome::Moved)
        );
    }

    #[test]
    fn messages_that_are_sent_together_are_one_notification() {
        let mut messages = Messages::default();
        messages.add(&rmp_serde::to_vec_named(&("lock", 1)).unwrap());
        messages.add(&rmp_serde::to_vec_named(&("marks", 2)).unwrap());
        let mut out = Vec::new();
        messages.end(&mut out).unwrap();
        messages.end(&mut out).unwrap();

        let mut rest = out.as_slice();
        let frame = rmpv::decode::read_value(&mut rest).unwrap();

        let message = |name: &str, payload: i64| Value::Array(vec![name.into(), payload.into()]);
        let list = Value::Array(vec![message("lock", 1), message("marks", 2)]);
        let arguments = Value::Array(vec![RECEIVE.into(), Value::Array(vec![list])]);
        let expected = Value::Array(vec![2.into(), "nvim_exec_lua".into(), arguments]);
        assert_eq!((frame, rest), (expected, [].as_slice()));
    }

    /// No test takes so long.
    const LONG: Duration = Duration::from_secs(600);

    /// Returns the names of the messages of each frame.
    fn names(mut frames: &[u8]) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        while !frames.is_empty() {
            let frame = rmpv::decode::read_value(&mut frames).unwrap();
            let messages = frame[2][1][0].as_array().unwrap().iter();
            all.push(messages.map(|it| it[0].as_str().unwrap().into()).collect());
        }
        all
    }

    /// Reads `count` bytes, or up to the end of the stream.
    async fn read_from(neovim: &mut tokio::io::DuplexStream, count: Option<usize>) -> Vec<u8> {
        let mut bytes = vec![0; count.unwrap_or_default()];
        neovim.read_exact(&mut bytes).await.unwrap();
        if count.is_none() {
            neovim.read_to_end(&mut bytes).await.unwrap();
        }
        bytes
    }

    #[tokio::test]
    async fn autocommands_run_after_the_edits_that_are_sent_right_after_them() {
        let (frames, queue) = mpsc::unbounded_channel();
        let (mut neovim, output) = tokio::io::duplex(4096);
        let sender = Sender(frames);
        sender.send("usage", &1);
        sender.send_event(&2);
        tokio::spawn(write_frames(queue, output, LONG));
        // What was sent before is written at once.
        let mut out = read_from(&mut neovim, Some(1)).await;
        sender.send("apply", &3);
        sender.send_event(&4);
        drop(sender);
        out.extend(read_from(&mut neovim, None).await);
        assert_eq!(
            names(&out),
            [vec!["usage"], vec!["apply", "event", "event"]]
        );
    }

    #[tokio::test]
    async fn an_autocommand_runs_if_nothing_follows() {
        let (frames, queue) = mpsc::unbounded_channel();
        let (mut neovim, output) = tokio::io::duplex(4096);
        tokio::spawn(write_frames(queue, output, EVENT_WAIT));
        Sender(frames.clone()).send_event(&1);
        read_from(&mut neovim, Some(1)).await;
        assert!(!frames.is_closed());
    }

    #[test]
    fn an_unknown_message_is_an_error_and_no_panic() {
        assert!(read("no_such_message", Value::Nil).is_err());
        assert!(read("snapshot", Value::from(1)).is_err());
    }
}
