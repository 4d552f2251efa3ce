//! A provider on the loopback that plays a script: each POST gets the next answer, and "Done." after
//! the last one, or the answer of a function. Requests are recorded.

use std::collections::VecDeque;
use std::io::{BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::answer::{Answer, Kind};
use crate::channel::lock;
use crate::delivery::{End, Outlet, Piece, deliver};
use crate::http::{self, EventBody, Recorded};
use crate::strict::{Accepted, Strict, Verdict};
use crate::{PATIENCE, anthropic, chat_completions, gemini, gzip, responses};

/// A scripted provider. Dropping it ends its threads.
pub struct Provider {
    address: SocketAddr,
    format: Format,
    shared: Arc<Shared>,
}

#[derive(Clone, Copy)]
enum Format {
    Anthropic,
    ChatCompletions,
    Gemini,
    Responses,
}

impl Format {
    /// Returns true for the path of the endpoint that counts tokens.
    fn counts_at(self, path: &str) -> bool {
        match self {
            Self::Anthropic => path == "/v1/messages/count_tokens",
            Self::Responses => path == "/v1/responses/input_tokens",
            Self::Gemini => path.ends_with(":countTokens"),
            Self::ChatCompletions => false,
        }
    }

    /// Returns a field that the endpoint that counts tokens does not document. Sources: see
    /// `count_request` of the crate `provider`.
    fn unknown_field(self, body: &Json) -> Option<String> {
        let known: &[&str] = match self {
            Self::Anthropic => &[
                "model",
                "messages",
                "system",
                "tools",
                "tool_choice",
                "thinking",
                "output_config",
                "cache_control",
            ],
            Self::Responses => &[
                "model",
                "input",
                "instructions",
                "tools",
                "tool_choice",
                "reasoning",
                "text",
                "truncation",
                "parallel_tool_calls",
            ],
            Self::Gemini => &["contents", "generateContentRequest"],
            Self::ChatCompletions => &[],
        };
        let mut fields = body.as_object()?.keys();
        fields.find(|it| !known.contains(&&***it)).cloned()
    }

    /// Returns the answer with a number of tokens.
    fn counted(self, tokens: u64) -> String {
        match self {
            Self::Responses => {
                serde_json::json!({"object": "response.input_tokens", "input_tokens": tokens})
            }
            Self::Gemini => serde_json::json!({"totalTokens": tokens}),
            Self::Anthropic | Self::ChatCompletions => serde_json::json!({"input_tokens": tokens}),
        }
        .to_string()
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

type Model = Box<dyn FnMut(&Json) -> Answer + Send>;

#[derive(Default)]
struct State {
    script: VecDeque<Answer>,
    /// Answers requests after the script.
    model: Option<Model>,
    requests: Vec<Recorded>,
    strict: Option<Strict>,
    /// What the strict service did with each request.
    verdicts: Vec<Verdict>,
    hang_ups: usize,
    /// The list of models, and how often it was asked for.
    list: Option<String>,
    /// True if requests for it are never answered.
    hides_list: bool,
    lists: usize,
    /// The tokens of every request, if the provider counts them.
    tokens: Option<u64>,
    /// Requests to count tokens.
    counts: Vec<Recorded>,
    closing: bool,
}

impl State {
    fn answer(&mut self, request: &Recorded) -> Answer {
        let Some(mut strict) = self.strict.take() else {
            let mut answer = self.next(request);
            if !request.body["compaction"].is_null() {
                answer.signature = Some("signed".to_owned());
            }
            return answer;
        };
        let verdict = strict.check(request);
        let answer = match &verdict {
            Verdict::Refused(refusal) => {
                let body = strict.error_body(refusal).to_string();
                Answer::status(refusal.status, body)
            }
            Verdict::Accepted(Accepted { dropped, reports }) => match self.next(request) {
                answer if matches!(answer.kind, Kind::Stream) => {
                    let mut answer = strict.issue(request, answer);
                    answer.transformations = reports.then(|| dropped.clone().into());
                    answer
                }
                failure => failure,
            },
        };
        self.strict = Some(strict);
        self.verdicts.push(verdict);
        answer
    }

    fn next(&mut self, request: &Recorded) -> Answer {
        match (self.script.pop_front(), &mut self.model) {
            (Some(answer), _) => answer,
            (None, Some(model)) => model(&request.body),
            (None, None) => Answer::says("Done."),
        }
    }
}

impl Provider {
    /// A provider with Anthropic's Messages API.
    pub fn anthropic<A: Into<Answer>>(script: impl IntoIterator<Item = A>) -> Self {
        Self::start(
            Format::Anthropic,
            script.into_iter().map(Into::into).collect(),
        )
    }

    /// A provider with Gemini's API.
    pub fn gemini<A: Into<Answer>>(script: impl IntoIterator<Item = A>) -> Self {
        Self::start(Format::Gemini, script.into_iter().map(Into::into).collect())
    }

    /// A provider with the Chat Completions API.
    pub fn chat_completions<A: Into<Answer>>(script: impl IntoIterator<Item = A>) -> Self {
        Self::start(
            Format::ChatCompletions,
            script.into_iter().map(Into::into).collect(),
        )
    }

    /// A provider with OpenAI's Responses API.
    pub fn responses<A: Into<Answer>>(script: impl IntoIterator<Item = A>) -> Self {
        Self::start(
            Format::Responses,
            script.into_iter().map(Into::into).collect(),
        )
    }

    fn start(format: Format, script: VecDeque<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0");
        let listener = listener.unwrap_or_else(|error| panic!("no loopback port: {error}"));
        let address = listener
            .local_addr()
            .unwrap_or_else(|error| panic!("no loopback address: {error}"));
        let shared = Arc::new(Shared::default());
        lock(&shared.state).script = script;
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if lock(&accepting.state).closing {
                    break;
                }
                let shared = Arc::clone(&accepting);
                thread::spawn(move || Connection { format, shared }.serve(stream));
            }
        });
        Self {
            address,
            format,
            shared,
        }
    }

    /// Answers GET requests with this list of models.
    pub fn listing(self, list: &Json) -> Self {
        lock(&self.shared.state).list = Some(list.to_string());
        self
    }

    /// Never answers GET requests.
    pub fn without_list(self) -> Self {
        lock(&self.shared.state).hides_list = true;
        self
    }

    /// Answers requests to count tokens with this number, if they have only documented fields.
    pub fn counting(self, tokens: u64) -> Self {
        lock(&self.shared.state).tokens = Some(tokens);
        self
    }

    /// The requests to count tokens so far, oldest first. They are not among
    /// [`Provider::requests`].
    pub fn counts(&self) -> Vec<Recorded> {
        lock(&self.shared.state).counts.clone()
    }

    /// How often its list of models was asked for.
    pub fn lists(&self) -> usize {
        lock(&self.shared.state).lists
    }

    /// Checks each request as `service` does, and answers only those that it accepts. A refused
    /// request takes no answer from the script.
    pub fn strict(self, service: Strict) -> Self {
        lock(&self.shared.state).strict = Some(service);
        self
    }

    /// What the strict service did with each request.
    pub fn verdicts(&self) -> Vec<Verdict> {
        lock(&self.shared.state).verdicts.clone()
    }

    /// The messages with which the strict service refused requests.
    pub fn refusals(&self) -> Vec<String> {
        let refused = |verdict| match verdict {
            Verdict::Refused(refusal) => Some(refusal.message),
            Verdict::Accepted(_) => None,
        };
        self.verdicts().into_iter().filter_map(refused).collect()
    }

    /// The thinking that the strict service did not show to the model, of all requests.
    pub fn dropped(&self) -> Vec<Json> {
        let dropped = |verdict| match verdict {
            Verdict::Accepted(accepted) => accepted.dropped,
            Verdict::Refused(_) => Vec::new(),
        };
        self.verdicts().into_iter().flat_map(dropped).collect()
    }

    /// The URL of its root.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL as users write it: with `/v1`, except for Anthropic.
    pub fn url(&self) -> String {
        match self.format {
            Format::Anthropic => format!("http://{}", self.address),
            Format::Gemini => format!("http://{}", self.address),
            Format::ChatCompletions | Format::Responses => format!("http://{}/v1", self.address),
        }
    }

    /// Flemma's name of the provider.
    pub fn name(&self) -> &'static str {
        match self.format {
            Format::Anthropic => "anthropic",
            Format::ChatCompletions => "openai_compatible",
            Format::Responses => "openai",
            Format::Gemini => "gemini",
        }
    }

    /// Environment variables that direct a program to this provider, with the key `test-key`.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let (url, key) = match self.format {
            Format::Anthropic => ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
            Format::ChatCompletions => ("OPENAI_COMPATIBLE_BASE_URL", "OPENAI_COMPATIBLE_API_KEY"),
            Format::Gemini => ("GEMINI_BASE_URL", "GEMINI_API_KEY"),
            Format::Responses => ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
        };
        vec![(url, self.url()), (key, "test-key".to_owned())]
    }

    /// Answers requests after the script as `model` does with their bodies.
    pub fn model(self, model: impl FnMut(&Json) -> Answer + Send + 'static) -> Self {
        lock(&self.shared.state).model = Some(Box::new(model));
        self
    }

    /// Appends an answer to the script.
    pub fn then(&self, answer: impl Into<Answer>) {
        lock(&self.shared.state).script.push_back(answer.into());
    }

    /// The POST requests so far, oldest first.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.state).requests.clone()
    }

    /// Waits for `count` POST requests, and returns all so far.
    #[track_caller]
    pub fn wait_requests(&self, count: usize) -> Vec<Recorded> {
        self.wait(&format!("{count} requests"), |state| {
            state.requests.len() >= count
        });
        self.requests()
    }

    /// Waits until clients have disconnected `count` times before the end of an answer.
    #[track_caller]
    pub fn wait_hang_ups(&self, count: usize) {
        self.wait(&format!("{count} hang-ups"), |state| {
            state.hang_ups >= count
        });
    }

    #[track_caller]
    fn wait(&self, what: &str, condition: impl Fn(&State) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        let mut state = lock(&self.shared.state);
        while !condition(&state) {
            assert!(
                Instant::now() < deadline,
                "the provider timed out waiting for {what}: it has seen {} requests and {} hang-ups",
                state.requests.len(),
                state.hang_ups,
            );
            let waited = self
                .shared
                .changed
                .wait_timeout(state, Duration::from_millis(100));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        lock(&self.shared.state).closing = true;
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

/// A connection.
struct Connection {
    format: Format,
    shared: Arc<Shared>,
}

impl Connection {
    fn serve(&self, mut stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let Ok(reading) = stream.try_clone() else {
            return;
        };
        let mut reader = BufReader::new(reading);
        while self.wait_readable(&reader) {
            let Some(request) = http::read(&mut reader) else {
                break;
            };
            let last = request.header("connection") == Some("close");
            let goes_on = if self.format.counts_at(&request.path) {
                let (status, answer) = self.count(request);
                http::write_plain(&mut stream, status, &[], answer.as_bytes()).is_ok()
            } else if request.method == "POST" {
                let answer = self.next_answer(request);
                self.play(&answer, &mut stream)
            } else {
                // A client that checks for a server asks for its models.
                match self.list() {
                    Some(models) => {
                        http::write_plain(&mut stream, 200, &[], models.as_bytes()).is_ok()
                    }
                    None => true,
                }
            };
            if last || !goes_on {
                break;
            }
        }
        // A proper end would arrive before the reset.
        if !http::will_reset(&stream) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Waits for the next request. The connection may be idle for a long time.
    fn wait_readable(&self, reader: &BufReader<TcpStream>) -> bool {
        if !reader.buffer().is_empty() {
            return true;
        }
        let stream = reader.get_ref();
        let _ = stream.set_read_timeout(Some(Duration::from_millis(50)));
        let readable = loop {
            match stream.peek(&mut [0]) {
                Ok(bytes) => break bytes > 0,
                Err(_) if lock(&self.shared.state).closing => break false,
                Err(error) => match error.kind() {
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {}
                    _ => break false,
                },
            }
        };
        let _ = stream.set_read_timeout(None);
        readable
    }

    /// Returns the list of models, or `None` for a list that never comes.
    fn list(&self) -> Option<String> {
        const USUAL: &str = r#"{"object":"list","data":[{"id":"scripted","object":"model"}]}"#;
        let mut state = lock(&self.shared.state);
        state.lists += 1;
        let list = || state.list.clone().unwrap_or_else(|| USUAL.to_owned());
        (!state.hides_list).then(list)
    }

    /// Returns the status and the answer of a request to count tokens.
    fn count(&self, request: Recorded) -> (u16, String) {
        let mut state = lock(&self.shared.state);
        let answer = match state.tokens {
            None => (404, String::new()),
            Some(tokens) => match self.format.unknown_field(&request.body) {
                Some(field) => (400, format!("{field}: Extra inputs are not permitted")),
                None => (200, self.format.counted(tokens)),
            },
        };
        state.counts.push(request);
        answer
    }

    fn next_answer(&self, request: Recorded) -> Answer {
        let mut state = lock(&self.shared.state);
        let answer = state.answer(&request);
        state.requests.push(request);
        self.shared.changed.notify_all();
        answer
    }

    /// Returns true if the connection can serve another request.
    fn play(&self, answer: &Answer, stream: &mut TcpStream) -> bool {
        match &answer.kind {
            Kind::Wire(bytes) => {
                let _ = stream.write_all(bytes);
                false
            }
            Kind::Plain {
                status,
                headers,
                body,
            } => http::write_plain(stream, *status, headers, body).is_ok(),
            Kind::Stream => self.stream(answer, stream),
        }
    }

    fn stream(&self, answer: &Answer, stream: &mut TcpStream) -> bool {
        let pieces: Vec<Piece> = match self.format {
            Format::Anthropic => anthropic::spell(answer),
            Format::ChatCompletions => chat_completions::spell(answer),
            Format::Gemini => gemini::spell(answer),
            Format::Responses => responses::spell(answer),
        };
        let coding = if answer.pace.gzip {
            "content-encoding: gzip\r\n"
        } else {
            ""
        };
        let Ok(body) = EventBody::begin(stream, coding) else {
            return false;
        };
        let mut outlet = Open {
            body,
            shared: &self.shared,
        };
        let end = if answer.pace.gzip {
            let mut whole = Compressed(Vec::new());
            deliver(pieces, &answer.pace, &mut whole);
            outlet.write(&gzip::stored(&whole.0));
            End::Complete
        } else {
            deliver(pieces, &answer.pace, &mut outlet)
        };
        match end {
            End::Cut if answer.pace.reset => {
                outlet.body.reset();
                false
            }
            End::Complete => outlet.body.end().is_ok(),
            End::Cut => false,
            End::HungUp => {
                lock(&self.shared.state).hang_ups += 1;
                self.shared.changed.notify_all();
                false
            }
        }
    }
}

/// Collects a body until it is complete.
struct Compressed(Vec<u8>);

impl Outlet for Compressed {
    fn write(&mut self, bytes: &[u8]) -> bool {
        self.0.extend_from_slice(bytes);
        true
    }

    fn is_gone(&mut self) -> bool {
        false
    }
}

/// A body that also ends when the provider is dropped.
struct Open<'a> {
    body: EventBody<'a>,
    shared: &'a Shared,
}

impl Outlet for Open<'_> {
    fn write(&mut self, bytes: &[u8]) -> bool {
        self.body.write(bytes)
    }

    fn is_gone(&mut self) -> bool {
        lock(&self.shared.state).closing || self.body.is_gone()
    }
}
