//! Decoder for the event stream of `POST /v1/messages`.
//!
//! Lenient: a field that is missing or of another type counts as absent, and unknown events
//! and blocks are skipped.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json_borrow::Value;

use crate::{
    StopReason, StreamEvent, ToolUse, Usage,
    arguments::{MAX_HELD_BYTES, whole_object},
    failure::{self, NotJson, not_json},
    fields::word,
    sse::SseEvent,
};

/// Stop reasons documented for complete answers.
const GOOD: [&str; 3] = ["end_turn", "stop_sequence", "tool_use"];

/// Decoder state of one streamed answer.
#[derive(Debug, Default)]
pub(crate) struct StreamReader {
    /// Open blocks by index.
    open: BTreeMap<u64, Block>,
    /// The last call, if its block has stopped without complete arguments. It may have
    /// none, or the token limit may have cut it; only the stop reason, right after it,
    /// shows which.
    held: Option<ToolUse>,
    stop_reason: Option<String>,
    called: bool,
    /// Bytes of calls, signatures, and block starts so far.
    bytes_held: usize,
}

#[derive(Debug)]
enum Block {
    Thinking {
        signature: String,
        /// Whether any thinking was returned.
        shown: bool,
    },
    ToolUse(ToolUse),
}

/// The raw input at the start of a block.
#[derive(Deserialize)]
struct Start<'a> {
    #[serde(borrow)]
    content_block: StartBlock<'a>,
}

#[derive(Deserialize)]
struct StartBlock<'a> {
    #[serde(borrow)]
    input: &'a RawValue,
}

