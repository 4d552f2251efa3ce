//! One HTTP request and its answer, from connecting to the last byte.
//!
//! Retries nothing: a failure before the first word of an answer is returned; anything
//! later is part of the answer.

use std::time::{Duration, SystemTime};

use chat::Problem;
use chat::server_tools::ExactBlock;
use futures::StreamExt;
use provider::{
    Decoder, Endpoint, Failure, HeaderValue, HttpRequest, Parameters, RefusedParameter,
    ServerRefusal, StreamEvent,
};
use reqwest::{Client, Response};
use tokio::time::{Instant, timeout, timeout_at};

use super::Events;

/// Maximum bytes read of an error body.
const ERROR_BODY: usize = 64 * 1024;
/// Bytes without a line end that count as progress.
const ENOUGH: usize = 16 * 1024;
/// Time limit for each piece of an error body. The status already says enough.
const ERROR_BODY_PATIENCE: Duration = Duration::from_secs(10);

/// A failure before the answer began.
pub(super) struct Failed {
    /// Kind of failure, which decides whether to retry.
    pub failure: Failure,
    /// The error shown to the user if there is no retry.
    pub problem: Problem,
    /// Short description, shown after the provider's name.
    pub short: String,
    /// The refused part, if a request without it can succeed.
    pub refusal: Option<ServerRefusal>,
    /// The parameter of the request that the server refused, if it named one.
    pub refused: Option<Box<RefusedParameter>>,
}

/// Sends a request and returns a successful response.
pub(super) async fn make(
    client: &Client,
    request: &HttpRequest,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Result<Response, Failed> {
    let response = start(client, request, endpoint, parameters.patience.idle).await?;
    if response.status().is_success() {
        Ok(response)
    } else {
        Err(refused(response, request, endpoint, parameters).await)
    }
}

/// Forwards the events of an answer and calls `begins` at its first word. Returns `Ok` once
/// it has begun, even if it failed later: then a terminal event was forwarded. Returns the answer
/// so far if the provider paused it.
pub(super) async fn read(
    response: Response,
    mut decoder: Decoder,
    endpoint: &Endpoint,
    idle: Duration,
    events: &Events,
    begins: impl FnOnce(),
) -> Result<Option<Vec<ExactBlock>>, Failed> {
    let mut answer = IncomingAnswer::new(endpoint, events);
    let mut begins = Some(begins);
    let mut bytes = response.bytes_stream();
    let mut silence = Silence::starts(idle);
    let broke = loop {
        let Ok(chunk) = timeout_at(silence.end, bytes.next()).await else {
            return answer.silent(&silence).map(|()| None);
        };
        let chunk = match chunk {
            Some(Ok(chunk)) => chunk,
            // Not an error yet: the decoder may already have a complete answer.
            Some(Err(error)) => {
                tracing::info!(%error, "the connection broke");
                break true;
            }
            None => break false,
        };
        let batch = decoder.push(&chunk);
        silence.hears(&chunk, decoder.take_growth());
        if answer.pass_on(batch, decoder.failure())? {
            return Ok(answer.paused);
        }
        // Nothing is retried from here on, so the caller can free the request.
        if let Some(begins) = begins.take_if(|_| answer.begun) {
            begins();
        }
    };
    // Even after a broken connection: the last line may complete the answer.
    let batch = decoder.conclude();
    let failure = Some(Failure::Broken).filter(|_| broke);
    let failure = failure.unwrap_or(decoder.failure());
    answer.pass_on(batch, failure)?;
    Ok(answer.paused)
}

/// Idle timer of an answer. Pings and single bytes don't reset it; events that extend the
/// answer do, and so does a large piece of a long line.
struct Silence {
    idle: Duration,
    end: Instant,
    /// Bytes since the last line end.
    bytes: usize,
    /// True if lines arrived that did not extend the answer.
    pings: bool,
}

impl Silence {
    fn starts(idle: Duration) -> Self {
        Self {
            idle,
            end: Instant::now() + idle,
            bytes: 0,
            pings: false,
        }
    }

    /// Handles a chunk; `says` is true if it extended the answer.
    fn hears(&mut self, chunk: &[u8], says: bool) {
        let line_end = chunk.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
        // Bytes since the last line end: a long line without an event counts as progress.
        self.bytes = match line_end {
            Some(at) => chunk.len() - at - 1,
            None => self.bytes + chunk.len(),
        };
        // A line that arrives together with an event is part of it, not a ping.
        self.pings |= line_end.is_some() && Instant::now() + self.idle / 2 > self.end;
        if says || self.bytes >= ENOUGH {
            *self = Self::starts(self.idle);
        }
    }
}

/// An answer being received.
struct IncomingAnswer<'a> {
    endpoint: &'a Endpoint,
    events: &'a Events,
    /// True if the answer has begun.
    begun: bool,
    /// The answer in the provider's own form.
    exact: Vec<ExactBlock>,
    /// The same, if the provider paused it.
    paused: Option<Vec<ExactBlock>>,
}

