//! The wire to a running script: what it starts from, then lines of JSON, over a socket
//! that is its standard input until its own code starts. What the script prints goes
//! elsewhere.
//!
//! The other end is not trusted: a line is bounded, and what is no message ends the call.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Pair;
use std::process::Stdio;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::clock::Clock;
use super::desk::{self, Question};
use super::marshal::marshal;
use crate::context::ToolContext;

/// Longest message of a script, in bytes (64 MB).
const LONGEST: usize = 64 * 1024 * 1024;
/// Most questions of one call, so that none asks without end.
const MOST_QUESTIONS: usize = 1000;

/// How a script's own code ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ScriptMessage {
    /// It returned this, or nothing.
    Done(Option<String>),
    /// It failed, with this message.
    Failed(String),
    /// It did not say.
    Nothing,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message {
    Ask(Question),
    Done(Option<String>),
    Failed(String),
}

/// Our end.
pub(super) struct Wire {
    stream: BufReader<UnixStream>,
}

impl Wire {
    /// A wire, and the other end of it.
    ///
    /// # Errors
    ///
    /// There are no sockets left.
    pub(super) fn new() -> io::Result<(Self, Stdio)> {
        let (ours, theirs) = Pair::pair()?;
        ours.set_nonblocking(true)?;
        let stream = BufReader::new(UnixStream::from_std(ours)?);
        Ok((Self { stream }, Stdio::from(OwnedFd::from(theirs))))
    }

    /// Starts the script and answers it until its code has ended.
    pub(super) async fn serve(
        mut self,
        start: &Value,
        ctx: &ToolContext,
        clock: &Clock,
    ) -> ScriptMessage {
        if self.begin(start).await.is_err() {
            return ScriptMessage::Nothing;
        }
        let mut left = MOST_QUESTIONS;
        loop {
            let question = match self.next().await {
                Ok(Some(Message::Ask(question))) => question,
                Ok(Some(Message::Done(result))) => return ScriptMessage::Done(result),
                Ok(Some(Message::Failed(why))) => return ScriptMessage::Failed(why),
                Ok(None) => return ScriptMessage::Nothing,
                Err(why) => return ScriptMessage::Failed(why),
            };
            left = left.saturating_sub(1);
            let answer = if left == 0 {
                Err(format!(
                    "The script asked more than {MOST_QUESTIONS} times."
                ))
            } else {
                clock.pause(desk::answer(question, ctx)).await
            };
            let answer = match answer {
                Ok(text) => json!({"ok": text}),
                Err(why) => json!({"error": why}),
            };
            if self.say(&answer).await.is_err() {
                return ScriptMessage::Nothing;
            }
        }
    }

    /// The first message is the only one that is no line of JSON.
    async fn begin(&mut self, start: &Value) -> io::Result<()> {
        let start = marshal(start)?;
        let mut message = format!("{}\n", start.len()).into_bytes();
        message.extend(start);
        self.stream.get_mut().write_all(&message).await
    }

    async fn say(&mut self, message: &Value) -> io::Result<()> {
        let line = format!("{message}\n");
        self.stream.get_mut().write_all(line.as_bytes()).await
    }

    /// The next message; nothing when the other end is gone.
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
