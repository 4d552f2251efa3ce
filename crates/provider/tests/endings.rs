//! Why an answer ends, on every protocol: only the documented good endings are good.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use provider::{Decoder, Protocol, StopReason, StreamEvent};
use serde_json::{Value, json};

const PROTOCOLS: [Protocol; 4] = [
    Protocol::AnthropicMessages,
    Protocol::ChatCompletions,
    Protocol::Gemini,
    Protocol::Responses,
];

/// The ending that an event stream comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Good,
    TokenLimit,
    Bad,
}

/// An answer with a whole call that ends for `reason`, in the protocol's own events.
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
            // The status tells how it ended; `incomplete_details` says no more than why.
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
        other => panic!("{other:?} is no end"),
    }
}

/// The good words of a protocol, and that for a token limit.
fn words(protocol: Protocol) -> (&'static [&'static str], &'static str) {
    match protocol {
        Protocol::AnthropicMessages => (&["end_turn", "stop_sequence", "tool_use"], "max_tokens"),
        Protocol::ChatCompletions => (
            &[
                "stop",
                "tool_calls",
                "function_call",
                "eos",
                "eos_token",
                "end_turn",
                "stop_sequence",
            ],
            "length",
        ),
        Protocol::Gemini => (&["STOP", "FUNCTION_CALL"], "MAX_TOKENS"),
        Protocol::Responses => (&["completed"], "max_output_tokens"),
    }
}

#[track_caller]
fn check(protocol: Protocol, reason: Value) {
    let (good, limit) = words(protocol);
    let word = reason.as_str().unwrap_or_default();
    let expected = match word {
        word if good.contains(&word) => Ending::Good,
        word if word == limit => Ending::TokenLimit,
        _ => Ending::Bad,
    };
    let stream = stream(protocol, &reason);
    assert_eq!(ending(protocol, &stream), expected, "{protocol:?} {reason}");
}

#[test]
fn the_documented_endings_are_known_on_every_protocol() {
    for protocol in PROTOCOLS {
        let (good, limit) = words(protocol);
        good.iter().for_each(|word| check(protocol, json!(word)));
        check(protocol, json!(limit));
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
fn what_ends_an_answer_badly_is_no_good_ending() {
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
        words.iter().for_each(|word| check(protocol, json!(word)));
        // A reason of another type is an unknown one.
        for odd in [
            json!({"type": "error"}),
            json!(["stop"]),
            json!(false),
            json!(7),
        ] {
            check(protocol, odd);
        }
    }
}

/// An answer that thinks and says no more, in the protocol's own events.
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
fn an_answer_that_breaks_off_while_the_model_thinks_closes_its_thinking() {
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
fn a_bad_reason_is_not_taken_back_by_a_later_one() {
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
fn an_end_mark_ends_no_call_that_is_not_whole() {
    let stream = |arguments: &str, reason: Value| {
        let call = json!({"id": "t", "function": {"name": "bash", "arguments": arguments}});
        let choice = json!({"delta": {"tool_calls": [call]}, "finish_reason": reason});
        format!("data: {}\n\ndata: [DONE]\n\n", json!({"choices": [choice]}))
    };
    for (arguments, reason, expected) in [
        ("{}", Value::Null, Ending::Good),
        ("{\"a\"", Value::Null, Ending::Bad),
        ("{\"a\"", json!("length"), Ending::TokenLimit),
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
fn a_completed_response_that_says_otherwise_is_not_complete() {
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
    fn no_word_that_is_not_documented_ends_an_answer_well(word in "[a-zA-Z_ ]{1,20}") {
        for protocol in PROTOCOLS {
            let (good, limit) = words(protocol);
            // An unspecified reason is none, and blanks around a word say nothing.
            let known = good.contains(&word.trim()) || word.trim() == limit;
            if !known && !word.trim().is_empty() {
                check(protocol, json!(word));
            }
        }
    }
}

/// Some servers keep a connection alive with events that hold nothing.
#[test]
fn an_event_without_text_does_not_end_a_chat_completion() {
    let mut decoder = Decoder::new(Protocol::ChatCompletions);
    let mut events = decoder.push(b"data: \n\ndata:\n\n");
    let delta = r#"data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    events.extend(decoder.push(format!("{delta}\n\ndata: \n\ndata: {{\"usa").as_bytes()));
    // What is cut behind the end of the answer cuts nothing of it.
    events.extend(decoder.finish());
    assert!(
        matches!(events.last(), Some(StreamEvent::Stop(_))),
        "{events:?}"
    );
}
