//! Sends a request over HTTP and forwards the events of its answer.
//!
//! Knows no document. [`provider::Patience`] decides about retries; this module waits for
//! them. A request ends with exactly one terminal event, however the connection ends.

mod attempt;
mod client;

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chat::Problem;
use chat::prompt::{Prompt, PromptMessage, PromptRole};
use chat::server_tools::{ExactAnswer, ExactBlock};
use provider::model_list::ListRequest;
use provider::{
    Decoder, Endpoint, Failure, Feature, HttpRequest, Parameters, Patience, RefusedParameter,
    RetryDecision, Secret, ServerRefusal, StreamEvent, Tries, Without,
};
use reqwest::{Client, Response};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tools::is_this_machine;

pub use self::client::client;

/// Maximum number of times that a paused answer is continued. Anthropic pauses after ten rounds
/// of its own tools.
const PAUSES: u32 = 10;

/// Receives the events of an answer; those that arrive together are sent together.
pub type Events = mpsc::UnboundedSender<Vec<StreamEvent>>;

/// Time limit for listing models: a server on this machine answers at once or not at all.
const MODELS_PATIENCE: Duration = Duration::from_millis(500);

/// Time limit for the list of a provider, which nothing waits for.
const LIST_PATIENCE: Duration = Duration::from_secs(20);
/// Maximum bytes of a list. The longest one, OpenRouter's, is about a quarter of it.
const LIST_BYTES: usize = 4 * 1024 * 1024;

/// Time limit for counting the tokens of a request; after it, they are estimated.
const COUNT_PATIENCE: Duration = Duration::from_secs(10);
/// Maximum bytes of a count, which is one short object.
const COUNT_BYTES: usize = 64 * 1024;

/// The reason why a request waits before its answer begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitNote {
    /// As it is shown to the user.
    pub text: String,
    /// Seconds until the next attempt, after one that failed.
    pub retry_in: Option<u64>,
}

impl From<String> for WaitNote {
    fn from(text: String) -> Self {
        Self {
            text,
            retry_in: None,
        }
    }
}

/// The sender of a request, as seen by the request.
#[async_trait]
pub trait Asker: Send + Sync {
    /// Reports what the request is waiting for before its answer begins.
    fn note(&self, _note: WaitNote) {}

    /// Returns another key after the provider rejected one. Called at most once per
    /// request.
    async fn renew_key(&self, _provider: &str) -> Option<Secret> {
        None
    }
}

/// Returns the first model listed at `/models`, if there is one.
///
/// `key` is sent as for an answer. A remote server gets the time limit for connecting.
pub async fn first_model(
    client: &Client,
    base_url: &str,
    key: Option<&Secret>,
    connect: Duration,
) -> Option<String> {
    let url = format!("{}/models", base_url.trim_end_matches('/'));
    // A server on this machine answers at once or is not there.
    let patience = if is_this_machine(base_url) {
        MODELS_PATIENCE
    } else {
        connect
    };
    let mut request = client.get(url).timeout(patience);
    if let Some(key) = key {
        request = request.bearer_auth(key.expose());
    }
    let response = request.send().await.ok()?;
    let models: Value = response.json().await.ok()?;
    models.pointer("/data/0/id")?.as_str().map(str::to_owned)
}

/// Returns the answer to a request for a list of models. `None` if the server does not answer
/// with one, in time, of a reasonable length.
pub async fn get_list(
    request: &ListRequest,
    endpoint: &Endpoint,
    patience: &Patience,
) -> Option<Vec<u8>> {
    let certificates = endpoint.ca_file.as_deref();
    let client = client(&endpoint.base_url, certificates, patience.connect).ok()?;
    // The limit is for the whole answer.
    let mut get = client.get(&request.url).timeout(LIST_PATIENCE);
    for (name, value) in &request.headers {
        get = get.header(name, value.expose());
    }
    let response = get.send().await.ok()?.error_for_status().ok()?;
    whole(response, LIST_BYTES).await
}

