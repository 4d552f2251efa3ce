//! Any bytes in any chunks give the same events and exactly one end, without a panic.

use proptest::prelude::*;
use provider::{Decoder, Failure, Protocol, StreamEvent};
use serde_json::json;

const PROTOCOLS: [Protocol; 4] = [
    Protocol::AnthropicMessages,
    Protocol::ChatCompletions,
    Protocol::Gemini,
    Protocol::Responses,
];

fn decode(protocol: Protocol, bytes: &[u8], cuts: &[usize]) -> Vec<StreamEvent> {
    let mut decoder = Decoder::new(protocol);
    let mut events = Vec::new();
    let mut start = 0;
    for &end in cuts.iter().chain([&bytes.len()]) {
        events.extend(decoder.push(&bytes[start..end]));
        start = end;
    }
    events.extend(decoder.finish());
    events
}

/// Returns true if thinking ends before any other event.
fn thinking_is_closed(events: &[StreamEvent]) -> bool {
    let said: Vec<&StreamEvent> = events
        .iter()
        .filter(|event| !matches!(event, StreamEvent::Usage(_) | StreamEvent::Remark(_)))
        .collect();
    said.windows(2).all(|pair| {
        let goes_on = matches!(
            pair[1],
            StreamEvent::Thinking(_) | StreamEvent::ThinkingEnd { .. }
        );
        goes_on || !matches!(pair[0], StreamEvent::Thinking(_))
    })
}

fn check(bytes: &[u8], cuts: &[prop::sample::Index]) -> Result<(), TestCaseError> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    cuts.sort_unstable();
    for protocol in PROTOCOLS {
        let whole = decode(protocol, bytes, &[]);
        let ends = whole.iter().filter(|event| event.is_terminal()).count();

        prop_assert!(thinking_is_closed(&whole), "{whole:?}");
        prop_assert_eq!(ends, 1);
        prop_assert!(whole.last().unwrap().is_terminal());
        prop_assert_eq!(decode(protocol, bytes, &cuts), whole);
    }
    Ok(())
}

/// JSON values that a protocol could mistake for something else.
fn value() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "null", "0", "-1", "1e9", "true", "\"\"", "\"a\"", "\"ä🦀\"", "{}", "[]", "\"{\"", "\"}\"",
        "\"tool_use\"", "\"thinking\"", "\"text\"", "\"stop\"", "\"length\"", "\"max_tokens\"",
        r#"{"type":"tool_use","id":"a","name":"b"}"#, r#"{"type":"thinking","thinking":"a"}"#,
        r#"{"type":"input_json_delta","partial_json":"{"}"#, r#"{"type":"thinking_delta","thinking":"b"}"#,
        r#"[{"delta":{"content":"a"}}]"#, r#"[{"delta":{"reasoning":"a"},"finish_reason":null}]"#,
        r#"[{"delta":{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{}"}}]}}]"#,
        r#"[{"delta":{"tool_calls":[{"id":"x","function":{"arguments":"{"}}]},"finish_reason":"length"}]"#,
        r#"[{"content":{"parts":[{"text":"a","thought":true},{"text":"b","thoughtSignature":"s"}]}}]"#,
        r#"[{"content":{"parts":[{"functionCall":{"name":"a","args":{"b":1}}}]},"finishReason":"STOP"}]"#,
        r#"[{"finishReason":"SAFETY"}]"#, r#"[{"content":{"parts":[{"functionCall":[]}]}}]"#,
        r#"{"type":"function_call","call_id":"x","name":"b","arguments":"{}"}"#, r#"{"type":"reasoning","id":"r","encrypted_content":"e"}"#,
        r#"{"type":"function_call","id":"y","arguments":"{"}"#, r#"{"output":[{"type":"message","content":[{"text":"t"}]}]}"#,
        r#"[{"finish_reason":"stop"}]"#, r#"{"message":"broken"}"#, r#"{"stop_reason":"max_tokens"}"#,
    ])
    .prop_map(str::to_owned)
}

/// An event that resembles those of the protocols.
fn event() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "error",
        "ping",
        "novelty",
        "response.output_text.delta",
        "response.reasoning_summary_text.delta",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.output_item.done",
        "response.completed",
        "response.incomplete",
    ]);
    let field = prop::sample::select(vec![
        "index",
        "delta",
        "content_block",
        "message",
        "usage",
        "error",
        "choices",
        "candidates",
        "promptFeedback",
        "object",
        "item",
        "response",
    ]);
    let fields = prop::collection::vec((field, value()), 0..4);
    (name, fields, "\r\n|\n|\r").prop_map(|(name, fields, end)| {
        let fields: String = fields
            .into_iter()
            .map(|(field, value)| format!(",\"{field}\":{value}"))
            .collect();
        format!("data: {{\"type\":\"{name}\"{fields}}}{end}{end}")
    })
}

