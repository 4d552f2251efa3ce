//! Supervises one script until all of its processes have ended.
//!
//! Decides when to stop the script. `run` words the result.

use std::future::Future;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use platform::pipe;
use serde_json::{Number, Value};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::run::Clock;
use super::wire::ScriptMessage;
use crate::context::ToolContext;
use crate::output::{Capture, Captured, Live};
use crate::process::Piped;

/// How long to read output and the wire after the script has exited. A background process may
/// keep them open forever.
const DRAIN: Duration = Duration::from_millis(200);
/// How long to wait for a killed program. It takes longer only if the kernel is stuck.
const REAP: Duration = Duration::from_secs(1);
/// Bytes read at once; the capacity of a pipe.
const CHUNK: usize = 64 * 1024;

/// How a script ended.
#[derive(Debug)]
pub(super) enum ScriptEnd {
    /// It exited, or another process killed it.
    Exited(ExitStatus),
    /// It was stopped at its time limit.
    TimedOut(Duration),
    /// The user cancelled it.
    Cancelled,
    /// The operating system reported an error.
    Unknown(io::Error),
}

/// A script that has ended.
pub(super) struct Over {
    /// How it ended.
    pub end: ScriptEnd,
    /// The last message of its code.
    pub message: ScriptMessage,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
}

/// A running script and its captured output.
pub(super) struct Supervised {
    piped: Piped,
    stdout: Output,
    stderr: Output,
    live: Live,
}

impl Supervised {
    /// Supervises a started script. Long output is stored under the tool's name and the call's id.
    pub(super) fn new(mut piped: Piped, ctx: &ToolContext, name: &str, id: &str) -> Self {
        let output = |pipe| Output {
            pipe,
            capture: Capture::new(&ctx.output_dir, name, id),
            chunk: Vec::with_capacity(CHUNK),
        };
        Self {
            stdout: output(piped.stdout.take()),
            stderr: output(piped.stderr.take()),
            live: Live::new(ctx.progress.clone()),
            piped,
        }
    }

    /// Reads until the script ends, reaches its limit, or is cancelled. When this returns, none of
    /// its processes is running. `talk` is our side of the wire.
    pub(super) async fn run(
        mut self,
        ctx: &ToolContext,
        clock: &Clock,
        talk: impl Future<Output = ScriptMessage>,
    ) -> Over {
        tokio::pin!(talk);
        let mut message = None;
        let end = self.follow(ctx, clock, talk.as_mut(), &mut message).await;
        let by_itself = matches!(end, ScriptEnd::Exited(_));
        // The last message may still be on the wire when the process has ended.
        if by_itself && message.is_none() {
            message = timeout(DRAIN, talk).await.ok();
        }
        self.stop_what_is_left(by_itself).await;
        self.drain().await;
        // Reaps the program, unless it has exited by itself.
        let _ = timeout(REAP, self.piped.held.reap()).await;
        // The last output need not wait until more may be drawn.
        self.live.send();
        Over {
            end,
            message: message.unwrap_or(ScriptMessage::Nothing),
            stdout: self.stdout.capture.finish().await,
            stderr: self.stderr.capture.finish().await,
        }
    }

    async fn stop_what_is_left(&mut self, by_itself: bool) {
        if !by_itself {
            self.piped.held.ask_to_end();
        }
        if !(by_itself && self.piped.held.confirm_gone()) {
            self.piped.held.stop().await;
        }
    }

    /// Reads the rest of both outputs for at most [`DRAIN`].
    async fn drain(&mut self) {
        let rest = async {
            self.stdout.drain(&mut self.live).await;
            self.stderr.drain(&mut self.live).await;
        };
        // Output that comes later is that of a background process, and is lost.
        let _ = timeout(DRAIN, rest).await;
    }

    async fn follow(
        &mut self,
        ctx: &ToolContext,
        clock: &Clock,
        mut talk: std::pin::Pin<&mut impl Future<Output = ScriptMessage>>,
        message: &mut Option<ScriptMessage>,
    ) -> ScriptEnd {
        let up = clock.up();
        tokio::pin!(up);
        loop {
            // Biased, so that a flood of output can delay neither a cancel nor the time limit.
            tokio::select! {
                biased;
                () = ctx.cancel.cancelled() => return ScriptEnd::Cancelled,
                () = &mut up => return ScriptEnd::TimedOut(clock.limit()),
                status = self.piped.wait() => {
                    return status.map_or_else(ScriptEnd::Unknown, ScriptEnd::Exited);
                }
                // A future that has ended must not be polled again.
                ended = &mut talk, if message.is_none() => *message = Some(ended),
                () = self.live.due() => self.live.send(),
                read = self.stdout.read(), if self.stdout.is_open() => {
                    self.stdout.take(read, &mut self.live).await;
                }
                read = self.stderr.read(), if self.stderr.is_open() => {
                    self.stderr.take(read, &mut self.live).await;
                }
            }
        }
    }
}

