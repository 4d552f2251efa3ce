//! Connects to a server: starts its program or opens its URL.

use std::collections::HashMap;

use http::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tools::Program;

use super::http::MendingClient;
use super::limited::{LONGEST, Limited, Trouble};
use super::peer::Peer;
use super::{Http, explain};
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
    peer: Peer,
    trouble: Trouble,
) -> Result<Opened, String> {
    match open_as(spec, http, peer.clone(), trouble.clone(), lifecycle()).await {
        // The server gave an invalid answer to the newer handshake; try the older one. An
        // older server may answer an unknown request in any way.
        Err(Unopened { odd: true, .. }) => {
            let older = ClientLifecycleMode::Initialize;
            let opened = open_as(spec, http, peer, trouble, older).await;
            opened.map_err(|it| it.why)
        }
        opened => opened.map_err(|it| it.why),
    }
}

/// The reason why connecting failed.
struct Unopened {
    why: String,
    /// Whether the server answered, but with an invalid message.
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
                Err(error) => Err(not_opened(&error, &trouble).await),
            }
        }
        Reach::Http { url, headers } => {
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                .custom_headers(read_headers(headers)?);
            let transport =
                StreamableHttpClientTransport::with_client(MendingClient::new(http()?), config);
            let running = peer.serve_with_lifecycle(transport, lifecycle).await;
            match running {
                Ok(running) => Ok((running, None)),
                Err(error) => Err(not_opened(&error, &trouble).await),
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

fn read_headers<'a>(
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

async fn not_opened(error: &ClientInitializeError, trouble: &Trouble) -> Unopened {
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
        ClientInitializeError::TransportError { error, .. } => explain::sending(error),
        error => match explain::greeting(error) {
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
