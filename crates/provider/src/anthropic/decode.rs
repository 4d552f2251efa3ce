//! Decoder for the event stream of `POST /v1/messages`.
//!
//! Lenient: a field that is missing or of another type counts as absent, and unknown events
//! are skipped, unknown blocks with a remark.

use std::collections::BTreeMap;

use chat::server_tools::ExactBlock;
use chat::summary::SignedSummary;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json_borrow::Value;

use crate::content::{MAX_HELD_BYTES, whole_object};
use crate::event::{Meaning, meaning, word};
use crate::failure::{self, NotJson, not_json};
use crate::sse::SseEvent;
use crate::usage::UsageReader;
use crate::{StopReason, StreamEvent, ToolUse, content};

use super::exact::ExactReader;

/// The stop reason of an answer that goes on with the next request, which sends it back.
const PAUSE: &str = "pause_turn";

/// Decoder state of one streamed answer.
#[derive(Debug)]
pub(crate) struct StreamReader {
    /// Open blocks by index.
    open: BTreeMap<u64, Block>,
    /// The last call, if its block has stopped without complete arguments. It may have
    /// none, or the token limit may have cut it; only the stop reason, right after it,
    /// shows which.
    held: Option<ToolUse>,
    stop_reason: Option<String>,
    called: bool,
    /// True if the last block is a text, so that another text would look like more of it.
    is_after_text: bool,
    /// Remarks about dropped thinking.
    reported: Vec<String>,
    usage: UsageReader,
    /// The answer in the API's own form.
    exact: ExactReader,
    /// Bytes of blocks so far.
    bytes_held: usize,
}

#[derive(Debug)]
enum Block {
    Thinking {
        signature: String,
        /// True if any thinking was returned.
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

impl Default for StreamReader {
    fn default() -> Self {
        Self {
            open: BTreeMap::new(),
            held: None,
            stop_reason: None,
            called: false,
            is_after_text: false,
            reported: Vec::new(),
            usage: UsageReader::of_anthropic(),
            exact: ExactReader::default(),
            bytes_held: 0,
        }
    }
}

impl StreamReader {
    /// Makes this the reader of an answer that goes on after these blocks.
    pub(crate) fn go_on(&mut self, before: &[ExactBlock]) {
        self.exact.go_on(before);
    }

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
            // Gateways end with Chat Completions' mark, some of them with nothing else.
            if event.text.trim() == "[DONE]" && self.stop_reason.is_some() {
                self.stop(events);
            }
            return Ok(());
        };
        let index = json.get("index").as_u64().unwrap_or_default();
        // The `event:` line repeats the type, for servers that omit it from the data.
        match json.get("type").as_str().unwrap_or(&event.name) {
            "message_start" => {
                let message = json.get("message");
                self.report_dropped(message.get("input_transformations"), events);
            }
            "content_block_start" => self.start_block(index, &json, &event.text, events),
            "content_block_delta" => {
                self.bytes_held += self.exact.extend(index, json.get("delta"), &event.text);
                self.extend_block(index, json.get("delta"), events);
            }
            "content_block_stop" => self.stop_block(index, events),
            "message_delta" => self.accept_message_delta(&json, events),
            "message_stop" | "message_end" => self.stop(events),
            "error" => self.fail(&json, events),
            // Gateways send errors without a type.
            _ if !json.get("error").is_null() => self.fail(&json, events),
            _ => {}
        }
        self.usage.read(&json, events);
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
        if self.open.contains_key(&index) {
            self.stop_block(index, events);
        }
        self.release_held(events);
        self.bytes_held += raw.len();
        let block = json.get("content_block");
        let is_own = self.exact.start(index, block, raw, events);
        let is_text = block.get("type").as_str() == Some("text");
        let is_after_text = std::mem::take(&mut self.is_after_text);
        // A text with citations is in the middle of a sentence.
        if is_after_text && is_text && !self.exact.is_needed() {
            events.push(StreamEvent::TextEnd);
        }
        if !is_own {
            return;
        }
        match block.get("type").as_str().unwrap_or_default() {
            "text" => self.say(block.get("text"), events),
            "thinking" | "reasoning" => {
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
            // Arrives whole, too.
            "compaction" => {
                let summary = SignedSummary {
                    content: text_of(block.get("content")),
                    signature: text_of(block.get("signature")),
                };
                if !summary.content.trim().is_empty() {
                    events.push(StreamEvent::Summary(summary));
                }
            }
            "tool_use" => self.start_call(index, block, raw, events),
            "" => {}
            kind => events.push(failure::skipped(kind)),
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
                self.say(delta.get("text"), events);
            }
            "thinking_delta" => self.think(index, delta.get("thinking"), events),
            "signature_delta" => {
                // The signature follows the last thinking delta, just before the block stops.
                if let Some(Block::Thinking { signature, .. }) = self.open.get_mut(&index) {
                    let more = delta.get("signature").as_str().unwrap_or_default();
                    signature.push_str(more);
                }
            }
            "input_json_delta" => {
                if let Some(Block::ToolUse(call)) = self.open.get_mut(&index) {
                    let more = match delta.get("partial_json") {
                        // Some servers send the object itself.
                        whole @ Value::Object(_) => whole.to_string(),
                        piece => piece.as_str().unwrap_or_default().to_owned(),
                    };
                    call.input.push_str(&more);
                    self.bytes_held += more.len();
                }
            }
            // A part of the exact answer.
            "" | "citations_delta" => {}
            kind => events.push(failure::skipped(kind)),
        }
    }

