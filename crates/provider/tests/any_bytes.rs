//! Any bytes in any chunks give the same events and exactly one end, without a panic.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use provider::{Decoder, Protocol, StreamEvent};

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
