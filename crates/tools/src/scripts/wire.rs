//! The connection to a running Python script: a start message, then JSON lines.
//!
//! It is a socket, or a named pipe on Windows. It is the script's standard input until the script's
//! own code starts. Output of the script is not part of it. The script is not trusted: the length of
//! a line is limited, and an invalid message ends the call.

use std::io;
use std::process::Stdio;

use platform::duplex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::clock::Clock;
use super::marshal::marshal;
use super::requests::{self, Request};
use crate::context::ToolContext;

/// Maximum size of a message of a script: 64 MB.
const LONGEST: usize = 64 * 1024 * 1024;
/// Maximum number of requests of one call, so that a loop ends.
const MOST_REQUESTS: usize = 1000;

/// How a script's own code ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ScriptMessage {
    /// It returned this text, or nothing.
    Done(Option<String>),
    /// It failed with this message.
    Failed(String),
    /// It ended without a message.
    Nothing,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message {
    Ask(Request),
    Done(Option<String>),
    Failed(String),
}

/// The message that answers a request.
fn answered(answer: Result<String, String>) -> Value {
    match answer {
        Ok(text) => json!({"ok": text}),
        Err(why) => json!({"error": why}),
    }
}

/// Our end of the connection.
pub(super) struct Wire {
    stream: BufReader<duplex::Stream>,
}

impl Wire {
    /// Creates a connection. Returns our end, and the script's standard input.
    ///
    /// # Errors
    ///
    /// The limit of open files is reached.
    pub(super) fn new() -> io::Result<(Self, Stdio)> {
        let (ours, theirs) = duplex::pair()?;
        let stream = BufReader::new(ours);
        Ok((Self { stream }, theirs))
    }

    /// Sends the start message and answers requests until the script's code ends.
    pub(super) async fn serve(
        mut self,
        start: &Value,
        ctx: &ToolContext,
        clock: &Clock,
    ) -> ScriptMessage {
        if self.begin(start).await.is_err() {
            return ScriptMessage::Nothing;
        }
        let mut left = MOST_REQUESTS;
        loop {
            let request = match self.next().await {
                Ok(Some(Message::Ask(request))) => request,
                Ok(Some(Message::Done(result))) => return ScriptMessage::Done(result),
                Ok(Some(Message::Failed(why))) => return ScriptMessage::Failed(why),
                Ok(None) => return ScriptMessage::Nothing,
                Err(why) => return ScriptMessage::Failed(why),
            };
            // Refused and not ended, so that the script can report what it has.
            left = left.saturating_sub(1);
            let answer = if left == 0 {
                Err(format!("The script asked more than {MOST_REQUESTS} times."))
            } else {
                // The time limit is the script's own; waiting for the user or a model does not
                // count.
                clock.pause(requests::answer(request, ctx)).await
            };
            if self.send(&answered(answer)).await.is_err() {
                return ScriptMessage::Nothing;
            }
        }
    }

    /// Sends the start message, the only one that is not a line of JSON.
    async fn begin(&mut self, start: &Value) -> io::Result<()> {
        let start = marshal(start)?;
        let mut message = format!("{}\n", start.len()).into_bytes();
        message.extend(start);
        // The length first, because the interpreter must not read beyond the message.
        self.stream.get_mut().write_all(&message).await
    }

    async fn send(&mut self, message: &Value) -> io::Result<()> {
        let line = format!("{message}\n");
        self.stream.get_mut().write_all(line.as_bytes()).await
    }

    /// Returns the next message, or `None` if the script closed the connection.
    async fn next(&mut self) -> Result<Option<Message>, String> {
        let mut line = Vec::new();
        loop {
            let Ok(more) = self.stream.fill_buf().await else {
                return Ok(None);
            };
            if more.is_empty() {
                return Ok(None);
            }
            let end = more.iter().position(|&byte| byte == b'\n');
            let taken = end.map_or(more.len(), |end| end + 1);
            line.extend_from_slice(&more[..taken]);
            self.stream.consume(taken);
            // Checked while reading, so that an endless line does not fill the memory.
            if line.len() > LONGEST {
                return Err("The script returned more than 64 MB, so it was stopped.".to_owned());
            }
            if end.is_some() {
                break;
            }
        }
        let message = serde_json::from_slice(&line);
        message
            .map(Some)
            .map_err(|error| format!("The script asked for something that is not known: {error}."))
    }
}