/// Standard output or standard error.
struct Output {
    /// `None` once it is closed.
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
        // An error ends the output as well; the bytes before it are kept.
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

// Encodes JSON values in the format of Python's `marshal` module.
//
// The module is part of the interpreter, while `json` takes some milliseconds to import. Only
// types of version 1 of the format are used, which later versions still read. Strings are
// preceded by their length, so their content needs no escaping. Source:
// <https://docs.python.org/3/library/marshal.html>.

/// Number of bits in a digit of a long integer.
const DIGIT: u32 = 15;

/// Encodes `value`.
///
/// # Errors
///
/// A string or list is longer than the format allows (2³¹ − 1).
pub(super) fn marshal(value: &Value) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    put(value, &mut bytes)?;
    Ok(bytes)
}

fn put(value: &Value, bytes: &mut Vec<u8>) -> io::Result<()> {
    match value {
        Value::Null => bytes.push(b'N'),
        Value::Bool(true) => bytes.push(b'T'),
        Value::Bool(false) => bytes.push(b'F'),
        Value::Number(number) => put_number(number, bytes),
        Value::String(text) => put_text(text, bytes)?,
        Value::Array(items) => {
            bytes.push(b'[');
            put_length(items.len(), bytes)?;
            for item in items {
                put(item, bytes)?;
            }
        }
        Value::Object(entries) => {
            bytes.push(b'{');
            for (name, value) in entries {
                put_text(name, bytes)?;
                put(value, bytes)?;
            }
            // `0` ends the entries, which have no count.
            bytes.push(b'0');
        }
    }
    Ok(())
}

fn put_text(text: &str, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.push(b'u');
    put_length(text.len(), bytes)?;
    bytes.extend(text.as_bytes());
    Ok(())
}

fn put_length(length: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
    let length = i32::try_from(length).map_err(io::Error::other)?;
    bytes.extend(length.to_le_bytes());
    Ok(())
}

fn put_number(number: &Number, bytes: &mut Vec<u8>) {
    let whole = number.as_i64().map(i128::from);
    let Some(whole) = whole.or_else(|| number.as_u64().map(i128::from)) else {
        bytes.push(b'g');
        // Never NaN here: each JSON number is an `i64`, a `u64`, or a finite `f64`.
        bytes.extend(number.as_f64().unwrap_or(f64::NAN).to_le_bytes());
        return;
    };
    if let Ok(short) = i32::try_from(whole) {
        bytes.push(b'i');
        bytes.extend(short.to_le_bytes());
        return;
    }
    let mut digits = Vec::new();
    let mut rest = whole.unsigned_abs();
    while rest > 0 {
        digits.push((rest & ((1 << DIGIT) - 1)) as u16);
        rest >>= DIGIT;
    }
    // At most five digits. The sign of the count is the sign of the number.
    let count = digits.len() as i32 * whole.signum() as i32;
    bytes.push(b'l');
    bytes.extend(count.to_le_bytes());
    bytes.extend(digits.iter().flat_map(|digit| digit.to_le_bytes()));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use serde_json::json;

    use super::*;

    /// Decodes standard input and prints it as JSON.
    const READ: &str = "import marshal, json, sys\n\
    value = marshal.loads(sys.stdin.buffer.read())\n\
    print(json.dumps(value, ensure_ascii=True))";

    #[test]
    fn python_reads_the_same_value() {
        let value = json!({
            "": null,
            "yes and no": [true, false, [], {}],
            "whole": [0, -1, i32::MAX, i32::MIN, i64::from(i32::MAX) + 1, i64::from(i32::MIN) - 1],
            "long": [i64::MAX, i64::MIN, u64::MAX, 1_i64 << 45],
            "broken": [0.0, -0.5, 1e300, 5e-324],
            "text": ["", "0", "N\u{0}{", "ä\u{1f44b}\n\"\\", "u\u{2028}"],
            "deep": (0..100).fold(json!(1), |inner, _| json!([inner])),
        });
        let mut child = Command::new("python3")
            .args(["-c", READ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&marshal(&value).unwrap()).unwrap();
        drop(stdin);
        let said = child.wait_with_output().unwrap();
        let read: Value = serde_json::from_slice(&said.stdout).unwrap();
        assert_eq!(read, value);
    }
}
