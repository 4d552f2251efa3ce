//! Streams of OpenAI's Responses API.

use super::*;

const COST: &str = "usage input=12 output=9 thoughts=4 cache_read=2000 cache_creation=100";

/// Like [`check`], with [`COST`] for the word `COST`.
#[track_caller]
fn check_responses(name: &str, expected: &str) {
    check(RESPONSES, name, &expected.replace("COST", COST));
}

/// Returns the signature of an item in the streams.
fn signed(summary: &[&str], number: u32) -> String {
    let summary: Vec<Value> = summary
        .iter()
        .map(|text| json!({"type": "summary_text", "text": text}))
        .collect();
    let item = json!({
        "type": "reasoning", "id": format!("rs_{number}"),
        "summary": summary, "encrypted_content": format!("gAAAAAB{number}"),
    });
    STANDARD.encode(item.to_string())
}

#[test]
fn text_arrives_in_pieces_with_usage() {
    check_responses(
        "text",
        r#"
        text "Grüß"
        text "e,\n  welt 🦀"
        COST
        stop: EndTurn
    "#,
    );
}

#[test]
fn calls_arrive_in_order_with_their_arguments_as_sent() {
    check_responses(
        "parallel_tool_calls",
        r#"
        text "Two things."
        call begins: read
        call read call_1 {"path": "a.rs"}
        call begins: bash
        call bash call_2 {"command":"ls", "n": 1.0}
        call begins: now
        call now call_3 {}
        COST
        stop: ToolUse
    "#,
    );
}

#[test]
fn pieces_of_parallel_calls_are_joined() {
    check(
        RESPONSES,
        "interleaved_by_index",
        r#"
        call begins: read
        call begins: bash
        call bash call_2 {"command":"ls"}
        call read call_1 {"path":"a"}
        stop: ToolUse
    "#,
    );
    // The last call is named only at its end.
    check(
        RESPONSES,
        "interleaved_by_id",
        r#"
        call begins: read
        call begins: bash
        call bash call_2 {"command":"ls"}
        call read call_1 {"path":"a"}
        call begins: now
        call now call_3 {"n":1}
        stop: ToolUse
    "#,
    );
}

#[test]
fn the_signature_of_reasoning_is_the_whole_item() {
    let expected = r#"
        thinking "Hmm, "
        thinking "let me see."
        thinking "\n\nAnd then."
        thinking ends, signed SIGNED
        text "Done."
        COST
        stop: EndTurn
    "#;
    let signed = signed(&["Hmm, let me see.", "And then."], 0);
    check_responses("reasoning", &expected.replace("SIGNED", &signed));
}

#[test]
fn every_reasoning_item_keeps_its_position() {
    let expected = r#"
        thinking ends, signed FIRST
        text "One."
        thinking "Second."
        thinking ends, signed SECOND
        thinking ends, signed THIRD
        call begins: bash
        call bash call_1 {"command":"ls"}
        COST
        stop: ToolUse
    "#;
    let expected = expected
        .replace("FIRST", &signed(&[], 0))
        .replace("SECOND", &signed(&["Second."], 2))
        .replace("THIRD", &signed(&[], 3));
    check_responses("several_reasoning_items", &expected);
}

#[test]
fn a_refusal_is_reported() {
    check_responses(
        "refusal",
        r#"
        text "I can’t."
        COST
        stop: Refusal
    "#,
    );
}

#[test]
fn a_call_cut_by_the_token_limit_is_dropped() {
    check_responses(
        "incomplete_in_a_call",
        r#"
        call begins: read
        call read call_1 {"path":"a"}
        call begins: write
        COST
        stop: MaxTokens
    "#,
    );
}

#[test]
fn a_filtered_answer_is_a_refusal() {
    check_responses(
        "content_filter",
        r#"
        text "I can"
        COST
        stop: Refusal
    "#,
    );
}

#[test]
fn a_failure_in_the_middle_ends_the_answer() {
    check_responses(
        "failed",
        r#"
        text "So far"
        error: The provider ended its answer with an error (The model had an error); the part that arrived is kept.
    "#,
    );
    check_responses(
        "error_event",
        r#"
        text "So far"
        error: The provider ended its answer with an error (Slow down); the part that arrived is kept.
    "#,
    );
}

#[test]
fn a_call_completed_before_an_error_is_returned() {
    check_responses(
        "error_after_a_call",
        r#"
        call begins: bash
        call bash call_1 {"command":"ls"}
        error: The provider ended its answer with an error (Internal server error); the part that arrived is kept.
    "#,
    );
}

#[test]
fn events_with_only_an_item_id_are_distinguished() {
    check_responses(
        "item_ids_alone",
        r#"
        thinking "Let me"
        thinking " see."
        thinking ends
        text "I look."
        call begins: read
        call begins: bash
        call read fc_Zz9 {"path":"a"}
        call bash fc_Yy8 {"command":"ls"}
        usage input=12 output=9
        stop: ToolUse
    "#,
    );
}

#[test]
fn an_answer_in_the_final_event_is_decoded() {
    let expected = r#"
        thinking "Hmm."
        thinking ends, signed SIGNED
        text "Done."
        call begins: bash
        call bash call_1 {"command":"ls"}
        COST
        stop: ToolUse
    "#;
    let expected = expected.replace("SIGNED", &signed(&["Hmm."], 0));
    check_responses("everything_at_the_end", &expected);
}

#[test]
fn another_final_event_and_calls_with_one_index_are_decoded() {
    check(
        RESPONSES,
        "response_done",
        r#"
        call begins: read
        call begins: read
        call read call_a {"path":"a"}
        call read call_b {"path":"b"}
        call begins: read
        call read call_c {"path":"c"}
        usage input=40 output=7
        stop: ToolUse
    "#,
    );
}

#[test]
fn unknown_events_are_skipped_and_unknown_items_named() {
    check_responses(
        "unknown_events_and_items",
        r#"
        remark "The answer contains a part that Flemma does not know (\"novelty_call\"); it was skipped."
        text "Done."
        COST
        stop: EndTurn
    "#,
    );
}

#[test]
fn a_byte_order_mark_crlf_and_comments_change_nothing() {
    check_responses(
        "crlf_and_comments",
        r#"
        text "Hi"
        COST
        stop: EndTurn
    "#,
    );
}

#[test]
fn a_stream_cut_anywhere_ends_in_an_error_without_a_partial_call() {
    for name in [
        "text",
        "parallel_tool_calls",
        "several_reasoning_items",
        "item_ids_alone",
    ] {
        check_cuts(RESPONSES, name, r#"data: {"type":"response.completed""#);
    }
}

#[test]
fn the_last_call_does_not_wait_for_the_end_of_the_answer() {
    check_calls_before(
        RESPONSES,
        "parallel_tool_calls",
        "event: response.completed",
    );
}
