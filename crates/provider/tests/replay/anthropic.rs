//! Streams of Anthropic's Messages API.

use super::*;

#[test]
fn text_arrives_in_pieces_with_usage() {
    check(
        ANTHROPIC,
        "text",
        r#"
        usage input=12 output=1 cache_read=2000 cache_creation=100
        text "Grüß"
        text "e,\n  welt 🦀"
        usage output=9
        stop: EndTurn
    "#,
    );
}

#[test]
fn calls_arrive_in_order_with_their_arguments_as_sent() {
    check(
        ANTHROPIC,
        "parallel_tool_calls",
        r#"
        usage input=12 output=1
        text "Two things."
        call begins: read
        call read toolu_01 {"path": "a.rs"}
        call begins: bash
        call bash toolu_02 {"command":"ls", "n": 1.0}
        call begins: now
        call now toolu_03 {}
        usage output=9
        stop: ToolUse
    "#,
    );
}

#[test]
fn calls_of_one_answer_have_unique_ids() {
    check(
        ANTHROPIC,
        "same_id_twice",
        r"
        usage input=12 output=1
        call begins: read
        call read toolu_01 {}
        call begins: write
        call write toolu_01_2 {}
        call begins: bash
        call bash call_3 {}
        usage output=9
        stop: ToolUse
    ",
    );
}

#[test]
fn thinking_ends_with_its_signature() {
    check(
        ANTHROPIC,
        "thinking_with_signature",
        r#"
        usage input=12 output=1
        thinking "Hmm, "
        thinking "let me see."
        thinking ends, signed EqQBabc=
        text "Done."
        usage output=9
        stop: EndTurn
    "#,
    );
}

#[test]
fn each_thinking_block_keeps_its_own_signature() {
    check(
        ANTHROPIC,
        "interleaved_thinking",
        r#"
        usage input=12 output=1
        thinking "First."
        thinking ends, signed s1
        text "One."
        thinking "Second."
        thinking ends, signed s2
        call begins: bash
        call bash toolu_01 {"command":"ls"}
        usage output=9
        stop: ToolUse
    "#,
    );
}

#[test]
fn a_signature_without_text_is_kept() {
    check(
        ANTHROPIC,
        "signature_alone",
        r#"
        usage input=12 output=1
        thinking ends, signed s1
        text "Done."
        usage output=9
        stop: EndTurn
    "#,
    );
}

#[test]
fn redacted_thinking_is_one_event() {
    check(
        ANTHROPIC,
        "redacted_thinking",
        r#"
        usage input=12 output=1
        redacted EmwKAhgB
        text "Done."
        usage output=9
        stop: EndTurn
    "#,
    );
}

#[test]
fn an_error_in_the_middle_ends_the_answer() {
    check(
        ANTHROPIC,
        "error_in_the_middle",
        r#"
        usage input=12 output=1
        text "So far"
        error: The provider ended its answer with an error (Overloaded); the part that arrived is kept.
    "#,
    );
}

#[test]
fn a_call_completed_before_an_error_is_returned() {
    check(
        ANTHROPIC,
        "error_after_a_call",
        r#"
        usage input=12 output=1
        call begins: bash
        call bash toolu_01 {"command":"ls"}
        error: The provider ended its answer with an error (Internal server error); the part that arrived is kept.
    "#,
    );
}

#[test]
fn a_partial_call_is_dropped_if_the_stream_is_cut() {
    check(
        ANTHROPIC,
        "cut_after_a_partial_call",
        r"
        usage input=12 output=1
        call begins: bash
        error: The connection ended before the answer was complete; the part that arrived is kept.
    ",
    );
}

#[test]
fn a_call_cut_by_the_token_limit_is_dropped() {
    check(
        ANTHROPIC,
        "max_tokens_in_a_call",
        r#"
        usage input=12 output=1
        call begins: read
        call read toolu_01 {"path":"a"}
        call begins: write
        usage output=9
        stop: MaxTokens
    "#,
    );
}

#[test]
fn a_call_cut_before_its_arguments_is_dropped() {
    check(
        ANTHROPIC,
        "max_tokens_before_arguments",
        r"
        usage input=12 output=1
        call begins: wipe
        usage output=9
        stop: MaxTokens
    ",
    );
}

#[test]
fn a_call_cut_by_a_full_context_is_dropped() {
    check(
        ANTHROPIC,
        "context_full_in_a_call",
        r#"
        usage input=12 output=1
        call begins: read
        call read toolu_01 {"path":"a"}
        call begins: write
        usage output=9 thoughts=4
        stop: ContextFull
    "#,
    );
}

#[test]
fn a_refusal_is_reported() {
    check(
        ANTHROPIC,
        "refusal",
        r#"
        usage input=12 output=1
        text "I can"
        usage output=9
        stop: Refusal
    "#,
    );
}

#[test]
fn unknown_events_are_skipped_and_unknown_blocks_named() {
    check(
        ANTHROPIC,
        "unknown_events_and_blocks",
        r#"
        usage input=12 output=1
        remark "The answer contains a part that Flemma does not know (\"novelty_use\"); it was skipped."
        remark "The answer contains a part that Flemma does not know (\"novelty_delta\"); it was skipped."
        text "Done."
        usage output=9
        stop: other, pause_turn
    "#,
    );
}

#[test]
fn arguments_at_the_start_of_a_block_are_kept_as_sent() {
    check(
        ANTHROPIC,
        "input_in_the_start",
        r#"
        usage input=12 output=1
        call begins: bash
        call bash toolu_01 {"command": "ls", "n": 1e2}
        usage output=9
        stop: ToolUse
    "#,
    );
}

#[test]
fn a_byte_order_mark_crlf_and_comments_change_nothing() {
    check(
        ANTHROPIC,
        "crlf_and_comments",
        r#"
        usage input=12 output=1
        text "Hi"
        usage output=9
        stop: EndTurn
    "#,
    );
}

#[test]
fn a_stream_cut_anywhere_ends_in_an_error_without_a_partial_call() {
    for name in ["text", "parallel_tool_calls", "interleaved_thinking"] {
        check_cuts(ANTHROPIC, name, "event: message_stop");
    }
}

#[test]
fn the_last_call_does_not_wait_for_the_end_of_the_answer() {
    // A call without arguments does wait: it may have been cut before them.
    check_calls_before(ANTHROPIC, "same_id_twice", "event: message_delta");
}

#[test]
fn dropped_thinking_is_reported_once_for_each_reason() {
    check(
        ANTHROPIC,
        "dropped_thinking",
        r#"
        remark "Anthropic left out the model's earlier thinking, because something before it has changed since it was sent."
        remark "Anthropic left out the model's earlier thinking, because it was written for another account."
        usage input=12 output=1
        text "Hi."
        remark "Anthropic left out the model's earlier thinking, because this model cannot read the thinking of the model that wrote it."
        usage output=9
        stop: EndTurn
    "#,
    );
}

#[test]
fn adjacent_texts_stay_apart() {
    check(
        ANTHROPIC,
        "adjacent_texts",
        r#"
        usage input=12 output=1
        text "One."
        text ends
        text "Two."
        thinking ends, signed c2ln
        text "Three."
        usage output=9
        stop: EndTurn
    "#,
    );
}
