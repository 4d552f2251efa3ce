//! Connects to a server: starts its program or opens its URL.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader, ReadBuf};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::watch;
use tokio::time::timeout;
use tools::Program;

use super::Http;
use super::http::MendingClient;
use super::login::Login;
use super::mend::{self, Line};
use super::peer::Peer;
use crate::definition::clean;
use crate::spec::{Reach, ServerSpec};

/// Maximum bytes logged of a line of the server's standard error.
const LOG_LINE: usize = 2000;
/// Longest text of an error, in bytes.
const SAID: usize = 500;

type Opened = (RunningService<RoleClient, Peer>, Option<Program>);

pub(super) async fn open(
    spec: &ServerSpec,
    http: &Http,
    login: Option<&Arc<Login>>,
    peer: Peer,
    trouble: Trouble,
) -> Result<Opened, String> {
    let newest = lifecycle();
    match open_as(spec, http, login, peer.clone(), trouble.clone(), newest).await {
        // The server gave an invalid answer to the newer handshake; try the older one. An
        // older server may answer an unknown request in any way.
        Err(Unopened { odd: true, .. }) => {
            let older = ClientLifecycleMode::Initialize;
            let opened = open_as(spec, http, login, peer, trouble, older).await;
            opened.map_err(|it| it.why)
        }
        opened => opened.map_err(|it| it.why),
    }
}

/// The reason why connecting failed.
struct Unopened {
    why: String,
    /// True if the server answered, but with an invalid message.
    odd: bool,
}

impl From<String> for Unopened {
    fn from(why: String) -> Self {
        Self { why, odd: false }
    }
}

async fn open_as(
    spec: &ServerSpec,
    http: &Http,
    login: Option<&Arc<Login>>,
    peer: Peer,
    trouble: Trouble,
    lifecycle: ClientLifecycleMode,
) -> Result<Opened, Unopened> {
    match &spec.reach {
        Reach::Program { argv, env, cwd } => {
            let env: Vec<_> = env.clone().into_iter().collect();
            let program = Program::converse(argv, &env, cwd.as_deref())
                .map_err(|error| format!("{:?} cannot be started: {error}", argv[0]))?;
            let (program, stdout, stdin) = streams(program, &spec.name, &trouble)?;
            let running = peer.serve_with_lifecycle((stdout, stdin), lifecycle);
            match running.await {
                Ok(running) => Ok((running, Some(program))),
                Err(error) => Err(not_opened(&error, login, &trouble).await),
            }
        }
        Reach::Http { url, headers, .. } => {
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                .custom_headers(read_headers(headers)?);
            let client = MendingClient::new((http.client)(url)?, login.cloned());
            let running = match login {
                Some(login) => {
                    let client = login.authorized(client).await?;
                    let transport = StreamableHttpClientTransport::with_client(client, config);
                    peer.serve_with_lifecycle(transport, lifecycle).await
                }
                None => {
                    let transport = StreamableHttpClientTransport::with_client(client, config);
                    peer.serve_with_lifecycle(transport, lifecycle).await
                }
            };
            match running {
                Ok(running) => Ok((running, None)),
                Err(error) => Err(not_opened(&error, login, &trouble).await),
            }
        }
    }
}

/// Takes a program's streams and logs its standard error.
fn streams(
    mut program: Program,
    name: &str,
    trouble: &Trouble,
) -> Result<(Program, Limited<ChildStdout>, ChildStdin), String> {
    let (stdin, stdout) = (program.stdin.take(), program.stdout.take());
    let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
        return Err("its streams are gone".to_owned());
    };
    if let Some(stderr) = program.stderr.take() {
        tokio::spawn(keep_log(name.to_owned(), stderr, trouble.clone()));
    }
    let stdout = Limited::new(stdout, LONGEST, trouble.clone());
    Ok((program, stdout, stdin))
}

/// Tries the newest protocol first and falls back to the older handshake.
fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

pub(super) fn read_headers<'a>(
    headers: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let mut read = HashMap::new();
    for (name, value) in headers {
        let wrong = |_| format!("its header {name:?} cannot be sent");
        let key = HeaderName::try_from(name.as_str()).map_err(|error| wrong(error.to_string()))?;
        let mut value =
            HeaderValue::try_from(value.as_str()).map_err(|error| wrong(error.to_string()))?;
        // Values may be tokens, which must not appear in a debug log.
        value.set_sensitive(true);
        read.insert(key, value);
    }
    Ok(read)
}

