//! Converts an answer sent as one JSON document, although a stream was requested, to the
//! events of an equivalent stream.
//!
//! Servers without streaming and buffering proxies answer this way. Knows the four document
//! shapes but not their meaning.

use serde_json::{Value, json};

use crate::Protocol;

/// Returns the events of a complete answer, in the protocol's own JSON; `None` if the body
/// is not one.
pub(crate) fn events(protocol: Protocol, body: &str) -> Option<Vec<String>> {
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
        Protocol::Responses => responses(json)?,
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

fn responses(response: Value) -> Option<Vec<Value>> {
    response["output"].as_array()?;
    let kind = match response["status"].as_str() {
        Some("incomplete") => "response.incomplete",
        Some("failed" | "cancelled") => "response.failed",
        _ => "response.completed",
    };
    Some(vec![json!({"type": kind, "response": response})])
}