/// Returns the tokens of `prompt` as the provider counts them. `None` if it has no such endpoint, or
/// does not answer in time.
pub async fn count_tokens(
    prompt: &Prompt,
    endpoint: &Endpoint,
    mut parameters: Parameters,
) -> Option<u64> {
    let certificates = endpoint.ca_file.as_deref();
    let connect = parameters.patience.connect;
    let client = client(&endpoint.base_url, certificates, connect).ok()?;
    prepare(&client, endpoint, &mut parameters).await;
    let request = provider::encode(prompt, endpoint, &parameters).ok()?;
    let request = provider::count_request(&request, endpoint)?;
    let counted = async {
        let response = attempt::start(&client, &request, endpoint, COUNT_PATIENCE).await;
        whole(response.ok()?.error_for_status().ok()?, COUNT_BYTES).await
    };
    // The limit is for the whole answer.
    let answer = timeout(COUNT_PATIENCE, counted).await.ok()??;
    provider::read_count(endpoint.protocol, &answer)
}

/// Returns the content of an answer of at most `limit` bytes.
async fn whole(mut response: Response, limit: usize) -> Option<Vec<u8>> {
    let mut answer = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        answer.extend_from_slice(&piece);
        if answer.len() > limit {
            return None;
        }
    }
    Some(answer)
}

/// Sends `prompt` and forwards events until a terminal one or until `cancel`.
pub async fn send(
    prompt: Prompt,
    mut endpoint: Endpoint,
    parameters: Parameters,
    events: Events,
    asker: &dyn Asker,
    cancel: CancellationToken,
) {
    let work = answer(prompt, &mut endpoint, parameters, &events, asker);
    // Biased, so that a request that was cancelled before is not sent.
    let ended = tokio::select! {
        biased;
        () = cancel.cancelled() => return,
        ended = work => ended,
    };
    if let Err(problem) = ended {
        drop(events.send(vec![StreamEvent::Error(endpoint.redact(&problem))]));
    }
}

/// Retries until an answer has begun or another attempt is pointless.
async fn answer(
    prompt: Prompt,
    endpoint: &mut Endpoint,
    mut parameters: Parameters,
    events: &Events,
    asker: &dyn Asker,
) -> Result<(), Problem> {
    let patience = parameters.patience;
    let client = client(
        &endpoint.base_url,
        endpoint.ca_file.as_deref(),
        patience.connect,
    )?;
    prepare(&client, endpoint, &mut parameters).await;
    let mut outgoing = Outgoing::new(prompt, endpoint, &parameters)?;
    let mut begun = Instant::now();
    let mut tries = Tries::default();
    loop {
        let tried = outgoing.try_once(&client, endpoint, &parameters, events);
        let failed = match tried.await {
            Ok(None) => return Ok(()),
            Ok(Some(paused)) => {
                outgoing.go_on(paused, endpoint, &parameters)?;
                let (name, turn) = (&endpoint.provider, outgoing.pauses);
                let note = format!("{name} paused; continuing ({turn} of {PAUSES})");
                asker.note(note.into());
                (begun, tries) = (Instant::now(), Tries::default());
                continue;
            }
            Err(failed) => failed,
        };
        // A request with fewer features is not a retry either.
        if outgoing.avoid(failed.refusal, endpoint, &mut parameters, events)? {
            continue;
        }
        // Another key is not a retry, so it does not use up one.
        if is_refused_key(failed.failure) && outgoing.renew(endpoint, &parameters, asker).await? {
            continue;
        }
        let refused = failed.refused.as_deref();
        if refused.is_some_and(|it| outgoing.leave_out(it, endpoint, &mut parameters, events)) {
            continue;
        }
        tries.made += 1;
        tracing::info!(failure = ?failed.failure, tries = tries.made, "no answer");
        wait_for_next_try(failed, &mut tries, begun, endpoint, &parameters, asker).await?;
    }
}

/// Names the model, and leaves out what the server has refused before.
async fn prepare(client: &Client, endpoint: &Endpoint, parameters: &mut Parameters) {
    name_model(client, endpoint, parameters).await;
    parameters.without = parameters.without.and(refused_features(endpoint));
    parameters.refused = refused_parameters(endpoint, &parameters.model);
}

