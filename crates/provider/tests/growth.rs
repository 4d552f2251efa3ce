//! Which events count as growth of an answer, and which only keep the connection alive.

use provider::{Decoder, Failure, Protocol};

/// Checks whether each of these events counts as growth, after the first one of a stream.
#[track_caller]
fn check(protocol: Protocol, events: &[(&str, bool)]) {
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
        check(
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
    check(
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
    check(
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
    check(
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