async fn not_opened(
    error: &ClientInitializeError,
    login: Option<&Arc<Login>>,
    trouble: &Trouble,
) -> Unopened {
    // The error of the older handshake says more than the failed attempt with the newer
    // one.
    let error = match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => fallback,
        error => error,
    };
    let why = match error {
        ClientInitializeError::ConnectionClosed(_) => {
            trouble.known("it ended before it was ready").await
        }
        ClientInitializeError::JsonRpcError(error) => {
            format!(
                "it refused: {} ({})",
                clean(&error.message, SAID),
                error.code.0
            )
        }
        ClientInitializeError::TransportError { error, .. } => {
            super::sending(error, login.map(|it| &**it))
        }
        error => match super::greeting(error) {
            Some(why) => why.to_owned(),
            None => clean(&error.to_string(), SAID),
        },
    };
    let odd = !matches!(
        error,
        ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::JsonRpcError(_)
            | ClientInitializeError::TransportError { .. }
    );
    Unopened { why, odd }
}

/// Logs a server's standard error. Its last line before the server ends is usually the
/// reason.
async fn keep_log(name: String, stderr: ChildStderr, trouble: Trouble) {
    let mut reader = BufReader::new(stderr);
    let mut last = String::new();
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut reader).take(LOG_LINE as u64);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let line = clean(String::from_utf8_lossy(&line).trim(), LOG_LINE);
        if !line.is_empty() {
            tracing::info!(server = name, line, "standard error");
            last = line;
        }
    }
    trouble.set(if last.is_empty() {
        "it ended without an error message".to_owned()
    } else {
        format!("it ended; its last output was {last:?}")
    });
}

/// How long to wait for a more specific reason.
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum line length in bytes.
pub(super) const LONGEST: usize = 16 * 1024 * 1024;
/// Size of a read in bytes.
const CHUNK: usize = 16 * 1024;

/// The reason why a connection ended, if we know it better than the SDK.
#[derive(Debug, Clone)]
pub(super) struct Trouble(watch::Sender<Option<String>>);

impl Trouble {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// Sets the reason; the first one wins.
    pub(super) fn set(&self, why: String) {
        // Later reasons are consequences of the first one.
        self.0.send_if_modified(|trouble| {
            let is_first = trouble.is_none();
            trouble.get_or_insert(why);
            is_first
        });
    }

    /// Returns the reason, waiting a moment for it, or `otherwise`.
    pub(super) async fn known(&self, otherwise: &str) -> String {
        // Standard error has the reason, and it may be read later than the end of standard
        // output.
        let mut reason = self.0.subscribe();
        let known = timeout(PATIENCE, reason.wait_for(Option::is_some)).await;
        match known {
            Ok(Ok(why)) => why.clone().unwrap_or_else(|| otherwise.to_owned()),
            _ => otherwise.to_owned(),
        }
    }
}

/// Reads `inner` up to the first line that is longer than `most` or unreadable.
pub(super) struct Limited<R> {
    inner: R,
    most: usize,
    /// The incomplete last line.
    line: Vec<u8>,
    /// Complete lines not yet read, starting at `taken`.
    lines: Vec<u8>,
    taken: usize,
    /// True if the stream ends after `lines`.
    failed: bool,
    trouble: Trouble,
}

impl<R> Limited<R> {
    pub(super) fn new(inner: R, most: usize, trouble: Trouble) -> Self {
        Self {
            inner,
            most,
            line: Vec::new(),
            lines: Vec::new(),
            taken: 0,
            failed: false,
            trouble,
        }
    }

    /// Adds bytes and checks the lines they complete.
    fn take_bytes(&mut self, mut new: &[u8]) {
        while let Some(end) = new.iter().position(|&byte| byte == b'\n') {
            self.line.extend_from_slice(&new[..end]);
            new = &new[end + 1..];
            self.check_length();
            if !self.failed {
                self.end_line();
            }
            if self.failed {
                // Bytes after an unreadable line are dropped, as the stream ends there.
                return;
            }
        }
        self.line.extend_from_slice(new);
        // An incomplete line counts too, because it may never end.
        self.check_length();
    }