impl<'a> IncomingAnswer<'a> {
    fn new(endpoint: &'a Endpoint, events: &'a Events) -> Self {
        Self {
            endpoint,
            events,
            begun: false,
            exact: Vec::new(),
            paused: None,
        }
    }

    /// Forwards events and returns true if the stream is over or its receiver is gone. An
    /// error before the first word is returned instead of forwarded; `failure` is its kind.
    fn pass_on(&mut self, mut batch: Vec<StreamEvent>, failure: Failure) -> Result<bool, Failed> {
        if batch.is_empty() {
            return Ok(false);
        }
        self.begun |= batch.iter().any(is_word);
        for event in &mut batch {
            match event {
                StreamEvent::Error(problem) => {
                    let redacted = self.endpoint.redact(problem);
                    // Before the first word, a failure can be retried, so it is not part of the
                    // answer.
                    if !self.begun {
                        return Err(broken_off(redacted, failure));
                    }
                    *problem = redacted;
                }
                StreamEvent::Exact(blocks) => self.exact.clone_from(blocks),
                StreamEvent::Paused => self.paused = Some(std::mem::take(&mut self.exact)),
                _ => {}
            }
        }
        let ended = batch.iter().any(StreamEvent::is_terminal);
        // Without a receiver, the request was cancelled.
        Ok(self.events.send(batch).is_err() || ended)
    }

    /// Ends the answer because the idle time is over.
    fn silent(&self, heard: &Silence) -> Result<(), Failed> {
        let failed = silence(self.endpoint, heard.idle, heard.pings);
        if self.begun {
            drop(self.events.send(vec![StreamEvent::Error(failed.problem)]));
            return Ok(());
        }
        Err(failed)
    }
}

/// Returns true if this event is part of the answer.
fn is_word(event: &StreamEvent) -> bool {
    !matches!(
        event,
        StreamEvent::Usage(_) | StreamEvent::Remark(_) | StreamEvent::Error(_)
    )
}

fn broken_off(problem: Problem, failure: Failure) -> Failed {
    let short = match failure {
        Failure::Status { code: 429, .. } => "reached a rate limit",
        _ => "ended early",
    };
    Failed {
        failure,
        problem,
        short: short.to_owned(),
        refusal: None,
        refused: None,
    }
}

/// Sends a request, and waits for the beginning of its answer, at most for `idle`.
pub(super) async fn start(
    client: &Client,
    request: &HttpRequest,
    endpoint: &Endpoint,
    idle: Duration,
) -> Result<Response, Failed> {
    let mut builder = client.post(&request.url).body(request.body.clone());
    for (name, value) in &request.headers {
        builder = builder.header(name, header(name, value, endpoint)?);
    }
    match timeout(idle, builder.send()).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(no_answer(&error, endpoint)),
        Err(_) => Err(silence(endpoint, idle, false)),
    }
}

fn header(
    name: &str,
    value: &HeaderValue,
    endpoint: &Endpoint,
) -> Result<reqwest::header::HeaderValue, Failed> {
    let mut value = reqwest::header::HeaderValue::from_str(value.expose()).map_err(|_| Failed {
        failure: Failure::Final,
        problem: Problem::new(
            format!("The header {name} contains invalid characters, so nothing was sent."),
            format!("Check {}.", endpoint.key_source),
        ),
        short: String::new(),
        refusal: None,
        refused: None,
    })?;
    // Keeps the key out of logs.
    value.set_sensitive(true);
    Ok(value)
}

