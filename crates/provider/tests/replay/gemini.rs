//! Streams of Gemini's `streamGenerateContent?alt=sse`.

use super::{GEMINI, check, check_cuts};

/// The part of a stream that announces its end.
const END: &str = "finishReason";

#[test]
fn text_arrives_unchanged() {
    check(
        GEMINI,
        "text",
        r#"
        text "Hel"
        usage input=12
        text "lo, wörld 🦀"
        usage input=12 output=4
        text "."
        usage input=12 output=5
        stop: EndTurn
        "#,
    );
}

#[test]
fn each_call_keeps_its_signature_and_its_bytes() {
    check(
        GEMINI,
        "thinking_and_parallel_calls",
        r#"
        thinking "**Listing**\n\nI look"
        usage input=500 output=20 thoughts=20 cache_read=1500
        thinking " at both."
        usage input=500 output=40 thoughts=40 cache_read=1500
        thinking ends
        text "I'll look."
        usage input=500 output=43 thoughts=40 cache_read=1500
        thinking ends, signed AbC+/1==
        call begins: read
        call read fc-1 {"path":"a.rs", "limit": 1.0, "big": 12345678901234567890123}
        thinking ends, signed DeF==
        call begins: read
        call read fc-2 {"path":"b.rs"}
        call begins: now
        call now call_3 {}
        usage input=500 output=70 thoughts=40 cache_read=1500
        stop: ToolUse
        "#,
    );
}

#[test]
fn a_signature_without_text_follows_the_text() {
    check(
        GEMINI,
        "signature_of_text",
        r#"
        thinking "Think."
        thinking ends
        text "One."
        thinking ends, signed Sig1==
        usage input=5 output=11 thoughts=9
        stop: EndTurn
        "#,
    );
}

#[test]
fn a_signature_of_earlier_text_is_not_the_calls() {
    check(
        GEMINI,
        "signature_of_a_rest",
        r#"
        text "One"
        text " two."
        thinking ends, signed S1
        thinking ends, signed
        call begins: bash
        call bash c {}
        stop: ToolUse
        "#,
    );
}

#[test]
fn text_that_starts_with_a_signature_follows_it() {
    check(
        GEMINI,
        "signature_of_whole_text",
        r#"
        thinking ends, signed S1
        text "One."
        text "Two."
        thinking ends, signed S2
        stop: EndTurn
        "#,
    );
}

#[test]
fn a_missing_signature_is_marked_by_an_empty_one() {
    check(
        GEMINI,
        "empty_signature",
        r#"
        thinking "Think."
        thinking ends, signed Good
        call begins: bash
        call bash c {"command": "ls"}
        usage input=5 output=2
        stop: ToolUse
        "#,
    );
}

#[test]
fn the_token_limit_ends_an_answer() {
    check(
        GEMINI,
        "max_tokens",
        r#"
        text "Once upon"
        usage input=9 output=2
        text " a time"
        usage input=9 output=4
        stop: MaxTokens
        "#,
    );
}

#[test]
fn a_blocked_answer_is_an_error_and_keeps_its_text() {
    check(
        GEMINI,
        "safety",
        r#"
        text "Well, "
        usage input=9 output=2
        usage input=9 output=2
        error: The provider stopped the answer (SAFETY); the part that arrived is kept.
        "#,
    );
}

#[test]
fn a_blocked_prompt_is_an_error() {
    check(
        GEMINI,
        "blocked_prompt",
        r#"
        usage input=9
        error: The provider blocked the conversation (PROHIBITED_CONTENT) and did not answer.
        "#,
    );
}

#[test]
fn a_call_that_the_provider_could_not_parse_is_an_error() {
    check(
        GEMINI,
        "malformed_call",
        r#"
        usage input=9
        error: The model wrote a call that the provider could not parse (MALFORMED_FUNCTION_CALL: Malformed function call: print(default_api.read().
        "#,
    );
}

#[test]
fn an_error_in_the_middle_ends_the_answer() {
    check(
        GEMINI,
        "error_in_the_middle",
        r#"
        text "Half"
        error: The provider ended its answer with an error (The model is overloaded. Please try again later); the part that arrived is kept.
        "#,
    );
}

#[test]
fn an_answer_without_content_stops() {
    check(GEMINI, "no_content", "usage input=9\nstop: EndTurn");
}

#[test]
fn a_stream_cut_anywhere_ends_in_an_error_without_a_partial_call() {
    for name in ["text", "thinking_and_parallel_calls", "signature_of_text"] {
        check_cuts(GEMINI, name, END);
    }
}
