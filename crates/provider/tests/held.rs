//! Limits on the bytes of one call: enough for a large file, but bounded.
#![allow(clippy::unwrap_used)]

use provider::{Decoder, Protocol, StreamEvent};
use serde_json::json;

const PIECE: usize = 64 * 1024;

/// Returns the events of a call whose arguments arrive in this number of pieces.
fn call(protocol: Protocol, pieces: usize) -> Vec<StreamEvent> {
    let mut decoder = Decoder::new(protocol);
    let mut events = Vec::new();
    let mut push = |value: serde_json::Value| {
        let kind = value["type"].as_str().map(|it| format!("event: {it}\n"));
        let line = format!("{}data: {value}\n\n", kind.unwrap_or_default());
        events.extend(decoder.push(line.as_bytes()));
    };
    let text = "x".repeat(PIECE);
    let arguments = std::iter::once("{\"content\":\"")
        .chain(std::iter::repeat_n(text.as_str(), pieces))
        .chain(["\"}"]);
    if protocol == Protocol::ChatCompletions {
        let delta = |delta, end: Option<&str>| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": end}]});
        let function = json!({"name": "write", "arguments": ""});
        push(delta(
            json!({"tool_calls": [{"index": 0, "id": "c", "function": function}]}),
            None,
        ));
        for piece in arguments {
            let function = json!({"arguments": piece});
            push(delta(
                json!({"tool_calls": [{"index": 0, "function": function}]}),
                None,
            ));
        }
        push(delta(json!({}), Some("tool_calls")));
        events.extend(decoder.push(b"data: [DONE]\n\n"));
    } else {
        let block = json!({"type": "tool_use", "id": "c", "name": "write", "input": {}});
        push(json!({"type": "message_start", "message": {"usage": {}}}));
        push(json!({"type": "content_block_start", "index": 0, "content_block": block}));
        for piece in arguments {
            let delta = json!({"type": "input_json_delta", "partial_json": piece});
            push(json!({"type": "content_block_delta", "index": 0, "delta": delta}));
        }
        push(json!({"type": "content_block_stop", "index": 0}));
        push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}}));
        push(json!({"type": "message_stop"}));
    }
    events.extend(decoder.finish());
    events
}

const PROTOCOLS: [Protocol; 2] = [Protocol::AnthropicMessages, Protocol::ChatCompletions];

#[test]
fn a_call_of_four_megabytes_arrives_whole() {
    for protocol in PROTOCOLS {
        let events = call(protocol, 64);
        let whole = events.iter().any(
            |event| matches!(event, StreamEvent::ToolUse(call) if call.input.len() > 64 * PIECE),
        );
        let last = events.last().unwrap();
        assert!(whole, "{protocol:?}: {last:?}");
        assert!(
            !matches!(last, StreamEvent::Error(_)),
            "{protocol:?}: {last:?}"
        );
    }
}

#[test]
fn a_call_of_more_than_sixteen_megabytes_ends_the_answer() {
    for protocol in PROTOCOLS {
        let events = call(protocol, 257);
        assert!(
            matches!(events.last(), Some(StreamEvent::Error(_))),
            "{protocol:?}"
        );
        let runs = events
            .iter()
            .any(|event| matches!(event, StreamEvent::ToolUse(_)));
        assert!(!runs, "{protocol:?}");
    }
}

#[test]
fn calls_with_arguments_in_one_event_count_too() {
    let mut decoder = Decoder::new(Protocol::AnthropicMessages);
    let mut events = Vec::new();
    let input = json!({"content": "x".repeat(16 * PIECE)});
    for index in 0..17 {
        let block = json!({"type": "tool_use", "id": "c", "name": "write", "input": input});
        let start = json!({"type": "content_block_start", "index": index, "content_block": block});
        let event = format!("event: content_block_start\ndata: {start}\n\n");
        events.extend(decoder.push(event.as_bytes()));
    }
    let fails = |event: &StreamEvent| matches!(event, StreamEvent::Error(_));
    assert!(events.iter().any(fails));
}

#[test]
fn a_signature_of_more_than_sixteen_megabytes_ends_the_answer() {
    let mut decoder = Decoder::new(Protocol::AnthropicMessages);
    let mut events = Vec::new();
    let mut push = |value: serde_json::Value| {
        let kind = value["type"].as_str().unwrap();
        let event = format!("event: {kind}\ndata: {value}\n\n");
        events.extend(decoder.push(event.as_bytes()));
    };
    let block = json!({"type": "thinking", "thinking": "", "signature": ""});
    push(json!({"type": "content_block_start", "index": 0, "content_block": block}));
    let delta = json!({"type": "signature_delta", "signature": "x".repeat(PIECE)});
    for _ in 0..257 {
        push(json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    }
    assert!(matches!(events.last(), Some(StreamEvent::Error(_))));
}