    fn check_length(&mut self) {
        if self.line.len() > self.most {
            self.fail(&format!("of more than {} MB", self.most / (1024 * 1024)));
        }
    }

    fn end_line(&mut self) {
        match mend::line(self.line.trim_ascii()) {
            Line::Whole => self.lines.append(&mut self.line),
            Line::Mended(text) => self.lines.extend_from_slice(text.as_bytes()),
            // A line of a log becomes an empty line, which the SDK skips.
            Line::Foreign => {}
            Line::Unreadable(wrong) => return self.fail(&wrong),
        }
        self.lines.push(b'\n');
        self.line.clear();
    }

    fn fail(&mut self, wrong: &str) {
        self.failed = true;
        self.trouble
            .set(format!("it sent a message {wrong}, so it was stopped"));
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Limited<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.taken == self.lines.len() {
            // Only after all lines before it were read, as calls may wait for those.
            if self.failed {
                return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
            }
            self.lines.clear();
            self.taken = 0;
            let mut chunk = [0; CHUNK];
            let mut chunk = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut self.inner).poll_read(context, &mut chunk))?;
            if chunk.filled().is_empty() {
                // End of input. An incomplete last line can't be a message.
                return Poll::Ready(Ok(()));
            }
            self.take_bytes(chunk.filled());
        }
        let waiting = &self.lines[self.taken..];
        let count = waiting.len().min(buffer.remaining());
        buffer.put_slice(&waiting[..count]);
        self.taken += count;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    async fn read(text: &[u8], most: usize) -> (Option<String>, Option<String>) {
        let trouble = Trouble::new();
        let mut all = Vec::new();
        let mut limited = Limited::new(text, most, trouble.clone());
        let read = limited.read_to_end(&mut all).await;
        let text = read
            .ok()
            .map(|_| String::from_utf8_lossy(&all).into_owned());
        (text, trouble.0.borrow().clone())
    }

    #[tokio::test]
    async fn deep_nesting_ends_the_stream_but_brackets_in_strings_do_not() {
        let nested = |depth| [vec![b'['; depth], vec![b']'; depth], vec![b'\n']].concat();
        let (passed, trouble) = read(&nested(127).repeat(3), 4096).await;
        assert!(passed.is_some(), "{trouble:?}");
        let text = format!("\"{}\\\"{0}\"\n", "[{".repeat(500)).repeat(2);
        let (passed, trouble) = read(text.as_bytes(), 4096).await;
        assert!(passed.is_some(), "{trouble:?}");
        let (stopped, trouble) = read(&nested(128), 4096).await;
        assert!(stopped.is_none());
        assert_eq!(
            trouble.as_deref(),
            Some("it sent a message nested more than 127 deep, so it was stopped")
        );
    }

    #[tokio::test]
    async fn any_number_of_lines_passes_but_a_line_has_a_limit() {
        let (passed, trouble) = read(&b"12345678\n".repeat(20_000), 64).await;
        assert_eq!(passed.map(|it| it.len()), Some(180_000));
        assert_eq!(trouble, None);
        let (stopped, trouble) = read(&[b'x'; 9000], 64).await;
        assert!(stopped.is_none());
        assert!(trouble.is_some_and(|it| it.starts_with("it sent a message of more than")));
        let (stopped, _) = read(&[&[b'1'; 65][..], b"\n2\n"].concat(), 64).await;
        assert!(stopped.is_none());
    }

    #[tokio::test]
    async fn log_lines_are_skipped_and_a_broken_message_ends_the_stream() {
        let (passed, trouble) = read(b"Ready\r\n{\"a\":\"\\ud83d\"}\r\n1\n2", 64).await;
        assert_eq!(
            passed.as_deref(),
            Some("\n{\"a\":\"\\ufffd\"}\n1\n"),
            "{trouble:?}"
        );
        let (stopped, trouble) = read(b"1\n{\"a\":}\n2\n", 64).await;
        assert!(stopped.is_none());
        assert!(trouble.is_some_and(|it| it.contains("that is not JSON (expected value")));
    }
}
