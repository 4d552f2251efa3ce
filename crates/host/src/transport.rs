//! Sends a request over HTTP and hands on what the stream says.
//!
//! Knows no buffer and retries nothing. A request ends with exactly one terminal
//! event, however the connection ends.

use std::sync::OnceLock;
use std::time::Duration;

use chat::Problem;
use chat::prompt::Prompt;
use futures::StreamExt;
use provider::{Decoder, Endpoint, HeaderValue, HttpRequest, Parameters, StreamEvent};
use reqwest::{Client, Response};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How long connecting may take: `parameters.connect_timeout` of the reference.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long nothing may arrive: F039's limit.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// Most bytes of an error body that are read.
const ERROR_BODY: usize = 64 * 1024;

/// Sends `prompt` and passes on events until a terminal one, or until `cancel`.
/// Events that arrive together are passed on together.
pub async fn send(
    prompt: Prompt,
    endpoint: Endpoint,
    parameters: Parameters,
    events: mpsc::UnboundedSender<Vec<StreamEvent>>,
    cancel: CancellationToken,
) {
    let work = exchange(&prompt, &endpoint, &parameters, &events);
    let ended = tokio::select! {
        biased;
        () = cancel.cancelled() => return,
        ended = work => ended,
    };
    if let Err(problem) = ended {
        drop(events.send(vec![StreamEvent::Error(endpoint.redact(problem))]));
    }
}

async fn exchange(
    prompt: &Prompt,
    endpoint: &Endpoint,
    parameters: &Parameters,
    events: &mpsc::UnboundedSender<Vec<StreamEvent>>,
) -> Result<(), Problem> {
    let mut parameters = parameters.clone();
    if parameters.model.is_empty() {
        parameters.model = crate::local::first_model(client()?, &endpoint.base_url)
            .await
            .unwrap_or_else(|| "default".to_owned());
    }
    let request = provider::encode(prompt, endpoint, &parameters)?;
    let response = start(request, endpoint).await?;
    if !response.status().is_success() {
        return Err(refusal(response, endpoint).await);
    }
    let mut decoder = Decoder::new(endpoint.protocol);
    let mut bytes = response.bytes_stream();
    loop {
        let chunk = tokio::time::timeout(IDLE_TIMEOUT, bytes.next())
            .await
            .map_err(|_| silence(endpoint))?;
        let ended = match chunk {
            Some(Ok(chunk)) => pass_on(decoder.push(&chunk), endpoint, events),
            Some(Err(error)) => {
                tracing::info!(%error, "the connection broke");
                break;
            }
            None => break,
        };
        if ended {
            return Ok(());
        }
    }
    pass_on(decoder.finish(), endpoint, events);
    Ok(())
}

/// Whether the stream is over, by its own word or because nobody listens.
fn pass_on(
    mut batch: Vec<StreamEvent>,
    endpoint: &Endpoint,
    events: &mpsc::UnboundedSender<Vec<StreamEvent>>,
) -> bool {
    if batch.is_empty() {
        return false;
    }
    for event in &mut batch {
        if let StreamEvent::Error(problem) = event {
            *problem = endpoint.redact(problem.clone());
        }
    }
    let ended = batch.iter().any(StreamEvent::is_terminal);
    events.send(batch).is_err() || ended
}

async fn start(request: HttpRequest, endpoint: &Endpoint) -> Result<Response, Problem> {
    let mut builder = client()?.post(&request.url).body(request.body);
    for (name, value) in &request.headers {
        let text = match value {
            HeaderValue::Plain(text) => text.as_str(),
            HeaderValue::Secret(secret) => secret.expose(),
        };
        let mut value = reqwest::header::HeaderValue::from_str(text).map_err(|_| {
            Problem::new(
                format!("The header {name} cannot be sent, so nothing was."),
                format!("Look at {}.", endpoint.key_source),
            )
        })?;
        value.set_sensitive(true);
        builder = builder.header(name, value);
    }
    match tokio::time::timeout(IDLE_TIMEOUT, builder.send()).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(unreachable_server(&error, endpoint)),
        Err(_) => Err(silence(endpoint)),
    }
}

async fn refusal(response: Response, endpoint: &Endpoint) -> Problem {
    let status = response.status().as_u16();
    let header = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
    let (content_type, retry_after) = (header("content-type"), header("retry-after"));
    let mut body = Vec::new();
    let mut bytes = response.bytes_stream();
    while let Ok(Some(Ok(chunk))) = tokio::time::timeout(CONNECT_TIMEOUT, bytes.next()).await {
        body.extend_from_slice(&chunk);
        if body.len() >= ERROR_BODY {
            body.truncate(ERROR_BODY);
            break;
        }
    }
    provider::explain(
        endpoint,
        status,
        content_type.as_deref(),
        retry_after.as_deref(),
        &body,
    )
}

fn silence(endpoint: &Endpoint) -> Problem {
    Problem::new(
        format!(
            "{} sent nothing for {} seconds, so the request was given up.",
            endpoint.provider,
            IDLE_TIMEOUT.as_secs()
        ),
        "Press Ctrl-] to try again; the conversation is unchanged.",
    )
}

fn unreachable_server(error: &reqwest::Error, endpoint: &Endpoint) -> Problem {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let what = if error.is_timeout() {
        "did not answer in time".to_owned()
    } else {
        format!("cannot be reached ({cause})")
    };
    Problem::new(
        format!(
            "{} at {} {what}, so nothing was sent.",
            endpoint.provider, endpoint.base_url
        ),
        "Check the address and the network, then press Ctrl-] again; the conversation is unchanged.",
    )
}

/// The one client, made when it is first needed: its certificates cost memory.
///
/// # Errors
///
/// No client can be made on this machine.
pub fn client() -> Result<&'static Client, Problem> {
    static CLIENT: OnceLock<Result<Client, String>> = OnceLock::new();
    let made = CLIENT.get_or_init(|| {
        // A provider that was installed before is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("flemma/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| error.to_string())
    });
    made.as_ref()
        .map_err(|error| Problem::new(format!("HTTP does not work on this machine: {error}."), ""))
}
