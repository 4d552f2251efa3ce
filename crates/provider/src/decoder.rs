//! Decodes the bytes of an answer into events, for every protocol and any chunking.
//!
//! Accepts any bytes; [`Decoder::finish`] guarantees exactly one terminal event. The
//! protocol modules interpret events; HTTP status and content type are not used here.

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

/// Decodes one answer.
#[derive(Debug)]
pub struct Decoder {
    protocol: Protocol,
    sse: SseDecoder,
    reader: ProtocolReader,
    /// Joins characters that were split between events.
    joiner: Joiner,
    /// IDs of the calls so far, used to make IDs unique in an answer.
    ids: HashSet<String>,
    /// Whether an event was received; if not, the body may be an error page.
    is_stream: bool,
    /// Whether the terminal event was returned.
    ended: bool,
    /// Whether the answer failed with a temporary error.
    transient: bool,
    /// Whether the answer has grown since the last [`Decoder::take_growth`].
    has_grown: bool,
}

/// Decoder state of each protocol.
#[derive(Debug)]
enum ProtocolReader {
    Anthropic(anthropic::StreamReader),
    ChatCompletions(chat_completions::StreamReader),
    Gemini(gemini::StreamReader),
    Responses(responses::StreamReader),
}

impl ProtocolReader {
    /// Bytes of incomplete calls and signatures.
    fn bytes_held(&self) -> usize {
        match self {
            Self::Anthropic(reader) => reader.bytes_held(),
            Self::ChatCompletions(reader) => reader.bytes_held(),
            // Gemini's events are always complete.
            Self::Gemini(_) => 0,
            Self::Responses(reader) => reader.bytes_held(),
        }
    }
}

/// Replaces lone surrogates in an event.
fn repaired(mut event: SseEvent) -> SseEvent {
    if let Cow::Owned(text) = surrogates::repair(&event.text) {
        event.text = text;
    }
    event
}

impl Decoder {
    /// Creates a decoder for one answer of this endpoint.
    pub fn of(endpoint: &Endpoint) -> Self {
        let mut decoder = Self::new(endpoint.protocol);
        let is_chat = endpoint.protocol == Protocol::ChatCompletions;
        if is_chat {
            // A provider that takes its thinking back needs it marked as its own.
            let returns = providers::dialect(&endpoint.provider, "").returns;
            decoder.reader =
                ProtocolReader::ChatCompletions(chat_completions::StreamReader::of(returns));
        }
        decoder
    }

    /// Creates a decoder for one answer.
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

    /// Returns true if the answer has grown since the last call.
    ///
    /// Comments, pings, empty deltas, and usage figures keep a connection alive but don't
    /// count.
    pub fn take_growth(&mut self) -> bool {
        std::mem::take(&mut self.has_grown)
    }

    /// Returns true if the answer failed with a temporary error, such as an overload.
    pub fn failed_transiently(&self) -> bool {
        self.transient
    }

    /// Decodes the next bytes, split anywhere, and returns the completed events.
    ///
    /// Bytes after a terminal event are ignored.
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

    /// Ends the answer.
    ///
    /// Returns the terminal event unless [`push`](Self::push) did: an error unless the
    /// protocol announced the end.
    pub fn finish(mut self) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        if self.ended {
            return events;
        }
        if let Some(last) = self.sse.finish() {
            // The last event may be incomplete; the events before it then decide whether
            // the answer is complete.
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

    /// Handles an event. One that is not JSON ends the answer.
    fn accept(&mut self, event: SseEvent, events: &mut Vec<StreamEvent>) {
        let event = &repaired(event);
        let read = self.read(event, events);
        if read.is_err() && !self.ended {
            self.fail(failure::malformed(&event.text), events);
        }
    }

    /// Decodes an answer sent as one JSON document.
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
        // The first event shows that the request reached the model, which counts as growth.
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
        // Usage alone does not show that the answer makes progress.
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
            // These protocols have an event for the end.
            ProtocolReader::Anthropic(_) | ProtocolReader::Responses(_) => {}
            ProtocolReader::ChatCompletions(reader) => reader.end(events),
            ProtocolReader::Gemini(reader) => reader.end(events),
        }
        self.settle(start, events);
        if self.ended {
            return;
        }
        // Report lines outside events only if they contain an error.
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

    /// Repairs the events from `start` on: makes call IDs unique and drops everything after
    /// a terminal event.
    fn settle(&mut self, start: usize, events: &mut Vec<StreamEvent>) {
        // Joined first, so that IDs are compared in their final form.
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
            // The range is infinite, so a free ID is always found.
            let free = (2..)
                .map(|n| format!("{}_{n}", call.id))
                .find(|id| !self.ids.contains(id));
            call.id = free.unwrap_or_default();
        }
        self.ids.insert(call.id.clone());
        // Some servers send no arguments for a tool without parameters.
        if call.input.trim().is_empty() {
            call.input = arguments::NONE.to_owned();
        }
    }
}