    fn say(&mut self, text: &Value<'_>, events: &mut Vec<StreamEvent>) {
        push_text(events, text, StreamEvent::Text);
        self.is_after_text |= matches!(events.last(), Some(StreamEvent::Text(_)));
    }

    fn think(&mut self, index: u64, text: &Value<'_>, events: &mut Vec<StreamEvent>) {
        if let Some(Block::Thinking { shown, .. }) = self.open.get_mut(&index) {
            *shown |= !content::plain(text).is_empty();
            push_text(events, text, StreamEvent::Thinking);
        }
    }

    fn stop_block(&mut self, index: u64, events: &mut Vec<StreamEvent>) {
        self.exact.stop(index, events);
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

    /// Reports why earlier thinking was dropped, each reason once.
    fn report_dropped(&mut self, transformations: &Value<'_>, events: &mut Vec<StreamEvent>) {
        for entry in transformations.as_array().into_iter().flatten() {
            // Another type says that a block was shown although it failed a check.
            if entry.get("type").as_str() != Some("thinking_dropped") {
                continue;
            }
            let why = dropped(entry.get("reason").as_str().unwrap_or_default());
            if !self.reported.contains(&why) {
                events.push(StreamEvent::Remark(why.clone()));
                self.reported.push(why);
            }
        }
    }

    fn accept_message_delta(&mut self, json: &Value<'_>, events: &mut Vec<StreamEvent>) {
        // Another model may have taken over, which reads other thinking.
        self.report_dropped(json.get("input_transformations"), events);
        if let Some(reason) = word(json.get("delta").get("stop_reason")) {
            // Under any other reason the arguments of the last call may be cut.
            if meaning(&reason) != Some(Meaning::Complete) {
                self.held = None;
            }
            self.stop_reason = Some(reason);
            self.release_held(events);
        }
    }

    fn stop(&mut self, events: &mut Vec<StreamEvent>) {
        self.close_thinking(events);
        self.release_held(events);
        let reason = self.stop_reason.take();
        let meaning = match &reason {
            // Compatible servers leave the reason out.
            None => Some(Meaning::Complete),
            Some(reason) => meaning(reason),
        };
        match meaning {
            // A call of our own needs its result before the answer can go on.
            None if reason.as_deref() == Some(PAUSE) && self.exact.is_needed() && !self.called => {
                self.exact.pause(events);
                events.push(StreamEvent::Paused);
                return;
            }
            Some(Meaning::Complete) => self.exact.finish(events),
            // An answer that is cut off goes back as text.
            _ => {}
        }
        events.push(StreamEvent::Stop(match meaning {
            Some(Meaning::Complete) if self.called => StopReason::ToolUse,
            Some(Meaning::Complete) => StopReason::EndTurn,
            Some(Meaning::TokenLimit) => StopReason::MaxTokens,
            Some(Meaning::ContextFull) => StopReason::ContextFull,
            Some(Meaning::Refused) => StopReason::Refusal,
            None => StopReason::Other(reason.unwrap_or_default()),
        }));
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

/// Describes why the API dropped thinking of earlier answers.
///
/// Source: `BetaThinkingDroppedInputTransformation` in Anthropic's SDK, version 2.14.
fn dropped(reason: &str) -> String {
    let why = match reason {
        "prefix_binding_mismatch" => "something before it has changed since it was sent",
        "model_binding_mismatch" => {
            "this model cannot read the thinking of the model that wrote it"
        }
        "organization_binding_mismatch" => "it was written for another account",
        "end_user_binding_mismatch" => "it was written for another user",
        "" => "it is not valid here",
        other => return format!("Anthropic left out the model's earlier thinking ({other})."),
    };
    format!("Anthropic left out the model's earlier thinking, because {why}.")
}

/// Returns the arguments at the start of a block, for servers that send no deltas.
/// Anthropic sends an empty object there.
fn start_input(raw: &str) -> String {
    let start = serde_json::from_str::<Start<'_>>(raw).ok();
    let input = start.map(|start| start.content_block.input.get());
    let has_fields = |input: &&str| {
        let is_empty = serde_json::from_str::<serde_json::Map<_, _>>(input).map(|it| it.is_empty());
        // An object that is encoded as a string counts too; the decoder unwraps it.
        is_empty.map_or(input.len() > 2 && input.starts_with('"'), |it| !it)
    };
    input.filter(has_fields).unwrap_or_default().to_owned()
}

fn text_of(value: &Value<'_>) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn push_text(events: &mut Vec<StreamEvent>, text: &Value<'_>, event: fn(String) -> StreamEvent) {
    let text = content::plain(text);
    if !text.is_empty() {
        events.push(event(text));
    }
}
