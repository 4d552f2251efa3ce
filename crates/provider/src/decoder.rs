//! Decodes the bytes of an answer into events, for every protocol and any chunking.
//!
//! Accepts any bytes; [`Decoder::finish`] guarantees exactly one terminal event. The
//! protocol modules interpret events; HTTP status and content type are not used here.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::{
    Endpoint, Failure, Protocol, StreamEvent, ToolUse, anthropic, arguments, chat_completions,
    error_body::ErrorBody,
    failure::{self, NotJson},
    gemini, providers, responses,
    retry::quota,
    sse::{SseDecoder, SseEvent, TooLarge},
    surrogates::{self, Joiner},
    thinking_tags::ThinkingTags,
    whole,
    wire_tools::WireTools,
};

/// Decodes one answer.
#[derive(Debug)]
pub struct Decoder {
    protocol: Protocol,
    sse: SseDecoder,
    reader: ProtocolReader,
    /// Joins characters that were split between events.
    joiner: Joiner,
    /// Separates thinking that is marked in the text. `None` for Anthropic's protocol, which
    /// has blocks for thinking and in which an answer must go back exactly as it came.
    tags: Option<ThinkingTags>,
    /// The tools that have other names in this answer.
    tools: WireTools,
    /// IDs of the calls so far, used to make IDs unique in an answer.
    ids: HashSet<String>,
    /// Calls as they were sent, by which a repeated one is recognized.
    calls: HashSet<ToolUse>,
    /// Remarks so far, so that each is made once.
    remarks: HashSet<String>,
    /// Whether an event was received; if not, the body may be an error page.
    is_stream: bool,
    /// Whether the terminal event was returned.
    ended: bool,
    /// The failure that the server reported, which decides whether to retry.
    failure: Failure,
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
        Self {
            protocol,
            sse: SseDecoder::default(),
            reader,
            joiner: Joiner::default(),
            tags: (protocol != Protocol::AnthropicMessages).then(ThinkingTags::default),
            tools: WireTools::default(),
            ids: HashSet::new(),
            calls: HashSet::new(),
            remarks: HashSet::new(),
            is_stream: false,
            ended: false,
            failure: Failure::Final,
            has_grown: false,
        }
    }

    /// Restores the names of the request's tools in the answer.
    #[must_use]
    pub fn with_tools(self, tools: WireTools) -> Self {
        Self { tools, ..self }
    }

    /// Returns true if the answer has grown since the last call.
    ///
    /// Comments, pings, empty deltas, and usage figures keep a connection alive but don't
    /// count.
    pub fn take_growth(&mut self) -> bool {
        std::mem::take(&mut self.has_grown)
    }

    /// Returns the kind of the error with which the answer failed, such as an overload or a
    /// rate limit; [`Failure::Final`] if it did not fail.
    pub fn failure(&self) -> Failure {
        self.failure
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
        self.conclude()
    }

    /// Ends the answer as [`finish`](Self::finish) does; [`failure`](Self::failure) then says
    /// how it failed.
    pub fn conclude(&mut self) -> Vec<StreamEvent> {
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
        // Usage and remarks alone do not show that the answer makes progress.
        let is_more =
            |event: &StreamEvent| !matches!(event, StreamEvent::Usage(_) | StreamEvent::Remark(_));
        self.has_grown |= events[start..].iter().any(is_more) || self.reader.bytes_held() > held;
        self.settle(start, events);
        if let Some(StreamEvent::Error(problem)) = events.last_mut() {
            self.failure = Failure::of_event(&event.text);
            if let Some(quota) = quota::spent_quota(&event.text) {
                *problem = failure::spent(&quota, problem);
            }
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
            (false, body) => {
                // An error with a status of success, as some gateways send it.
                let text = String::from_utf8_lossy(self.sse.stray());
                self.failure = Failure::of_event(&text);
                failure::no_stream(&body)
            }
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
        let mut separated = Vec::new();
        for event in events.drain(start..) {
            match &mut self.tags {
                Some(tags) => tags.accept(event, &mut separated),
                None => separated.push(event),
            }
        }
        for event in separated {
            if let Some(mut event) = self.distinct(event) {
                self.tools.restore(&mut event);
                events.push(event);
            }
        }
        let terminal = events[start..].iter().position(StreamEvent::is_terminal);
        if let Some(at) = terminal {
            self.ended = true;
            events.truncate(start + at + 1);
        }
    }

    /// Drops what repeats an earlier event: a call with the same ID, name, and arguments,
    /// as proxies send it that try again, or a remark.
    fn distinct(&mut self, event: StreamEvent) -> Option<StreamEvent> {
        match event {
            StreamEvent::ToolUse(mut call) => {
                arguments::unwrap(&mut call.input);
                // Without an ID, it cannot be known whether it is the same call.
                if !call.id.is_empty() && !self.calls.insert(call.clone()) {
                    return None;
                }
                self.make_distinct(&mut call);
                Some(StreamEvent::ToolUse(call))
            }
            StreamEvent::Remark(text) => {
                let is_new = self.remarks.insert(text.clone());
                is_new.then_some(StreamEvent::Remark(text))
            }
            other => Some(other),
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
        // Some servers send nothing or null for a tool without parameters.
        if matches!(call.input.trim(), "" | "null") {
            call.input = arguments::NONE.to_owned();
        }
    }
}
