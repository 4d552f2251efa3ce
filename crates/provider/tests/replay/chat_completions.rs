//! Streams of Chat Completions.

use provider::Endpoint;

use super::*;

#[test]
fn text_arrives_in_pieces_with_usage() {
    check(
        CHAT_COMPLETIONS,
        "text",
        r#"
        text "Grüß"
        text "e,\n  welt 🦀"
        usage input=5 output=7 thoughts=3 cache_read=15
        stop: EndTurn
    "#,
    );
}

#[test]
fn calls_arrive_in_order_with_their_arguments_as_sent() {
    check(
        CHAT_COMPLETIONS,
        "parallel_tool_calls",
        r#"
        text "Two things."
        call begins: read
        call begins: bash
        call read call_a {"path": "a.rs"}
        call bash call_b {"n": 1.0}
        stop: ToolUse
    "#,
    );
}

#[test]
fn fragments_of_several_calls_may_be_mixed() {
    check(
        CHAT_COMPLETIONS,
        "interleaved_fragments",
        r#"
        call begins: bash
        call begins: read
        call read call_a {"a":1}
        call bash call_b {"b":2}
        stop: ToolUse
    "#,
    );
}

#[test]
fn content_may_be_a_list_of_parts() {
    check(
        CHAT_COMPLETIONS,
        "content_parts",
        r#"
        thinking "Seven times "
        thinking "seven."
        thinking ends
        text "It is"
        text " 49"
        text "."
        remark "The answer contains a part that Flemma does not know (\"reference\"); it was skipped."
        usage input=20 output=9
        stop: EndTurn
    "#,
    );
}

#[test]
fn usage_is_read_from_the_choice_and_later_zeros_erase_nothing() {
    check(
        CHAT_COMPLETIONS,
        "usage_in_the_choice",
        r#"
        text "Hi."
        usage input=500 output=30 cache_read=3500
        stop: EndTurn
    "#,
    );
}

#[test]
fn several_calls_with_one_id_stay_several_and_a_repeated_one_is_dropped() {
    check(
        CHAT_COMPLETIONS,
        "several_calls_with_one_id",
        r#"
        call begins: read
        call begins: read
        call begins: read
        call read call_same {"path":"a"}
        call read call_same_2 {"path":"b"}
        stop: ToolUse
    "#,
    );
}

#[test]
fn calls_without_ids_get_ids() {
    check(
        CHAT_COMPLETIONS,
        "ids_missing",
        r#"
        call begins: read
        call begins: read
        call begins: bash
        call begins: now
        call read call_1 {"path":"a"}
        call read call_2 {"path":"b"}
        call bash call_3 {}
        call now call_4 {}
        stop: ToolUse
    "#,
    );
}

#[test]
fn complete_calls_with_the_same_index_stay_separate() {
    check(
        CHAT_COMPLETIONS,
        "whole_calls_all_numbered_zero",
        r#"
        call begins: read
        call begins: read
        call read call_1 {"path":"a"}
        call read call_2 {"path":"b"}
        stop: ToolUse
    "#,
    );
}

#[test]
fn reasoning_ends_when_the_text_begins() {
    check(
        CHAT_COMPLETIONS,
        "reasoning_content",
        r#"
        thinking "Hmm, "
        thinking "so."
        thinking ends
        text "Done."
        usage input=5 output=7 thoughts=3 cache_read=15
        stop: EndTurn
    "#,
    );
}

#[test]
fn reasoning_ends_when_a_call_begins() {
    check(
        CHAT_COMPLETIONS,
        "reasoning_before_a_call",
        r#"
        thinking "Look."
        thinking ends
        call begins: read
        call read call_a {}
        stop: ToolUse
    "#,
    );
}

#[test]
fn reasoning_ends_with_the_answer() {
    check(
        CHAT_COMPLETIONS,
        "reasoning_alone",
        r#"
        thinking "Hmm"
        thinking ends
        stop: EndTurn
    "#,
    );
}

#[test]
fn reasoning_after_the_finish_reason_is_closed() {
    check(
        CHAT_COMPLETIONS,
        "reasoning_after_the_finish_reason",
        r#"
            text "Done."
            thinking "Hmm"
            thinking ends
            stop: EndTurn
        "#,
    );
}

#[test]
fn a_call_cut_by_the_token_limit_is_dropped() {
    check(
        CHAT_COMPLETIONS,
        "length_in_a_call",
        r#"
        call begins: read
        call begins: write
        call read call_a {"path":"a"}
        stop: MaxTokens
    "#,
    );
}

#[test]
fn a_finish_reason_ends_an_answer_without_an_end_mark() {
    check(
        CHAT_COMPLETIONS,
        "no_end_mark",
        r#"
        text "Hi"
        stop: EndTurn
    "#,
    );
}