impl StreamReader {
    /// Reads one event.
    pub(crate) fn accept(
        &mut self,
        event: &SseEvent,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), NotJson> {
        let Ok(json) = serde_json::from_str::<Value<'_>>(&event.text) else {
            let error = not_json(event)?;
            if error.is_some() {
                self.abandon(events);
            }
            events.extend(error);
            return Ok(());
        };
        let index = json.get("index").as_u64().unwrap_or_default();
        // The `event:` line repeats the type, for servers that omit it from the data.
        match json.get("type").as_str().unwrap_or(&event.name) {
            // Input tokens are reported here, output tokens in `message_delta`.
            "message_start" => events.extend(usage(json.get("message").get("usage"))),
            "content_block_start" => self.start_block(index, &json, &event.text, events),
            "content_block_delta" => self.extend_block(index, json.get("delta"), events),
            "content_block_stop" => self.stop_block(index, events),
            "message_delta" => self.accept_message_delta(&json, events),
            "message_stop" => self.stop(events),
            "error" => self.fail(&json, events),
            // Gateways send errors without a type.
            _ if !json.get("error").is_null() => self.fail(&json, events),
            _ => {}
        }
        // A call that exceeds the limit must not be returned, even if it is complete.
        if self.bytes_held > MAX_HELD_BYTES {
            self.held = None;
            self.abandon(events);
            events.push(StreamEvent::Error(failure::too_large()));
        }
        Ok(())
    }

    /// Bytes buffered until they are complete.
    pub(crate) fn bytes_held(&self) -> usize {
        self.bytes_held
    }

    /// Closes open blocks because the answer failed.
    ///
    /// A call counts only if its block stopped and its arguments are complete.
    pub(crate) fn abandon(&mut self, events: &mut Vec<StreamEvent>) {
        self.close_thinking(events);
        self.held = None;
    }

    fn start_block(
        &mut self,
        index: u64,
        json: &Value<'_>,
        raw: &str,
        events: &mut Vec<StreamEvent>,
    ) {
        // A new block ends the previous one, even if its stop event is missing.
        self.close_thinking(events);
        self.release_held(events);
        self.bytes_held += raw.len();
        let block = json.get("content_block");
        match block.get("type").as_str().unwrap_or_default() {
            "text" => push_text(events, block.get("text"), StreamEvent::Text),
            "thinking" => {
                let thinking = Block::Thinking {
                    signature: text_of(block.get("signature")),
                    shown: false,
                };
                self.open.insert(index, thinking);
                self.think(index, block.get("thinking"), events);
            }
            // Arrives whole in its start event; no deltas follow.
            "redacted_thinking" => {
                push_text(events, block.get("data"), StreamEvent::RedactedThinking)
            }
            "tool_use" => self.start_call(index, block, raw, events),
            _ => {}
        }
    }

    fn start_call(
        &mut self,
        index: u64,
        block: &Value<'_>,
        raw: &str,
        events: &mut Vec<StreamEvent>,
    ) {
        let call = ToolUse {
            id: text_of(block.get("id")),
            name: text_of(block.get("name")),
            input: start_input(raw),
        };
        let name = call.name.clone();
        // Reported before the arguments, which may take long to stream.
        events.push(StreamEvent::ToolUseStart { name });
        self.open.insert(index, Block::ToolUse(call));
    }

    fn extend_block(&mut self, index: u64, delta: &Value<'_>, events: &mut Vec<StreamEvent>) {
        match delta.get("type").as_str().unwrap_or_default() {
            "text_delta" => {
                self.close_thinking(events);
                push_text(events, delta.get("text"), StreamEvent::Text);
            }
            "thinking_delta" => self.think(index, delta.get("thinking"), events),
            "signature_delta" => {
                // The signature follows the last thinking delta, just before the block stops.
                if let Some(Block::Thinking { signature, .. }) = self.open.get_mut(&index) {
                    let more = delta.get("signature").as_str().unwrap_or_default();
                    signature.push_str(more);
                    self.bytes_held += more.len();
                }
            }
            "input_json_delta" => {
                if let Some(Block::ToolUse(call)) = self.open.get_mut(&index) {
                    let more = delta.get("partial_json").as_str().unwrap_or_default();
                    call.input.push_str(more);
                    self.bytes_held += more.len();
                }
            }
            _ => {}
        }
    }

    fn think(&mut self, index: u64, text: &Value<'_>, events: &mut Vec<StreamEvent>) {
        if let Some(Block::Thinking { shown, .. }) = self.open.get_mut(&index) {
            *shown |= text.as_str().is_some_and(|text| !text.is_empty());
            push_text(events, text, StreamEvent::Thinking);
        }
    }

    fn stop_block(&mut self, index: u64, events: &mut Vec<StreamEvent>) {
        match self.open.remove(&index) {
            Some(Block::Thinking { signature, shown }) => {
                let signature = Some(signature).filter(|signature| !signature.is_empty());
                // Empty thinking without a signature could not be sent back.
                if shown || signature.is_some() {
                    events.push(StreamEvent::ThinkingEnd { signature });
                }
            }
            Some(Block::ToolUse(call)) => {
                self.release_held(events);
                let is_whole = whole_object(&call.input).is_some();
                self.held = Some(call);
                // Complete arguments need no stop reason to prove that.
                if is_whole {
                    self.release_held(events);
                }
            }
            None => {}
        }
    }

    fn accept_message_delta(&mut self, json: &Value<'_>, events: &mut Vec<StreamEvent>) {
        if let Some(reason) = word(json.get("delta").get("stop_reason")) {
            // Under any other reason the arguments of the last call may be cut.
            if !GOOD.contains(&reason.as_str()) {
                self.held = None;
            }
            self.stop_reason = Some(reason);
            self.release_held(events);
        }
        // These counts are cumulative, so they replace those of `message_start`.
        events.extend(usage(json.get("usage")));
    }

    fn stop(&mut self, events: &mut Vec<StreamEvent>) {
        self.close_thinking(events);
        self.release_held(events);
        events.push(StreamEvent::Stop(
            match self.stop_reason.take().as_deref() {
                // Compatible servers leave the reason out.
                Some("tool_use") | None if self.called => StopReason::ToolUse,
                None => StopReason::EndTurn,
                Some(good) if GOOD.contains(&good) => StopReason::EndTurn,
                Some("max_tokens") => StopReason::MaxTokens,
                Some("model_context_window_exceeded") => StopReason::ContextFull,
                Some("refusal" | "sensitive") => StopReason::Refusal,
                Some(other) => StopReason::Other(other.to_owned()),
            },
        ));
    }

    fn fail(&mut self, json: &Value<'_>, events: &mut Vec<StreamEvent>) {
        self.abandon(events);
        events.push(StreamEvent::Error(failure::reported_in(json)));
    }

    fn release_held(&mut self, events: &mut Vec<StreamEvent>) {
        if let Some(call) = self.held.take() {
            self.called = true;
            events.push(StreamEvent::ToolUse(call));
        }
    }

    /// Closes thinking whose block did not stop; its signature may be cut.
    fn close_thinking(&mut self, events: &mut Vec<StreamEvent>) {
        self.open.retain(|_, block| match block {
            Block::Thinking { shown, .. } => {
                if *shown {
                    events.push(StreamEvent::ThinkingEnd { signature: None });
                }
                false
            }
            // An open call is incomplete; it stays until its block stops.
            Block::ToolUse(_) => true,
        });
    }
}

/// Returns the arguments at the start of a block, for servers that send no deltas.
/// Anthropic sends an empty object there.
fn start_input(raw: &str) -> String {
    let start = serde_json::from_str::<Start<'_>>(raw).ok();
    let input = start.map(|start| start.content_block.input.get());
    let has_fields = |input: &&str| {
        serde_json::from_str::<serde_json::Map<_, _>>(input).is_ok_and(|map| !map.is_empty())
    };
    input.filter(has_fields).unwrap_or_default().to_owned()
}

fn text_of(value: &Value<'_>) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn push_text(events: &mut Vec<StreamEvent>, text: &Value<'_>, event: fn(String) -> StreamEvent) {
    let text = text_of(text);
    if !text.is_empty() {
        events.push(event(text));
    }
}

fn usage(usage: &Value<'_>) -> Option<StreamEvent> {
    let usage = Usage {
        input: usage.get("input_tokens").as_u64(),
        output: usage.get("output_tokens").as_u64(),
        thoughts: usage
            .get("output_tokens_details")
            .get("thinking_tokens")
            .as_u64(),
        cache_read: usage.get("cache_read_input_tokens").as_u64(),
        cache_creation: usage.get("cache_creation_input_tokens").as_u64(),
    };
    (usage != Usage::default()).then_some(StreamEvent::Usage(usage))
}
