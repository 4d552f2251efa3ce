//! One request and its answer, from connecting to the last byte.
//!
//! Tries nothing again: a failure before the first word of an answer is handed
//! back, whatever comes later is part of the answer.

use std::time::{Duration, SystemTime};

use chat::Problem;
use futures::StreamExt;
use provider::{Decoder, Endpoint, Failure, HeaderValue, HttpRequest, StreamEvent};
use reqwest::{Client, Response};
use tokio::time::{Instant, timeout, timeout_at};

use super::Events;

/// Most bytes of an error body that are read.
const ERROR_BODY: usize = 64 * 1024;
/// Bytes without a line end that count as a sign of life.
const ENOUGH: usize = 16 * 1024;
/// How long the next piece of an error body may take: the status says enough.
const ERROR_BODY_PATIENCE: Duration = Duration::from_secs(10);

/// An attempt that failed before its answer began.
pub(super) struct Failed {
    /// Its kind.
    pub failure: Failure,
    /// What the user is told when nothing is tried again.
    pub problem: Problem,
    /// The same in few words, behind the provider's name.
    pub short: String,
}

/// Makes one attempt: the answer's head, when it is one of success.
pub(super) async fn make(
    client: &Client,
    request: &HttpRequest,
    endpoint: &Endpoint,
    idle: Duration,
) -> Result<Response, Failed> {
    let response = start(client, request, endpoint, idle).await?;
    match response.status().is_success() {
        true => Ok(response),
        false => Err(refusal(response, endpoint).await),
    }
}

/// Passes on what an answer says, and calls `begins` at its first word. `Ok` when it has
/// begun, also if it broke off later: then its terminal event has been passed on.
pub(super) async fn read(
    response: Response,
    endpoint: &Endpoint,
    idle: Duration,
    events: &Events,
    begins: impl FnOnce(),
) -> Result<(), Failed> {
    let mut answer = Answer {
        endpoint,
        events,
        begun: false,
    };
    let mut begins = Some(begins);
    let mut decoder = Decoder::of(endpoint);
    let mut bytes = response.bytes_stream();
    let mut broke = false;
    let mut silence = Silence::starts(idle);
    loop {
        let Ok(chunk) = timeout_at(silence.end, bytes.next()).await else {
            return answer.silent(&silence);
        };
        let batch = match chunk {
            Some(Ok(chunk)) => {
                let batch = decoder.push(&chunk);
                silence.hears(&chunk, decoder.take_growth());
                batch
            }
            Some(Err(error)) => {
                tracing::info!(%error, "the connection broke");
                broke = true;
                break;
            }
            None => break,
        };
        let passing = decoder.failed_transiently();
        if answer.pass_on(batch, passing)? {
            return Ok(());
        }
        if let Some(begins) = begins.take_if(|_| answer.begun) {
            begins();
        }
    }
    answer.pass_on(decoder.finish(), broke)?;
    Ok(())
}

/// How long nothing has arrived that says something: a ping or a byte now and then is no
/// answer, an event that adds to it is, and so is a good part of a long line.
struct Silence {
    idle: Duration,
    end: Instant,
    /// Bytes since the last line end.
    bytes: usize,
    /// Whether lines came that said nothing.
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

    /// Takes note of a chunk; `says` tells whether the answer has grown by it.
    fn hears(&mut self, chunk: &[u8], says: bool) {
        let line_end = chunk.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
        self.bytes = match line_end {
            Some(at) => chunk.len() - at - 1,
            None => self.bytes + chunk.len(),
        };
        // Lines that come with an event, such as the end of its block, are no pings.
        self.pings |= line_end.is_some() && Instant::now() + self.idle / 2 > self.end;
        if says || self.bytes >= ENOUGH {
            *self = Self::starts(self.idle);
        }
    }
}

/// An answer that arrives.
struct Answer<'a> {
    endpoint: &'a Endpoint,
    events: &'a Events,
    /// Whether there was a word of it.
    begun: bool,
}

impl Answer<'_> {
    /// Whether the stream is over, by its own word or because nobody listens. An
    /// error before the first word is not passed on: `passing` says whether it
    /// passes by itself.
    fn pass_on(&mut self, mut batch: Vec<StreamEvent>, passing: bool) -> Result<bool, Failed> {
        if batch.is_empty() {
            return Ok(false);
        }
        self.begun |= batch.iter().any(is_word);
        for event in &mut batch {
            if let StreamEvent::Error(problem) = event {
                let problem_there = self.endpoint.redact(problem.clone());
                if !self.begun {
                    return Err(broken_off(problem_there, passing));
                }
                *problem = problem_there;
            }
        }
        let ended = batch.iter().any(StreamEvent::is_terminal);
        Ok(self.events.send(batch).is_err() || ended)
    }

    /// Nothing has arrived for too long.
    fn silent(&self, heard: &Silence) -> Result<(), Failed> {
        let failed = silence(self.endpoint, heard.idle, heard.pings);
        if self.begun {
            drop(self.events.send(vec![StreamEvent::Error(failed.problem)]));
            return Ok(());
        }
        Err(failed)
    }
}

/// Whether the user has seen something of the answer.
fn is_word(event: &StreamEvent) -> bool {
    !matches!(event, StreamEvent::Usage(_) | StreamEvent::Error(_))
}

fn broken_off(problem: Problem, passing: bool) -> Failed {
    let failure = if passing {
        Failure::Broken
    } else {
        Failure::Final
    };
    Failed {
        failure,
        problem,
        short: "broke off".to_owned(),
    }
}

async fn start(
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
            format!("The header {name} cannot be sent, so nothing was."),
            format!("Look at {}.", endpoint.key_source),
        ),
        short: String::new(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// An answer without success, explained.
async fn refusal(response: Response, endpoint: &Endpoint) -> Failed {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let header = |name: &str| headers.get(name)?.to_str().ok();
    let mut body = Vec::new();
    let mut bytes = response.bytes_stream();
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
        problem: provider::explain(endpoint, status, kind, retry_after, &body),
        short: format!("answered {status}"),
    }
}

/// Never tried again by itself: who thinks for long would think anew.
/// `pings` tells whether the connection was kept alive meanwhile.
fn silence(endpoint: &Endpoint, idle: Duration, pings: bool) -> Failed {
    let but = if pings { " but pings" } else { "" };
    Failed {
        failure: Failure::Final,
        problem: Problem::new(
            format!(
                "{} sent nothing{but} for {} s, so the request was given up.",
                endpoint.provider,
                idle.as_secs_f64()
            ),
            "Press Ctrl-] to try again, or raise parameters.timeout; the conversation is unchanged.",
        ),
        short: "sent nothing".to_owned(),
    }
}

/// No answer came, for a reason below HTTP.
fn no_answer(error: &reqwest::Error, endpoint: &Endpoint) -> Failed {
    let cause = cause(error);
    let who = format!("{} at {}", endpoint.provider, endpoint.shown_base());
    let failure = match error {
        _ if distrusts(error) || error.is_builder() => Failure::Final,
        _ if error.is_connect() || error.is_timeout() => Failure::Unreachable,
        _ => Failure::Broken,
    };
    let (what, short) = match failure {
        Failure::Broken => (format!("gave no answer ({cause})"), "gave no answer"),
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
    }
}

/// The innermost of an error's causes, which says most.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let text = cause.to_string();
    // rustls ends with where programmers read on.
    text.split(": https://")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Whether the other side's certificate is not one that we trust.
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

/// What an I/O error was made of: it does not call that its source, and may be made of
/// another one.
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
