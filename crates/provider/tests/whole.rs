//! A JSON answer to a request for a stream gives the events of an equivalent stream.
#![allow(clippy::unwrap_used)]

use provider::{Decoder, Protocol, StopReason, StreamEvent};
use serde_json::{Value, json};

const ANTHROPIC: Protocol = Protocol::AnthropicMessages;
const CHAT: Protocol = Protocol::ChatCompletions;
const GEMINI: Protocol = Protocol::Gemini;
const RESPONSES: Protocol = Protocol::Responses;

fn decode(protocol: Protocol, body: &str, piece: usize) -> Vec<StreamEvent> {
    let mut decoder = Decoder::new(protocol);
    let pieces = body.as_bytes().chunks(piece);
    let mut events: Vec<StreamEvent> = pieces.flat_map(|it| decoder.push(it)).collect();
    events.extend(decoder.finish());
    events
}

/// Formats the visible parts of an answer: text, thinking, calls, and end.
fn summary(events: &[StreamEvent]) -> String {
    let line = |event: &StreamEvent| match event {
        StreamEvent::Text(text) => format!("{text}|"),
        StreamEvent::Thinking(text) => format!("({text})|"),
        StreamEvent::ToolUse(call) => format!("{} {} {}|", call.name, call.id, call.input),
        StreamEvent::Usage(usage) => format!("{:?} {:?}|", usage.input, usage.output),
        StreamEvent::Stop(reason) => format!("{reason:?}"),
        StreamEvent::Error(problem) => format!("error: {}", problem.what),
        _ => String::new(),
    };
    events.iter().map(line).collect()
}

#[track_caller]
fn check(protocol: Protocol, body: &Value, expected: &str) {
    for spelled in [
        body.to_string(),
        serde_json::to_string_pretty(body).unwrap(),
    ] {
        for piece in [1, 7, spelled.len()] {
            assert_eq!(
                summary(&decode(protocol, &spelled, piece)),
                expected,
                "{spelled}"
            );
        }
    }
}

#[test]
fn an_answer_in_one_piece_is_decoded_on_every_protocol() {
    check(
        ANTHROPIC,
        &json!({"type": "message", "role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t_1", "name": "bash", "input": {"command": "ls"}},
        ], "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 4}}),
        "Some(3) Some(4)|(Hm.)|I look.|bash t_1 {\"command\":\"ls\"}|ToolUse",
    );
    check(
        CHAT,
        &json!({"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": "I look.", "tool_calls": [
                {"id": "t_1", "type": "function", "function": {"name": "bash", "arguments": "{\"a\":1}"}},
                {"id": "t_2", "type": "function", "function": {"name": "read", "arguments": "{}"}},
            ]}}], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
        "I look.|bash t_1 {\"a\":1}|read t_2 {}|Some(3) Some(4)|ToolUse",
    );
    let chunk = json!({"candidates": [{"content": {"parts": [{"text": "I see."}]},
        "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}});
    check(GEMINI, &chunk, "I see.|Some(3) Some(4)|EndTurn");
    let first = json!({"candidates": [{"content": {"parts": [{"text": "Well, "}]}}]});
    check(
        GEMINI,
        &json!([first, chunk]),
        "Well, |I see.|Some(3) Some(4)|EndTurn",
    );
    check(
        RESPONSES,
        &json!({"object": "response", "status": "completed", "error": null, "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "t_1", "name": "bash", "arguments": "{\"a\":1}"},
        ], "usage": {"input_tokens": 3, "output_tokens": 4}}),
        "I look.|bash t_1 {\"a\":1}|Some(3) Some(4)|ToolUse",
    );
}

#[test]
fn an_answer_in_one_piece_has_the_same_stop_reasons() {
    let chat = |reason: Value| json!({"choices": [{"message": {"content": "a"}, "finish_reason": reason}]});
    let end = |protocol, body: Value| decode(protocol, &body.to_string(), 64).pop().unwrap();
    let stop = StreamEvent::Stop;
    assert_eq!(end(CHAT, chat(json!("stop"))), stop(StopReason::EndTurn));
    assert_eq!(
        end(CHAT, chat(json!("length"))),
        stop(StopReason::MaxTokens)
    );
    let other = StopReason::Other("abort".to_owned());
    assert_eq!(end(CHAT, chat(json!("abort"))), stop(other));
    assert!(matches!(
        end(CHAT, chat(Value::Null)),
        StreamEvent::Error(_)
    ));
    let cut = json!({"content": [{"type": "text", "text": "a"}], "stop_reason": null});
    assert!(matches!(end(ANTHROPIC, cut), StreamEvent::Error(_)));
    let cut = json!({"status": "incomplete", "output": []});
    assert_eq!(end(RESPONSES, cut), stop(StopReason::MaxTokens));
}

#[test]
fn other_json_is_not_an_answer() {
    for protocol in [ANTHROPIC, CHAT, GEMINI, RESPONSES] {
        for body in [
            json!({"error": {"message": "no"}}),
            json!({"hello": "world"}),
            json!([]),
            json!("text"),
            json!(null),
            json!([1, [2]]),
            json!({"choices": {}, "content": 1, "candidates": "x", "output": null}),
            json!({"choices": [[]], "content": {}, "candidates": {}, "output": {}}),
        ] {
            let events = decode(protocol, &body.to_string(), 64);
            assert!(
                matches!(events.as_slice(), [StreamEvent::Error(_)]),
                "{events:?}"
            );
        }
    }
}

#[test]
fn a_large_answer_is_complete() {
    let text = "word ".repeat(100_000);
    let body = json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]});
    let events = decode(CHAT, &body.to_string(), 4096);
    assert_eq!(summary(&events), format!("{text}|EndTurn"));
}
