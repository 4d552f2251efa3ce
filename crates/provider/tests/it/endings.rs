//! Stop reasons on every protocol: only the documented good endings are good.

use chat::summary::SignedSummary;
use proptest::prelude::*;
use provider::{
    Decoder, Endpoint, Feature, Parameters, Protocol, ServerRefusal, StopReason, StreamEvent,
    Usage, explain, refusal,
};
use serde_json::{Value, json};

const PROTOCOLS: [Protocol; 4] = [
    Protocol::AnthropicMessages,
    Protocol::ChatCompletions,
    Protocol::Gemini,
    Protocol::Responses,
];

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Good,
    TokenLimit,
    Bad,
}

/// Returns the stream of an answer with a complete call that ends for `reason`.
fn stream(protocol: Protocol, reason: &Value) -> String {
    let events = match protocol {
        Protocol::AnthropicMessages => vec![
            json!({"type": "content_block_start", "index": 0, "content_block":
                {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "ls"}}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": reason}}),
            json!({"type": "message_stop"}),
        ],
        Protocol::ChatCompletions => vec![
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "t",
                "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}}]}}]}),
            json!({"choices": [{"delta": {}, "finish_reason": reason}]}),
        ],
        Protocol::Gemini => vec![json!({"candidates": [{"content": {"parts": [
                {"functionCall": {"name": "bash", "args": {"command": "ls"}}}]},
                "finishReason": reason}]})],
        Protocol::Responses => vec![
            json!({"type": "response.output_item.done", "output_index": 0, "item":
                {"type": "function_call", "call_id": "t", "name": "bash",
                 "arguments": "{\"command\":\"ls\"}"}}),
            // The status tells how it ended; `incomplete_details` only tells why.
            match reason.as_str() {
                Some("completed") => json!({"type": "response.completed",
                    "response": {"status": "completed"}}),
                _ => json!({"type": "response.incomplete", "response":
                    {"status": "incomplete", "incomplete_details": {"reason": reason}}}),
            },
        ],
    };
    let events = events.iter().map(|event| format!("data: {event}\n\n"));
    events.collect()
}

fn ending(protocol: Protocol, stream: &str) -> Ending {
    let mut decoder = Decoder::new(protocol);
    let mut events = decoder.push(stream.as_bytes());
    events.extend(decoder.finish());
    match events.last().unwrap() {
        StreamEvent::Stop(StopReason::EndTurn | StopReason::ToolUse) => Ending::Good,
        StreamEvent::Stop(StopReason::MaxTokens) => Ending::TokenLimit,
        StreamEvent::Stop(_) | StreamEvent::Error(_) => Ending::Bad,
        other => panic!("{other:?} is not an end"),
    }
}

/// Words of complete answers that gateways pass on in any protocol.
const GOOD: [&str; 16] = [
    "stop",
    "tool_calls",
    "tool_call",
    "function_call",
    "eos",
    "eos_token",
    "end_turn",
    "stop_sequence",
    "tool_use",
    "complete",
    "completed",
    "COMPLETE",
    "TOOL_CALL",
    "STOP_SEQUENCE",
    "STOP",
    "FUNCTION_CALL",
];

/// Words of a token limit.
const LIMITS: [&str; 5] = [
    "length",
    "max_tokens",
    "MAX_TOKENS",
    "max_output_tokens",
    "max_completion_tokens",
];

/// Returns the good stop reasons of a protocol, and those for a token limit.
fn words(protocol: Protocol) -> (&'static [&'static str], &'static [&'static str]) {
    match protocol {
        // The status decides; the reason only tells why an answer is incomplete.
        Protocol::Responses => (&["completed"], &LIMITS),
        Protocol::AnthropicMessages | Protocol::ChatCompletions | Protocol::Gemini => {
            (&GOOD, &LIMITS)
        }
    }
}

#[track_caller]
fn check(protocol: Protocol, reason: &Value) {
    let (good, limits) = words(protocol);
    let word = reason.as_str().unwrap_or_default();
    let expected = match word {
        word if good.contains(&word) => Ending::Good,
        word if limits.contains(&word) => Ending::TokenLimit,
        _ => Ending::Bad,
    };
    let stream = stream(protocol, reason);
    assert_eq!(ending(protocol, &stream), expected, "{protocol:?} {reason}");
}