/// Chooses a model if the chat names none.
async fn name_model(client: &Client, endpoint: &Endpoint, parameters: &mut Parameters) {
    if !parameters.model.is_empty() {
        return;
    }
    let key = endpoint.api_key.as_ref();
    let patience = parameters.patience.connect;
    let first = first_model(client, &endpoint.base_url, key, patience).await;
    // Servers that hold a single model ignore the name, but most reject an empty one.
    parameters.model = first.unwrap_or_else(|| "default".to_owned());
}

/// Values kept for further attempts; both are as large as the chat.
struct Outgoing {
    /// For another key or a request with fewer features; freed when the server answers.
    prompt: Option<Prompt>,
    /// True if another key was tried.
    is_renewed: bool,
    /// Number of times that the provider paused its answer.
    pauses: u32,
    /// The paused answer so far.
    paused: Vec<ExactBlock>,
    /// Freed at the first word of the answer, after which nothing is retried.
    request: Option<HttpRequest>,
}

impl Outgoing {
    fn new(prompt: Prompt, endpoint: &Endpoint, parameters: &Parameters) -> Result<Self, Problem> {
        Ok(Self {
            request: Some(provider::encode(&prompt, endpoint, parameters)?),
            prompt: Some(prompt),
            is_renewed: false,
            pauses: 0,
            paused: Vec::new(),
        })
    }

    /// Encodes the request that continues a paused answer: the same with the answer at its end.
    ///
    /// # Errors
    ///
    /// The provider paused too often, or the request cannot be encoded.
    fn go_on(
        &mut self,
        paused: Vec<ExactBlock>,
        endpoint: &Endpoint,
        parameters: &Parameters,
    ) -> Result<(), Problem> {
        self.pauses += 1;
        let Some(prompt) = self.prompt.as_mut().filter(|_| self.pauses <= PAUSES) else {
            return Err(Problem::new(
                format!(
                    "{} paused the answer too often, so it ends here.",
                    endpoint.provider
                ),
                "Press Ctrl-] to let the model continue.",
            ));
        };
        self.paused.extend(paused);
        // From the second pause on, the last message is the answer so far, which has grown.
        prompt
            .messages
            .pop_if(|it| it.role == PromptRole::Assistant);
        prompt.messages.push(PromptMessage {
            role: PromptRole::Assistant,
            parts: Vec::new(),
            exact: Some(ExactAnswer {
                provider: endpoint.provider.clone(),
                blocks: self.paused.clone(),
            }),
        });
        self.request = Some(provider::encode(prompt, endpoint, parameters)?);
        Ok(())
    }

    /// Reports what the server refuses, and returns true if another request was encoded that
    /// avoids it.
    fn avoid(
        &mut self,
        refusal: Option<ServerRefusal>,
        endpoint: &Endpoint,
        parameters: &mut Parameters,
        events: &Events,
    ) -> Result<bool, Problem> {
        let report = match refusal {
            None => return Ok(false),
            // The user decides whether to go on without the thinking.
            Some(ServerRefusal::BoundThinking) => StreamEvent::ThinkingRefused,
            Some(ServerRefusal::Feature(feature)) => {
                let left_out = self.leave_out_feature(feature, endpoint, parameters);
                if left_out == Ok(false) {
                    return Ok(false);
                }
                let remark = StreamEvent::Remark(feature.missing(endpoint));
                left_out.inspect_err(|_| drop(events.send(vec![remark.clone()])))?;
                remark
            }
        };
        let is_avoided = matches!(report, StreamEvent::Remark(_));
        drop(events.send(vec![report]));
        Ok(is_avoided)
    }

    /// Encodes the request again without a feature that the server does not have, and returns
    /// true unless that changes nothing.
    ///
    /// # Errors
    ///
    /// The request means nothing without the feature.
    fn leave_out_feature(
        &mut self,
        feature: Feature,
        endpoint: &Endpoint,
        parameters: &mut Parameters,
    ) -> Result<bool, Problem> {
        let Some(prompt) = &self.prompt else {
            return Ok(false);
        };
        parameters.without.add(feature);
        let request = provider::encode(prompt, endpoint, parameters);
        let request = Some(request.inspect_err(|_| note_missing(endpoint, feature))?);
        let is_other = request != self.request;
        if is_other {
            note_missing(endpoint, feature);
            free(std::mem::replace(&mut self.request, request));
        }
        Ok(is_other)
    }

