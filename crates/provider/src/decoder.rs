//! Bytes of an answer to events, for every protocol and every chunking.
//!
//! Total: any bytes give events, and [`Decoder::finish`] ends them with exactly
//! one terminal event. What an event means is the protocols' own; HTTP status
//! and content type are not seen here.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::{
    Endpoint, Protocol, StreamEvent, ToolUse, anthropic, arguments, chat_completions,
    error_body::ErrorBody,
    failure::{self, NotJson},
    gemini, providers, responses, retry,
    sse::{SseDecoder, SseEvent, TooLarge},
    surrogates::{self, Joiner},
    whole,
};

/// Reads one answer.
#[derive(Debug)]
pub struct Decoder {
    protocol: Protocol,
    sse: SseDecoder,
    reader: ProtocolReader,
    /// Puts characters together that were cut in two.
    joiner: Joiner,
    /// Ids of the calls so far, so that no two calls of an answer share one.
    ids: HashSet<String>,
    /// Whether an event has come: if not, the answer may be a page.
    is_stream: bool,
    /// Whether the terminal event has been given out.
    ended: bool,
    /// Whether the answer broke off by what passes by itself.
    transient: bool,
    /// Whether an event has said something since this was asked last.
    has_grown: bool,
}

/// The answer so far, in the protocol's own terms.
#[derive(Debug)]
enum ProtocolReader {
    Anthropic(anthropic::StreamReader),
    ChatCompletions(chat_completions::StreamReader),
    Gemini(gemini::StreamReader),
    Responses(responses::StreamReader),
}

impl ProtocolReader {
    /// Bytes of calls and signatures that are held until they are whole.
    fn bytes_held(&self) -> usize {
        match self {
            Self::Anthropic(reader) => reader.bytes_held(),
            Self::ChatCompletions(reader) => reader.bytes_held(),
            // Every event of Gemini's is whole.
            Self::Gemini(_) => 0,
            Self::Responses(reader) => reader.bytes_held(),
        }
    }
}

/// An event whose text holds no lone surrogate.
fn repaired(mut event: SseEvent) -> SseEvent {
    if let Cow::Owned(text) = surrogates::repair(&event.text) {
        event.text = text;
    }
    event
}

impl Decoder {
    /// A decoder for one answer of this endpoint.
    pub fn of(endpoint: &Endpoint) -> Self {
        let mut decoder = Self::new(endpoint.protocol);
        let is_chat = endpoint.protocol == Protocol::ChatCompletions;
        if is_chat {
            // What it thought is marked as this provider's own if it takes it back.
            let returns = providers::dialect(&endpoint.provider, "").returns;
            decoder.reader =
                ProtocolReader::ChatCompletions(chat_completions::StreamReader::of(returns));
        }
        decoder
    }

    /// A decoder for one answer.
    pub fn new(protocol: Protocol) -> Self {
        let reader = match protocol {
            Protocol::AnthropicMessages => {
                ProtocolReader::Anthropic(anthropic::StreamReader::default())
            }
            Protocol::ChatCompletions => {
                ProtocolReader::ChatCompletions(chat_completions::StreamReader::default())
            }
            Protocol::Gemini => ProtocolReader::Gemini(gemini::StreamReader::default()),
            Protocol::Responses => ProtocolReader::Responses(responses::StreamReader::default()),
        };
        let ids = HashSet::new();
        Self {
            protocol,
            sse: SseDecoder::default(),
            reader,
            joiner: Joiner::default(),
            ids,
            is_stream: false,
            ended: false,
            transient: false,
            has_grown: false,
        }
    }

    /// Whether the answer has grown since this was asked last.
    ///
    /// Comments, pings, empty deltas and figures keep a connection alive and say nothing.
    pub fn take_growth(&mut self) -> bool {
        std::mem::take(&mut self.has_grown)
    }

    /// Whether the answer broke off with an error that passes by itself, such as
    /// an overload.
    pub fn failed_transiently(&self) -> bool {
        self.transient
    }