#[test]
fn the_documented_endings_are_known_on_every_protocol() {
    for protocol in PROTOCOLS {
        let (good, limits) = words(protocol);
        let known = good.iter().chain(limits);
        known.for_each(|word| check(protocol, &json!(word)));
    }
}

#[test]
fn the_last_event_needs_no_blank_line() {
    for protocol in PROTOCOLS {
        let (good, _) = words(protocol);
        let stream = stream(protocol, &json!(good[0]));
        assert_eq!(ending(protocol, stream.trim_end()), Ending::Good);
        let cut = &stream.trim_end()[..stream.trim_end().len() - 1];
        assert_eq!(ending(protocol, cut), Ending::Bad);
    }
}

#[test]
fn other_reasons_are_not_good_endings() {
    let words = [
        "error",
        "abort",
        "cancelled",
        "insufficient_system_resource",
        "network_error",
        "pause_turn",
        "content_filter",
        "model_length",
        "refusal",
        "SAFETY",
        "OTHER",
        "Stop",
        "unknown",
    ];
    for protocol in PROTOCOLS {
        words.iter().for_each(|word| check(protocol, &json!(word)));
        // A reason of another type counts as unknown.
        for odd in [
            json!({"type": "error"}),
            json!(["stop"]),
            json!(false),
            json!(7),
        ] {
            check(protocol, &odd);
        }
    }
}

/// Returns the stream of an answer that stops during thinking.
fn thinking(protocol: Protocol) -> String {
    let events = match protocol {
        Protocol::AnthropicMessages => vec![
            json!({"type": "content_block_start", "index": 0, "content_block":
                {"type": "thinking", "thinking": "", "signature": "cut"}}),
            json!({"type": "content_block_delta", "index": 0, "delta":
                {"type": "thinking_delta", "thinking": "Hm"}}),
        ],
        Protocol::ChatCompletions => {
            vec![json!({"choices": [{"delta": {"reasoning_content": "Hm"}}]})]
        }
        Protocol::Gemini => vec![json!({"candidates": [{"content": {"parts": [
            {"thought": true, "text": "Hm"}]}}]})],
        Protocol::Responses => vec![json!({"type": "response.reasoning_summary_text.delta",
            "output_index": 0, "summary_index": 0, "delta": "Hm"})],
    };
    let events = events.iter().map(|event| format!("data: {event}\n\n"));
    events.collect()
}

#[test]
fn an_answer_that_fails_during_thinking_closes_the_thinking() {
    for protocol in PROTOCOLS {
        for end in [
            "",
            "data: <html>\n\n",
            "event: error\ndata: overloaded\n\n",
            "data: {\"type\": \"error\", \"error\": {\"message\": \"overloaded\"}}\n\n",
        ] {
            let mut decoder = Decoder::new(protocol);
            let mut events = decoder.push((thinking(protocol) + end).as_bytes());
            events.extend(decoder.finish());
            let [first, second, last] = events.as_slice() else {
                panic!("{protocol:?} {end:?}: {events:?}");
            };
            assert_eq!(*first, StreamEvent::Thinking("Hm".to_owned()));
            assert_eq!(*second, StreamEvent::ThinkingEnd { signature: None });
            assert!(matches!(last, StreamEvent::Error(_)), "{last:?}");
        }
    }
}

#[test]
fn a_later_reason_does_not_replace_a_bad_one() {
    let reason = |word: &str| {
        format!(
            "data: {}\n\n",
            json!({"choices": [{"delta": {"content": "a"}, "finish_reason": word}]})
        )
    };
    for (first, second) in [
        ("error", "stop"),
        ("stop", "error"),
        ("abort", "tool_calls"),
    ] {
        let stream = reason(first) + &reason(second);
        assert_eq!(
            ending(Protocol::ChatCompletions, &stream),
            Ending::Bad,
            "{stream}"
        );
    }
}

#[test]
fn an_end_mark_does_not_complete_a_partial_call() {
    let stream = |arguments: &str, reason: Value| {
        let call = json!({"id": "t", "function": {"name": "bash", "arguments": arguments}});
        let choice = json!({"delta": {"tool_calls": [call]}, "finish_reason": reason});
        format!("data: {}\n\ndata: [DONE]\n\n", json!({"choices": [choice]}))
    };
    for (arguments, reason, expected) in [
        ("{}", Value::Null, Ending::Good),
        ("{\"a\"", Value::Null, Ending::Bad),
        ("{\"a\"", json!("length"), Ending::TokenLimit),
        ("{\"a\"", json!("max_tokens"), Ending::TokenLimit),
    ] {
        let stream = stream(arguments, reason);
        assert_eq!(
            ending(Protocol::ChatCompletions, &stream),
            expected,
            "{stream}"
        );
    }
}