    /// Asks for another key after the provider rejected one, and returns true if the request
    /// can be sent with it.
    async fn renew(
        &mut self,
        endpoint: &mut Endpoint,
        parameters: &Parameters,
        asker: &dyn Asker,
    ) -> Result<bool, Problem> {
        // The prompt is gone if the server accepted the key.
        let Some(prompt) = self.prompt.as_ref().filter(|_| !self.is_renewed) else {
            return Ok(false);
        };
        self.is_renewed = true;
        // A timed-out token may be cached in a key store, so ask once for a new one.
        if !renew_key(endpoint, asker).await {
            return Ok(false);
        }
        self.request = Some(provider::encode(prompt, endpoint, parameters)?);
        Ok(true)
    }

    /// Removes a parameter that the server refused, tells the user, and returns true if the
    /// request can be sent without it.
    fn leave_out(
        &mut self,
        refused: &RefusedParameter,
        endpoint: &Endpoint,
        parameters: &mut Parameters,
        events: &Events,
    ) -> bool {
        let Some(request) = &mut self.request else {
            return false;
        };
        // A server that refuses what was left out already means something else.
        if parameters.refused.contains(refused)
            || !remember_parameter(endpoint, &parameters.model, refused)
        {
            return false;
        }
        refused.apply(&mut request.body);
        parameters.refused.push(refused.clone());
        let (provider, model) = (&endpoint.provider, &parameters.model);
        let remark = format!("{provider} ({model}) refused {refused}.");
        drop(events.send(vec![StreamEvent::Remark(remark)]));
        true
    }

    /// Makes one attempt and passes on its events. Returns the answer so far if the provider
    /// paused it.
    async fn try_once(
        &mut self,
        client: &Client,
        endpoint: &Endpoint,
        parameters: &Parameters,
        events: &Events,
    ) -> Result<Option<Vec<ExactBlock>>, attempt::Failed> {
        let Some(request) = self.request.as_ref() else {
            // The request is freed only once the answer has begun, and then nothing is retried.
            return Ok(None);
        };
        let response = attempt::make(client, request, endpoint, parameters).await?;
        // The server has the request, so the prompt is needed only if the answer may be paused.
        if !provider::may_pause(endpoint, parameters) {
            free(self.prompt.take());
        }
        let mut decoder = Decoder::of(endpoint).with_tools(request.tools.clone());
        if self.pauses > 0 {
            decoder = decoder.going_on(&self.paused);
        }
        let begins = || free(self.request.take());
        let idle = parameters.patience.idle;
        attempt::read(response, decoder, endpoint, idle, events, begins).await
    }
}

/// Waits before the next attempt, with a visible countdown.
///
/// # Errors
///
/// Another attempt is pointless.
async fn wait_for_next_try(
    failed: attempt::Failed,
    tries: &mut Tries,
    begun: Instant,
    endpoint: &Endpoint,
    parameters: &Parameters,
    asker: &dyn Asker,
) -> Result<(), Problem> {
    let patience = parameters.patience;
    let wait = match patience.decide(failed.failure, *tries, dice()) {
        RetryDecision::Wait(wait) => wait,
        RetryDecision::GiveUp => {
            // Attempts were left, so say that time ran out.
            let out_of_time =
                failed.failure == Failure::Unreachable && tries.made <= patience.retries;
            return Err(given_up(
                failed.problem,
                *tries,
                begun.elapsed(),
                out_of_time,
            ));
        }
        RetryDecision::TooLong(asked) => return Err(too_long(failed.problem, asked, patience)),
    };
    let turn = format!("try {} of {}", tries.made + 1, patience.retries + 1);
    let provider = &endpoint.provider;
    count_down(wait, asker, |seconds| {
        format!("{provider} {}; {turn} in {seconds} s", failed.short)
    })
    .await;
    tries.waited += wait;
    asker.note(format!("{provider} {}, {turn}", parameters.model).into());
    Ok(())
}

