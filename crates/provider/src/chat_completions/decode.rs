//! Decoder for the event stream of `POST /chat/completions`.
//!
//! Lenient: a field that is missing or of another type counts as absent.

use std::mem;

use serde_json_borrow::Value;

use super::calls::Calls;
use super::details::{self, Detail};
use crate::{
    StopReason, StreamEvent, Usage,
    arguments::MAX_HELD_BYTES,
    failure::{self, NotJson},
    fields::{text, word},
    providers::dialects::Returns,
    sse::SseEvent,
};

/// Finish reasons documented for complete answers: those of OpenAI, Together (`eos`), Text
/// Generation Inference (`eos_token`, `stop_sequence`), and gateways to Anthropic
/// (`end_turn`).
const GOOD: [&str; 7] = [
    "stop",
    "tool_calls",
    "function_call",
    "eos",
    "eos_token",
    "end_turn",
    "stop_sequence",
];

/// Decoder state of one streamed answer.
#[derive(Debug, Default)]
pub(crate) struct StreamReader {
    /// Whether thinking was returned and not closed yet.
    thinks: bool,
    /// The form in which thinking is sent back; only then is it marked with a signature.
    returns: Returns,
    /// Details that were not written into a signature yet.
    details: Vec<Detail>,
    /// Bytes of all details.
    bytes_thought: usize,
    calls: Calls,
    /// The model refused in its text; the finish reason does not report it.
    refused: bool,
    /// Why the answer is complete. Usage still follows it, then `[DONE]`.
    stop: Option<StopReason>,
}

impl StreamReader {
    /// Creates a reader for a provider that takes its thinking back in this way.
    pub(crate) fn of(returns: Returns) -> Self {
        Self {
            returns,
            ..Self::default()
        }
    }

