//! Decodes the bytes of an answer into events, for every protocol and any chunking.
//!
//! Accepts any bytes; [`Decoder::finish`] guarantees exactly one terminal event. The
//! protocol modules interpret events; HTTP status and content type are not used here.
//!
//! An answer sent as one JSON document, although a stream was requested, is converted to the
//! events of an equivalent stream. Servers without streaming and buffering proxies answer this
//! way.

use std::borrow::Cow;
use std::collections::HashSet;

use chat::server_tools::ExactBlock;
use serde_json::{Value, json};

use crate::error_body::ErrorBody;
use crate::failure::{self, NotJson};
use crate::retry::limits;
use crate::sse::{SseDecoder, SseEvent, TooLarge};
use crate::surrogates::{self, Joiner};
use crate::thinking_tags::ThinkingTags;
use crate::wire_tools::WireTools;
use crate::{
    Endpoint, Failure, Protocol, StreamEvent, ToolUse, anthropic, chat_completions, content,
    gemini, providers, responses,
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
    /// True if an event was received; if not, the body may be an error page.
    is_stream: bool,
    /// True if the terminal event was returned.
    ended: bool,
    /// The failure that the server reported, which decides whether to retry.
    failure: Failure,
    /// True if the answer has grown since the last [`Decoder::take_growth`].
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

    /// Makes this the decoder of an answer that goes on after these blocks.
    #[must_use]
    pub fn going_on(mut self, before: &[ExactBlock]) -> Self {
        match &mut self.reader {
            ProtocolReader::Anthropic(reader) => reader.go_on(before),
            // These protocols pause no answers.
            ProtocolReader::ChatCompletions(_)
            | ProtocolReader::Gemini(_)
            | ProtocolReader::Responses(_) => {}
        }
        self
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
        let whole = whole_events(self.protocol, &surrogates::repair(&body));
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
            if let Some(quota) = limits::spent_quota(&event.text) {
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
                content::unwrap_arguments(&mut call.input);
                // Without an ID, it cannot be known whether it is the same call.
                if !call.id.is_empty() {
                    let is_new = self.calls.insert(call.clone());
                    if !is_new {
                        return None;
                    }
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
            call.input = content::NONE.to_owned();
        }
    }
}

/// Returns the events of a complete answer, in the protocol's own JSON; `None` if the body
/// is not one.
fn whole_events(protocol: Protocol, body: &str) -> Option<Vec<String>> {
    let body = body.trim_start_matches('\u{feff}').trim();
    let json: Value = serde_json::from_str(body).ok()?;
    if !json["error"].is_null() {
        // The caller explains an error body itself.
        return None;
    }
    let events = match protocol {
        Protocol::AnthropicMessages => anthropic(&json)?,
        Protocol::ChatCompletions => chat_completions(json)?,
        Protocol::Gemini => gemini(json)?,
        Protocol::Responses => responses(&json)?,
    };
    Some(events.iter().map(Value::to_string).collect())
}

fn anthropic(message: &Value) -> Option<Vec<Value>> {
    let blocks = message["content"].as_array()?;
    let mut events = vec![json!({"type": "message_start", "message": {"usage": message["usage"]}})];
    for (index, block) in blocks.iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let reason = &message["stop_reason"];
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}}));
    // A message without a stop reason may be incomplete.
    if !reason.is_null() {
        events.push(json!({"type": "message_stop"}));
    }
    Some(events)
}

fn chat_completions(mut completion: Value) -> Option<Vec<Value>> {
    let choice = completion.pointer_mut("/choices/0")?.as_object_mut()?;
    let message = choice.remove("message")?;
    choice.insert("delta".to_owned(), message);
    Some(vec![completion])
}

fn gemini(answer: Value) -> Option<Vec<Value>> {
    let chunks = match answer {
        // If a proxy drops `alt=sse`, the chunks are a list.
        Value::Array(chunks) => chunks,
        chunk => vec![chunk],
    };
    let is_chunk = |it: &Value| it["candidates"].is_array() || it["promptFeedback"].is_object();
    chunks.iter().any(is_chunk).then_some(chunks)
}

fn responses(response: &Value) -> Option<Vec<Value>> {
    response["output"].as_array()?;
    let kind = match response["status"].as_str() {
        Some("incomplete") => "response.incomplete",
        Some("failed" | "cancelled") => "response.failed",
        _ => "response.completed",
    };
    Some(vec![json!({"type": kind, "response": response})])
}