/// Reads and explains an error response.
async fn refused(
    response: Response,
    request: &HttpRequest,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Failed {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let header = |name: &str| headers.get(name)?.to_str().ok();
    let mut body = Vec::new();
    let mut bytes = response.bytes_stream();
    // A server that sends the body slowly must not delay the report of the error.
    while let Ok(Some(Ok(chunk))) = timeout(ERROR_BODY_PATIENCE, bytes.next()).await {
        body.extend_from_slice(&chunk);
        if body.len() >= ERROR_BODY {
            body.truncate(ERROR_BODY);
            break;
        }
    }
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let (kind, retry_after) = (header("content-type"), header("retry-after"));
    Failed {
        failure: Failure::of_answer(status, header, &body, now.as_secs()),
        problem: request.explain(
            status,
            provider::explain(endpoint, status, kind, retry_after, &body),
        ),
        short: format!("answered {status}"),
        refusal: provider::refusal(endpoint, parameters, status, &body),
        refused: RefusedParameter::of_answer(status, &body, request).map(Box::new),
    }
}

/// Never retried: the server would start over. `pings` says whether it kept the connection
/// alive.
fn silence(endpoint: &Endpoint, idle: Duration, pings: bool) -> Failed {
    let but = if pings { " but pings" } else { "" };
    Failed {
        failure: Failure::Final,
        problem: Problem::new(
            format!(
                "{} sent nothing{but} for {} s, so the request was stopped.",
                endpoint.provider,
                idle.as_secs_f64()
            ),
            "Press Ctrl-] to try again, or raise parameters.timeout; the conversation is unchanged.",
        ),
        short: "sent nothing".to_owned(),
        refusal: None,
        refused: None,
    }
}

/// Explains a failure below HTTP.
fn no_answer(error: &reqwest::Error, endpoint: &Endpoint) -> Failed {
    let cause = cause(error);
    let who = format!("{} at {}", endpoint.provider, endpoint.shown_base());
    let failure = match error {
        // Another attempt would fail in the same way.
        _ if distrusts(error) || error.is_builder() => Failure::Final,
        _ if error.is_connect() || error.is_timeout() => Failure::Unreachable,
        _ => Failure::Broken,
    };
    let (what, short) = match failure {
        Failure::Broken => (format!("did not answer ({cause})"), "did not answer"),
        _ if error.is_timeout() => (
            "did not answer in time, so nothing was sent".to_owned(),
            "did not answer in time",
        ),
        _ => (
            format!("cannot be reached ({cause}), so nothing was sent"),
            "cannot be reached",
        ),
    };
    let fix = if distrusts(error) {
        format!(
            "If you trust it, name its authority's file in parameters.{}.ca_file, or in $SSL_CERT_FILE and restart Neovim; the conversation is unchanged.",
            endpoint.provider
        )
    } else {
        "Check the address and the network, then press Ctrl-] again; the conversation is unchanged."
            .to_owned()
    };
    Failed {
        failure,
        problem: Problem::new(format!("{who} {what}."), fix),
        short: short.to_owned(),
        refusal: None,
        refused: None,
    }
}

/// Returns the innermost cause of an error, which is the most specific one.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let text = cause.to_string();
    // rustls appends a link to its documentation.
    text.split(": https://")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Returns true if the server's certificate is not trusted.
fn distrusts(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(rustls::Error::InvalidCertificate(_)) = innermost(error).downcast_ref() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Unwraps nested I/O errors, whose inner error `source()` skips.
fn innermost<'a>(
    mut error: &'a (dyn std::error::Error + 'static),
) -> &'a (dyn std::error::Error + 'static) {
    while let Some(inner) = error
        .downcast_ref::<std::io::Error>()
        .and_then(|it| it.get_ref())
    {
        error = inner;
    }
    error
}