    /// Reads one event.
    pub(crate) fn accept(
        &mut self,
        event: &SseEvent,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), NotJson> {
        let Ok(json) = serde_json::from_str::<Value<'_>>(&event.text) else {
            return self.accept_foreign(event, events);
        };
        let choice = json.get("choices").get(0);
        if let Some(failed) = failure_in(&json, choice, &event.name) {
            self.fail(failed, events);
            return Ok(());
        }
        self.accept_delta(choice.get("delta"), events);
        if let Some(reason) = word(choice.get("finish_reason")) {
            self.complete(&reason, events);
        }
        // With `include_usage`, the usage comes last, in an event without choices.
        events.extend(usage(json.get("usage")));
        if self.calls.bytes_held + self.bytes_thought > MAX_HELD_BYTES {
            // Dropped first, because `abandon` would return calls that are complete.
            self.calls = Calls::default();
            self.abandon(events);
            events.push(StreamEvent::Error(failure::too_large()));
        }
        Ok(())
    }

    /// Bytes buffered until they are complete.
    pub(crate) fn bytes_held(&self) -> usize {
        self.calls.bytes_held + self.bytes_thought
    }

    /// Closes open thinking and calls because the answer failed.
    pub(crate) fn abandon(&mut self, events: &mut Vec<StreamEvent>) {
        // Incomplete details are not a valid signature.
        self.details.clear();
        self.close_thinking(events);
        events.extend(self.calls.take_whole());
    }

    /// Ends the answer if its finish reason has arrived, because `[DONE]` is often missing.
    pub(crate) fn end(&mut self, events: &mut Vec<StreamEvent>) {
        if let Some(stop) = self.stop.take() {
            // Some servers send the rest of the thinking after the finish reason.
            self.close_thinking(events);
            events.push(StreamEvent::Stop(stop));
        }
    }

    fn accept_foreign(
        &mut self,
        event: &SseEvent,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), NotJson> {
        match event.text.trim() {
            "" => {}
            "[DONE]" => {
                // `[DONE]` without a finish reason still ends a complete answer.
                if self.stop.is_none() && self.calls.are_whole() {
                    self.complete("stop", events);
                }
                self.end(events);
            }
            text if event.name == "error" => {
                self.abandon(events);
                events.push(StreamEvent::Error(failure::reported(text)));
            }
            _ => return Err(NotJson),
        }
        Ok(())
    }

    fn accept_delta(&mut self, delta: &Value<'_>, events: &mut Vec<StreamEvent>) {
        self.think(delta, events);
        if let Some(text) = text(delta.get("content")) {
            self.close_thinking(events);
            events.push(StreamEvent::Text(text));
        }
        if let Some(text) = text(delta.get("refusal")) {
            self.close_thinking(events);
            self.refused = true;
            events.push(StreamEvent::Text(text));
        }
        for fragment in delta.get("tool_calls").as_array().into_iter().flatten() {
            self.close_thinking(events);
            self.calls.add(fragment, events);
        }
    }

    fn think(&mut self, delta: &Value<'_>, events: &mut Vec<StreamEvent>) {
        let details: Vec<serde_json::Value> = delta
            .get("reasoning_details")
            .as_array()
            .into_iter()
            .flatten()
            .map(Into::into)
            .collect();
        // DeepSeek and llama.cpp use `reasoning_content`, OpenRouter and vLLM `reasoning`.
        // Some servers send both with the same text.
        let thought = text(delta.get("reasoning_content"))
            .or(text(delta.get("reasoning")))
            .or(text(delta.get("thinking")))
            .or_else(|| Some(shown(&details)).filter(|it| !it.is_empty()));
        // Other servers do not accept the details back, so they need not be kept.
        if self.returns == Returns::Details {
            for piece in &details {
                self.bytes_thought += details::bytes(piece);
                details::add(&mut self.details, piece);
            }
        }
        if let Some(text) = thought {
            self.thinks = true;
            events.push(StreamEvent::Thinking(text));
        }
    }

    /// Returns the calls and stores the reason until the stream ends.
    fn complete(&mut self, reason: &str, events: &mut Vec<StreamEvent>) {
        self.close_thinking(events);
        let has_calls = !self.calls.is_empty();
        let is_good = GOOD.contains(&reason);
        let calls = match reason {
            // The token limit may have cut the last call.
            "length" | "model_length" => self.calls.take_all_but_last(),
            _ => self.calls.take_all(),
        };
        events.extend(calls);
        let stop = match reason {
            "length" => StopReason::MaxTokens,
            // Mistral's term for a full context.
            "model_length" => StopReason::ContextFull,
            "content_filter" => StopReason::Refusal,
            // Some servers also send "stop" after calls.
            _ if is_good && has_calls => StopReason::ToolUse,
            _ if is_good && self.refused => StopReason::Refusal,
            _ if is_good => StopReason::EndTurn,
            other => StopReason::Other(other.to_owned()),
        };
        // Some servers repeat the reason. A bad one takes precedence, then one that ended
        // calls.
        let is_bad = |stop: &StopReason| !matches!(stop, StopReason::ToolUse | StopReason::EndTurn);
        let replaces = match &self.stop {
            None => true,
            Some(before) => !is_bad(before) && (is_bad(&stop) || has_calls),
        };
        if replaces {
            self.stop = Some(stop);
        }
    }

    fn fail(&mut self, failed: &Value<'_>, events: &mut Vec<StreamEvent>) {
        self.abandon(events);
        events.push(StreamEvent::Error(failure::reported_in(failed)));
    }

    fn close_thinking(&mut self, events: &mut Vec<StreamEvent>) {
        let thinks = mem::take(&mut self.thinks);
        let signature = match self.returns {
            Returns::Never => None,
            // These servers sign nothing. An empty signature marks the thinking as theirs, so
            // that it is sent back to them only.
            Returns::Text => thinks.then(String::new),
            Returns::Details => details::signature(mem::take(&mut self.details)),
        };
        if thinks || signature.is_some() {
            events.push(StreamEvent::ThinkingEnd { signature });
        }
    }
}

/// Returns the thinking text in details.
fn shown(pieces: &[serde_json::Value]) -> String {
    pieces.iter().filter_map(details::text).collect()
}

/// Returns the object that reports an error, if any.
fn failure_in<'a>(json: &'a Value<'a>, choice: &'a Value<'a>, name: &str) -> Option<&'a Value<'a>> {
    let reports = |value: &Value<'_>| !value.get("error").is_null();
    if reports(json) || name == "error" || json.get("object").as_str() == Some("error") {
        return Some(json);
    }
    // OpenRouter reports an upstream's failure inside the choice.
    reports(choice).then_some(choice)
}

fn usage(usage: &Value<'_>) -> Option<StreamEvent> {
    let cached = usage
        .get("prompt_tokens_details")
        .get("cached_tokens")
        .as_u64()
        // DeepSeek's name.
        .or(usage.get("prompt_cache_hit_tokens").as_u64());
    let usage = Usage {
        input: usage
            .get("prompt_tokens")
            .as_u64()
            // This count includes the cached tokens; `Usage::input` does not.
            .map(|all| all.saturating_sub(cached.unwrap_or(0))),
        output: usage.get("completion_tokens").as_u64(),
        thoughts: usage
            .get("completion_tokens_details")
            .get("reasoning_tokens")
            .as_u64(),
        cache_read: cached,
        // The protocol does not report cache writes.
        cache_creation: None,
    };
    (usage != Usage::default()).then_some(StreamEvent::Usage(usage))
}