#[test]
fn an_end_mark_ends_an_answer_without_a_finish_reason() {
    check(
        CHAT_COMPLETIONS,
        "no_finish_reason",
        r#"
        text "Hi"
        stop: EndTurn
    "#,
    );
}

#[test]
fn an_error_in_the_middle_ends_the_answer() {
    check(
        CHAT_COMPLETIONS,
        "error_in_the_middle",
        r#"
        text "So far"
        error: The provider ended its answer with an error (The model crashed); the part that arrived is kept.
    "#,
    );
}

#[test]
fn an_error_field_ends_the_answer() {
    check(
        CHAT_COMPLETIONS,
        "error_field",
        r#"
        text "So far"
        error: The provider ended its answer with an error (slot unavailable); the part that arrived is kept.
    "#,
    );
}

#[test]
fn a_filtered_answer_is_a_refusal() {
    check(
        CHAT_COMPLETIONS,
        "content_filter",
        r#"
        text "Well"
        stop: Refusal
    "#,
    );
}

#[test]
fn a_refusal_field_is_text_and_a_refusal() {
    check(
        CHAT_COMPLETIONS,
        "refusal",
        r#"
        text "I can't help with that."
        stop: Refusal
    "#,
    );
}

#[test]
fn crlf_and_comments_change_nothing() {
    check(
        CHAT_COMPLETIONS,
        "crlf_and_comments",
        r#"
        text "Hi"
        stop: EndTurn
    "#,
    );
}

#[test]
fn a_stream_cut_anywhere_ends_in_an_error_without_a_partial_call() {
    for name in [
        "text",
        "parallel_tool_calls",
        "interleaved_fragments",
        "reasoning_content",
    ] {
        // The chunk with the finish reason is the first with a quoted one.
        check_cuts(CHAT_COMPLETIONS, name, "\"finish_reason\": \"");
    }
}

#[test]
fn other_names_of_thinking_and_finish_reasons_are_supported() {
    check(
        CHAT_COMPLETIONS,
        "thinking_field",
        r#"
        thinking "Hmm."
        thinking ends
        text "Done."
        stop: EndTurn
    "#,
    );
}

#[test]
fn returned_thinking_is_marked_with_its_provider() {
    let endpoint = |provider: &str| Endpoint {
        provider: provider.to_owned(),
        protocol: Protocol::ChatCompletions,
        base_url: String::new(),
        api_key: None,
        key_source: String::new(),
        ca_file: None,
    };
    let ends = |provider: &str| {
        let mut decoder = Decoder::of(&endpoint(provider));
        let events = decoder.push(&stream(CHAT_COMPLETIONS, "reasoning_content"));
        show(&events)
            .into_iter()
            .find(|line| line.starts_with("thinking ends"))
    };
    assert_eq!(ends("deepseek").as_deref(), Some("thinking ends, signed"));
    assert_eq!(ends("ollama").as_deref(), Some("thinking ends"));
}

#[test]
fn openrouter_details_are_kept_as_sent() {
    let endpoint = Endpoint {
        provider: "openrouter".to_owned(),
        protocol: Protocol::ChatCompletions,
        base_url: String::new(),
        api_key: None,
        key_source: String::new(),
        ca_file: None,
    };
    let bytes = stream(CHAT_COMPLETIONS, "reasoning_details");
    let kept = |bytes: &[u8]| -> Vec<Value> {
        let mut decoder = Decoder::of(&endpoint);
        let mut events = decoder.push(bytes);
        events.extend(decoder.finish());
        let signatures = events.into_iter().filter_map(|event| match event {
            StreamEvent::ThinkingEnd { signature } => signature,
            _ => None,
        });
        signatures
            .map(|it| serde_json::from_slice(&STANDARD.decode(it).unwrap()).unwrap())
            .collect()
    };
    let format = "anthropic-claude-v1";
    assert_eq!(
        kept(&bytes),
        [
            json!([{"type": "reasoning.text", "text": "Let me.", "format": format, "index": 0, "signature": "c2ln"}]),
            json!([{"type": "reasoning.encrypted", "data": "AAEC", "id": "toolu_1", "format": format, "index": 1}]),
        ]
    );
    let cut = bytes.windows(6).position(|it| it == b"I look").unwrap();
    assert_eq!(
        kept(&bytes[..cut - 200]),
        Vec::<Value>::new(),
        "cut before it was whole"
    );
}

#[test]
fn thinking_in_details_alone_is_shown() {
    let delta = json!({"reasoning_details": [{"type": "reasoning.text", "text": "Let me."}]});
    let chunk = json!({"choices": [{"index": 0, "delta": delta}]});
    let mut decoder = Decoder::new(Protocol::ChatCompletions);
    let events = decoder.push(format!("data: {chunk}\n\n").as_bytes());
    assert_eq!(events, [StreamEvent::Thinking("Let me.".to_owned())]);
}