/// Frees a value as large as the chat on another thread. This takes milliseconds and must
/// not delay the thread that handles keys.
fn free(it: Option<impl Send + 'static>) {
    if let Some(it) = it {
        tokio::task::spawn_blocking(move || drop(it));
    }
}

fn is_refused_key(failure: Failure) -> bool {
    matches!(failure, Failure::Status { code: 401, .. })
}

/// Asks for another key, because the cached one may be outdated. Returns true if it
/// differs.
async fn renew_key(endpoint: &mut Endpoint, asker: &dyn Asker) -> bool {
    let Some(key) = asker.renew_key(&endpoint.provider).await else {
        return false;
    };
    let is_new = endpoint.api_key.as_ref() != Some(&key);
    endpoint.api_key = Some(key);
    is_new
}

/// Waits and reports the remaining time every second.
async fn count_down(wait: Duration, asker: &dyn Asker, text: impl Fn(u64) -> String) {
    let end = Instant::now() + wait;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let whole = left.as_secs_f64().ceil();
        asker.note(WaitNote {
            text: text(whole as u64),
            retry_in: Some(whole as u64),
        });
        // Until the number of seconds changes.
        sleep_until(end - Duration::from_secs_f64(whole - 1.0).min(left)).await;
    }
}

/// Returns a random number from 0 to 1, good enough for jitter.
fn dice() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    // Each `RandomState` has random keys, so even a constant gets a random hash.
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}

/// Adds the number of attempts to a problem. `out_of_time`: attempts were left, but no
/// time.
fn given_up(problem: Problem, tries: Tries, took: Duration, out_of_time: bool) -> Problem {
    if tries.made < 2 {
        return problem;
    }
    let seconds = took.as_secs();
    let why = if out_of_time {
        ", and parameters.connect_timeout leaves no time for another attempt"
    } else {
        ""
    };
    let what = format!(
        "{} It was tried {} times in {seconds} s{why}.",
        problem.what, tries.made
    );
    Problem::new(what, problem.fix)
}

fn too_long(problem: Problem, asked: Duration, patience: provider::Patience) -> Problem {
    let what = format!(
        "{} It asked to wait {} s, but parameters.max_retry_wait allows {} s.",
        problem.what,
        asked.as_secs(),
        patience.longest_wait.as_secs()
    );
    Problem::new(what, problem.fix)
}

/// Maximum number of parameters that are left out for one model. A server that refuses more
/// refuses everything.
const MOST: usize = 6;

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Known {
    features: HashMap<String, Without>,
    parameters: HashMap<(String, String), Vec<RefusedParameter>>,
}

fn with<T>(look: impl FnOnce(&mut Known) -> T) -> T {
    look(&mut KNOWN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Returns the features that the server at this address refused.
fn refused_features(endpoint: &Endpoint) -> Without {
    with(|known| known.features.get(&endpoint.base_url).copied()).unwrap_or_default()
}

/// Returns true if the server at this address refused a feature.
pub fn is_missing(endpoint: &Endpoint, feature: Feature) -> bool {
    refused_features(endpoint).has(feature)
}

/// Remembers that the server at this address does not have a feature.
pub fn note_missing(endpoint: &Endpoint, feature: Feature) {
    let address = endpoint.base_url.clone();
    with(|known| known.features.entry(address).or_default().add(feature));
}

/// Returns the parameters that the server refused for a model, in that order.
fn refused_parameters(endpoint: &Endpoint, model: &str) -> Vec<RefusedParameter> {
    let key = (endpoint.base_url.clone(), model.to_owned());
    with(|known| known.parameters.get(&key).cloned()).unwrap_or_default()
}

/// Remembers a refused parameter. Returns false if there are too many: then a request
/// without it would change nothing.
fn remember_parameter(endpoint: &Endpoint, model: &str, refused: &RefusedParameter) -> bool {
    let key = (endpoint.base_url.clone(), model.to_owned());
    with(|known| {
        let of_model = known.parameters.entry(key).or_default();
        // Two requests at the same time may learn the same.
        if !of_model.contains(refused) && of_model.len() < MOST {
            of_model.push(refused.clone());
        }
        of_model.contains(refused)
    })
}