    /// Reads the next bytes, cut anywhere, and gives the events they complete.
    ///
    /// After a terminal event, bytes are ignored.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        if self.ended {
            return events;
        }
        let mut rest = bytes;
        while !self.ended {
            match self.sse.next(&mut rest) {
                Ok(Some(event)) => self.accept(event, &mut events),
                Ok(None) => break,
                Err(TooLarge) => self.fail(failure::too_large(), &mut events),
            }
        }
        events
    }

    /// Ends the answer, because no more bytes come.
    ///
    /// Gives the terminal event if [`push`](Self::push) has not: an error, unless
    /// the answer's end was announced.
    pub fn finish(mut self) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        if self.ended {
            return events;
        }
        if let Some(last) = self.sse.finish() {
            // It may be cut inside. Then what came before it says whether the answer is whole.
            let _ = self.read(&repaired(last), &mut events);
        }
        if !self.is_stream {
            self.accept_whole(&mut events);
        }
        if !self.ended {
            self.end(&mut events);
        }
        events
    }

    /// Reads an event; one that is not JSON ends the answer.
    fn accept(&mut self, event: SseEvent, events: &mut Vec<StreamEvent>) {
        let event = &repaired(event);
        let read = self.read(event, events);
        if read.is_err() && !self.ended {
            self.fail(failure::malformed(&event.text), events);
        }
    }

    /// Reads an answer that came as one piece of JSON.
    fn accept_whole(&mut self, events: &mut Vec<StreamEvent>) {
        let body = String::from_utf8_lossy(self.sse.stray());
        let whole = whole::events(self.protocol, &surrogates::repair(&body));
        for text in whole.into_iter().flatten() {
            if !self.ended {
                let name = String::new();
                self.accept(SseEvent { name, text }, events);
            }
        }
    }

    fn read(&mut self, event: &SseEvent, events: &mut Vec<StreamEvent>) -> Result<(), NotJson> {
        // The first event tells that the model has been asked.
        if !std::mem::replace(&mut self.is_stream, true) {
            self.has_grown = true;
        }
        let start = events.len();
        let held = self.reader.bytes_held();
        let read = match &mut self.reader {
            ProtocolReader::Anthropic(reader) => reader.accept(event, events),
            ProtocolReader::ChatCompletions(reader) => reader.accept(event, events),
            ProtocolReader::Gemini(reader) => reader.accept(event, events),
            ProtocolReader::Responses(reader) => reader.accept(event, events),
        };
        let is_more = |event: &StreamEvent| !matches!(event, StreamEvent::Usage(_));
        self.has_grown |= events[start..].iter().any(is_more) || self.reader.bytes_held() > held;
        self.settle(start, events);
        if let Some(StreamEvent::Error(_)) = events.last() {
            self.transient = retry::is_transient(&event.text);
        }
        read
    }

    fn end(&mut self, events: &mut Vec<StreamEvent>) {
        let start = events.len();
        match &mut self.reader {
            ProtocolReader::Anthropic(_) | ProtocolReader::Responses(_) => {}
            ProtocolReader::ChatCompletions(reader) => reader.end(events),
            ProtocolReader::Gemini(reader) => reader.end(events),
        }
        self.settle(start, events);
        if self.ended {
            return;
        }
        // Lines beside the events are worth a word only if they are an error.
        let problem = match (self.is_stream, ErrorBody::read(self.sse.stray())) {
            (false, body) => failure::no_stream(&body),
            (true, ErrorBody::Message(message)) => failure::reported(&message),
            (true, _) => failure::cut(),
        };
        self.fail(problem, events);
    }

    fn fail(&mut self, problem: chat::Problem, events: &mut Vec<StreamEvent>) {
        let start = events.len();
        match &mut self.reader {
            ProtocolReader::Anthropic(reader) => reader.abandon(events),
            ProtocolReader::ChatCompletions(reader) => reader.abandon(events),
            ProtocolReader::Gemini(reader) => reader.abandon(events),
            ProtocolReader::Responses(reader) => reader.abandon(events),
        }
        events.push(StreamEvent::Error(problem));
        self.settle(start, events);
    }

    /// Mends and checks the events from `start` on: calls get distinct ids, and nothing
    /// follows a terminal event.
    fn settle(&mut self, start: usize, events: &mut Vec<StreamEvent>) {
        self.joiner.join(start, events);
        for event in &mut events[start..] {
            if let StreamEvent::ToolUse(call) = event {
                self.make_distinct(call);
            }
        }
        let terminal = events[start..].iter().position(StreamEvent::is_terminal);
        if let Some(at) = terminal {
            self.ended = true;
            events.truncate(start + at + 1);
        }
    }

    fn make_distinct(&mut self, call: &mut ToolUse) {
        if call.id.is_empty() {
            call.id = format!("call_{}", self.ids.len() + 1);
        }
        if self.ids.contains(&call.id) {
            let free = (2..)
                .map(|n| format!("{}_{n}", call.id))
                .find(|id| !self.ids.contains(id));
            call.id = free.unwrap_or_default();
        }
        self.ids.insert(call.id.clone());
        if call.input.trim().is_empty() {
            call.input = arguments::NONE.to_owned();
        }
    }
}