proptest! {
    #[test]
    fn any_bytes_give_the_same_events_in_any_chunks(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        check(&bytes, &cuts)?;
    }

    #[test]
    fn malformed_streams_give_the_same_events_in_any_chunks(
        events in prop::collection::vec(event(), 0..12),
        done in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut stream = events.concat();
        if done {
            stream.push_str("data: [DONE]\n\n");
        }
        check(stream.as_bytes(), &cuts)?;
    }
}

// Which events count as growth of an answer, and which only keep the connection alive.

/// Checks whether each of these events counts as growth, after the first one of a stream.
#[track_caller]
fn check_growth(protocol: Protocol, events: &[(&str, bool)]) {
    let mut decoder = Decoder::new(protocol);
    drop(decoder.push(b"data: {\"type\": \"novelty\"}\n\n"));
    assert!(decoder.take_growth(), "the first event is growth");
    for (event, says) in events {
        drop(decoder.push(format!("{event}\n\n").as_bytes()));
        assert_eq!(decoder.take_growth(), *says, "{protocol:?}: {event}");
        assert!(!decoder.take_growth(), "growth is reported once");
    }
}

#[test]
fn comments_are_no_growth() {
    for protocol in [
        Protocol::AnthropicMessages,
        Protocol::ChatCompletions,
        Protocol::Gemini,
        Protocol::Responses,
    ] {
        check_growth(
            protocol,
            &[
                (": keep-alive", false),
                ("", false),
                ("event: ping", false),
                ("data: {}", false),
            ],
        );
    }
}

#[test]
fn pings_are_no_growth_and_pieces_of_calls_are() {
    let start = r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"bash","input":{}}}"#;
    let piece = r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}"#;
    let empty = r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}"#;
    let figures = r#"data: {"type":"message_delta","delta":{},"usage":{"output_tokens":1}}"#;
    check_growth(
        Protocol::AnthropicMessages,
        &[
            ("event: ping\ndata: {\"type\":\"ping\"}", false),
            (start, true),
            (piece, true),
            (empty, false),
            (figures, false),
        ],
    );
}

#[test]
fn empty_deltas_are_no_growth() {
    check_growth(
        Protocol::ChatCompletions,
        &[
            (
                r#"data: {"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
                false,
            ),
            (r#"data: {"choices":[{"delta":{"content":"a"}}]}"#, true),
            (
                r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":""}}]}}]}"#,
                true,
            ),
            (
                r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}"#,
                true,
            ),
            (r#"data: {"choices":[],"usage":{"prompt_tokens":1}}"#, false),
        ],
    );
}

#[test]
fn states_of_a_response_are_no_growth() {
    check_growth(
        Protocol::Responses,
        &[
            (r#"data: {"type":"response.in_progress"}"#, false),
            (r#"data: {"type":"keepalive"}"#, false),
            (
                r#"data: {"type":"response.output_text.delta","delta":"a"}"#,
                true,
            ),
            (
                r#"data: {"type":"response.function_call_arguments.delta","delta":"{"}"#,
                true,
            ),
        ],
    );
}

#[test]
fn a_failed_answer_knows_whether_the_failure_is_temporary() {
    let error = |kind: &str| {
        let error = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"m"}}}}"#);
        format!("event: error\ndata: {error}\n\n")
    };
    let text = r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"overloaded_error"}}"#;
    for (stream, passes) in [
        (error("overloaded_error"), true),
        (error("invalid_request_error"), false),
        (format!("{text}\n\n"), false),
        (format!("{text}\n\n{}", error("api_error")), true),
    ] {
        let mut decoder = Decoder::new(Protocol::AnthropicMessages);
        drop(decoder.push(stream.as_bytes()));
        assert_eq!(decoder.failure() != Failure::Final, passes, "{stream}");
    }
}

// Limits on the bytes of one call: enough for a large file, but bounded.

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

const WITH_LONG_CALLS: [Protocol; 2] = [Protocol::AnthropicMessages, Protocol::ChatCompletions];

#[test]
fn a_call_of_four_megabytes_arrives_whole() {
    for protocol in WITH_LONG_CALLS {
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
    for protocol in WITH_LONG_CALLS {
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