#[test]
fn a_completed_event_with_another_status_is_not_complete() {
    for (status, expected) in [
        ("completed", Ending::Good),
        ("incomplete", Ending::TokenLimit),
        ("failed", Ending::Bad),
        ("cancelled", Ending::Bad),
    ] {
        let event = json!({"type": "response.completed", "response": {"status": status}});
        let found = ending(Protocol::Responses, &format!("data: {event}\n\n"));
        assert_eq!(found, expected, "{status}");
    }
}

proptest! {
    #[test]
    fn no_undocumented_reason_is_a_good_ending(word in "[a-zA-Z_ ]{1,20}") {
        for protocol in PROTOCOLS {
            let (good, limits) = words(protocol);
            // An unspecified reason counts as absent, and blanks around a reason are
            // ignored.
            let known = good.contains(&word.trim()) || limits.contains(&word.trim());
            if !known && !word.trim().is_empty() {
                check(protocol, &json!(word));
            }
        }
    }
}

/// Some servers keep a connection alive with empty events.
#[test]
fn an_event_without_text_does_not_end_a_chat_completion() {
    let mut decoder = Decoder::new(Protocol::ChatCompletions);
    let mut events = decoder.push(b"data: \n\ndata:\n\n");
    let delta = r#"data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    events.extend(decoder.push(format!("{delta}\n\ndata: \n\ndata: {{\"usa").as_bytes()));
    // A cut after the end of the answer loses nothing.
    events.extend(decoder.finish());
    assert!(
        matches!(events.last(), Some(StreamEvent::Stop(_))),
        "{events:?}"
    );
}

// Errors that another request avoids.

fn endpoint(protocol: Protocol) -> Endpoint {
    Endpoint {
        provider: "anthropic".to_owned(),
        protocol,
        base_url: "https://gateway.example/anthropic".to_owned(),
        api_key: None,
        key_source: String::new(),
        ca_file: None,
    }
}

fn refused(message: &str, parameters: &Parameters) -> Option<ServerRefusal> {
    let body = serde_json::json!({"type": "error", "error": {"message": message}}).to_string();
    let endpoint = endpoint(Protocol::AnthropicMessages);
    refusal(&endpoint, parameters, 400, body.as_bytes())
}

const BOUND: &str = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".";

#[test]
fn a_feature_that_the_error_names_is_left_out() {
    use Feature::{BlockBinding, SystemMessages, ToolChanges};
    for (message, feature) in [
        (
            "Unexpected value(s) `thinking-binding-controls-2026-08-01` for the `anthropic-beta` header.",
            BlockBinding,
        ),
        (
            "thinking.adaptive.block_binding: Extra inputs are not permitted",
            BlockBinding,
        ),
        (
            "thinking.block_binding requires the beta header thinking-binding-controls-2026-08-01",
            BlockBinding,
        ),
        ("invalid beta flag", BlockBinding),
        (
            "Unexpected value(s) `inline-tools-2026-09-15` for the `anthropic-beta` header.",
            ToolChanges,
        ),
        (
            "messages.3.content.1: Input tag 'tool_addition' found using 'type' does not match any of the expected tags",
            ToolChanges,
        ),
        (
            "messages.3.role: Input should be 'user' or 'assistant'",
            SystemMessages,
        ),
        (
            "messages: Unexpected role \"system\". Use the top-level system parameter.",
            SystemMessages,
        ),
    ] {
        let parameters = Parameters::default();
        assert_eq!(
            refused(message, &parameters),
            Some(ServerRefusal::Feature(feature)),
            "{message}"
        );
        let mut without = Parameters::default();
        without.without.add(feature);
        assert_ne!(
            refused(message, &without),
            Some(ServerRefusal::Feature(feature)),
            "{message}"
        );
    }
}

#[test]
fn a_beta_flag_without_a_name_leaves_out_one_feature_after_the_other() {
    let mut parameters = Parameters::default();
    let mut left_out = Vec::new();
    while let Some(ServerRefusal::Feature(feature)) = refused("invalid beta flag", &parameters) {
        parameters.without.add(feature);
        left_out.push(feature);
    }
    assert_eq!(left_out, [Feature::BlockBinding, Feature::ToolChanges]);
}

