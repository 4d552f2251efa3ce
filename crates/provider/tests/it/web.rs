//! What the providers' own web tools leave in an answer.

use chat::server_tools::ExactBlock;
use provider::{Decoder, Protocol, StreamEvent};

/// Returns the events of an answer.
fn read<'e>(protocol: Protocol, stream: impl IntoIterator<Item = &'e str>) -> Vec<StreamEvent> {
    let mut decoder = Decoder::new(protocol);
    let mut events = Vec::new();
    for event in stream {
        events.extend(decoder.push(format!("data: {event}\n\n").as_bytes()));
    }
    events.extend(decoder.finish());
    events
}

fn exact(events: &[StreamEvent]) -> Option<&Vec<ExactBlock>> {
    events.iter().find_map(|event| match event {
        StreamEvent::Exact(blocks) => Some(blocks),
        _ => None,
    })
}

/// An answer of one text, whose block begins with these citations.
fn cites(citations: &str) -> Vec<StreamEvent> {
    let start = format!(
        r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"text","text":"a","citations":{citations}}}}}"#
    );
    let rest = [
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    read(
        Protocol::AnthropicMessages,
        [start.as_str()].into_iter().chain(rest),
    )
}

#[test]
fn an_empty_list_of_citations_needs_no_exact_answer() {
    for without in ["[]", "null"] {
        assert_eq!(exact(&cites(without)), None, "{without}");
    }
    let with = cites(r#"[{"type":"web_search_result_location","url":"https://a.test/"}]"#);
    assert!(exact(&with).is_some(), "{with:?}");
}

#[test]
fn gemini_searches_are_counted_by_their_queries() {
    let event = r#"{"candidates":[{"content":{"parts":[{"toolCall":{"id":"a","toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["one; two","three"]}}},{"text":"b"}]},"finishReason":"STOP"}]}"#;
    let events = read(Protocol::Gemini, [event]);
    let searches = events.iter().filter_map(|event| match event {
        StreamEvent::Usage(usage) => usage.searches,
        _ => None,
    });
    assert_eq!(searches.collect::<Vec<_>>(), [2]);
}

#[test]
fn what_is_kept_of_an_answer_is_limited() {
    let much = "x".repeat(1024 * 1024);
    let anthropic =
        |delta: String| format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#);
    let start =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let cases = [
        (
            Protocol::AnthropicMessages,
            anthropic(format!(r#"{{"type":"text_delta","text":"{much}"}}"#)),
        ),
        (
            Protocol::AnthropicMessages,
            anthropic(format!(
                r#"{{"type":"citations_delta","citation":{{"cited_text":"{much}"}}}}"#
            )),
        ),
        (
            Protocol::Gemini,
            format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{much}"}}]}}}}]}}"#),
        ),
        (
            Protocol::Responses,
            format!(
                r#"{{"type":"response.output_item.done","item":{{"type":"message","content":[{{"type":"output_text","text":"{much}"}}]}}}}"#
            ),
        ),
    ];
    for (protocol, more) in cases {
        let all = std::iter::once(start).chain(std::iter::repeat_n(more.as_str(), 17));
        let events = read(protocol, all);
        let Some(StreamEvent::Error(problem)) = events.last() else {
            panic!("{protocol:?}: {:?}", events.len());
        };
        assert!(problem.what.contains("more than 16 MB"), "{problem}");
    }
}