#[test]
fn a_server_without_compaction_is_recognized_by_requests_that_use_it() {
    let asks = Parameters {
        summarize: Some("Be brief.".to_owned()),
        ..Parameters::default()
    };
    let has = Parameters {
        signed_summary: Some(SignedSummary {
            content: "So far.".to_owned(),
            signature: "c2ln".to_owned(),
        }),
        ..Parameters::default()
    };
    for message in [
        "Unexpected value(s) `compact-2026-09-04` for the `anthropic-beta` header.",
        "compaction: Extra inputs are not permitted",
        "messages.0.content.0: Input tag 'compaction' found using 'type' does not match any of the expected tags",
        "messages.0.content.0: The signature of the compaction block is invalid",
        // First, because the request means nothing without it.
        "invalid beta flag",
    ] {
        for parameters in [&asks, &has] {
            assert_eq!(
                refused(message, parameters),
                Some(ServerRefusal::Feature(Feature::Compaction)),
                "{message}"
            );
        }
        let other = refused(message, &Parameters::default());
        assert_ne!(other, Some(ServerRefusal::Feature(Feature::Compaction)));
    }
}

#[test]
fn thinking_of_another_conversation_is_explained_and_left_out_once() {
    let mut parameters = Parameters::default();
    assert_eq!(
        refused(BOUND, &parameters),
        Some(ServerRefusal::BoundThinking)
    );
    parameters.without.signed_thinking = true;
    assert_eq!(refused(BOUND, &parameters), None);

    let body = serde_json::json!({"error": {"message": BOUND}}).to_string();
    let endpoint = endpoint(Protocol::AnthropicMessages);
    let problem = explain(
        &endpoint,
        400,
        Some("application/json"),
        None,
        body.as_bytes(),
    );
    assert!(
        problem.what.starts_with("Something before the model's earlier thinking has changed since it was sent, so Anthropic refuses that thinking (400, messages.1.content.0:"),
        "{problem}"
    );
    assert_eq!(
        problem.fix,
        "Press Ctrl-] to send the chat without it; the conversation is unchanged."
    );
}

#[test]
fn other_errors_leave_nothing_out() {
    let parameters = Parameters::default();
    for message in ["max_tokens: must be positive", "overloaded", ""] {
        assert_eq!(refused(message, &parameters), None, "{message}");
    }
    let body = br#"{"error": {"message": "block_binding: unknown"}}"#;
    assert_eq!(
        refusal(&endpoint(Protocol::Responses), &parameters, 400, body),
        None
    );
    let anthropic = endpoint(Protocol::AnthropicMessages);
    assert_eq!(refusal(&anthropic, &parameters, 500, body), None);
}

#[test]
fn a_summary_arrives_whole_and_is_counted_apart() {
    let block = r#"{"type":"compaction","content":"So far.","signature":"c2ln"}"#;
    let usage = r#"{"output_tokens":0,"iterations":[{"type":"compaction","input_tokens":144,"output_tokens":27}]}"#;
    let stream = format!(
        "data: {{\"type\":\"message_start\",\"message\":{{\"usage\":{{\"input_tokens\":0,\"output_tokens\":0}}}}}}\n\n\
         data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{block}}}\n\n\
         data: {{\"type\":\"content_block_stop\",\"index\":0}}\n\n\
         data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"compaction\"}},\"usage\":{usage}}}\n\n\
         data: {{\"type\":\"message_stop\"}}\n\n"
    );
    let mut decoder = Decoder::new(Protocol::AnthropicMessages);
    let mut events = decoder.push(stream.as_bytes());
    events.extend(decoder.finish());
    let summary = SignedSummary {
        content: "So far.".to_owned(),
        signature: "c2ln".to_owned(),
    };
    assert!(
        events.contains(&StreamEvent::Summary(summary)),
        "{events:?}"
    );
    let mut counted = Usage::default();
    for event in &events {
        if let StreamEvent::Usage(usage) = event {
            counted.replace(*usage);
        }
    }
    assert_eq!((counted.input, counted.output), (Some(144), Some(27)));
    assert_eq!(events.last(), Some(&StreamEvent::Stop(StopReason::EndTurn)));
}
