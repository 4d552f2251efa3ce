//! Servers that differ from the protocols they speak: thinking in tags, limits inside a
//! stream, a quota of the day, and parameters that they refuse.

use harness::{Answer, Provider};
use serde_json::json;

use crate::stage::*;

const CALL: &str = "<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"label\": \"x\", \"command\": \"touch ran\"}}\n</tool_call>";

#[test]
fn no_call_inside_thinking_runs_whatever_marks_the_thinking() {
    for answer in [
        format!("<think>\nI could write\n{CALL}\nbut need not.\n</think>\n\nIt is 4."),
        format!("I could write\n{CALL}\nbut need not.\n</think>\n\nIt is 4."),
    ] {
        let provider = Provider::chat_completions([Answer::new().text_in_pieces(&answer, 3)]);
        let options = json!({"model": "old", "models": {"old": {"tools": false}}, "tools": {"auto_approve": ["bash"]}});
        let setup = with_options(&provider, options);
        let editor = setup.file("question.chat", QUESTION).start();
        editor.keys("<C-]>");
        wait_end(&editor, "It is 4.\n\n@You:\n\n");
        let text = editor.text();
        assert!(
            text.contains("@Assistant:\n<thinking>\nI could write\n<tool_call>"),
            "{text}"
        );
        assert!(
            text.contains("but need not.\n</thinking>\n\nIt is 4."),
            "{text}"
        );
        assert!(!editor.dir().join("ran").exists());
        assert_eq!(provider.requests().len(), 1);
    }
}

#[test]
fn marked_thinking_is_not_sent_again() {
    let first = "Two and two make 4.\n</think>\n\nIt is 4.";
    let provider = Provider::chat_completions([
        Answer::new().text_in_pieces(first, 5),
        Answer::says("<think>\nHm.\n</think>\n\nYes."),
    ]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    wait_end(&editor, "It is 4.\n\n@You:\n\n");
    editor.keys("GASure?<Esc><C-]>");
    wait_end(&editor, "<thinking>\nHm.\n</thinking>\n\nYes.\n\n@You:\n\n");
    let body = &provider.requests()[1].body;
    assert_eq!(
        body["messages"][1],
        json!({"role": "assistant", "content": "It is 4."})
    );
}

#[test]
fn a_rate_limit_inside_a_stream_is_waited_for() {
    let error = json!({"type": "response.failed", "response": {"status": "failed", "error": {
        "code": "rate_limit_exceeded", "message": "Rate limit reached. Please try again in 2.2s."}}});
    let failed = Answer::new().bytes(format!("event: response.failed\ndata: {error}\n\n"));
    let provider = Provider::responses([failed, Answer::says("There.")]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_screen("the note", |rows| {
        rows.iter()
            .any(|row| row.contains("openai reached a rate limit; try 2 of 6 in 2 s"))
    });
    wait_end(&editor, "@Assistant:\nThere.\n\n@You:\n\n");
    assert_eq!(provider.requests().len(), 2);
}

#[test]
fn a_quota_of_the_day_is_named_and_not_tried_again() {
    let error = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota exceeded.", "details": [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [
            {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "250"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}]}});
    let provider = Provider::gemini([Answer::status(429, error.to_string())]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    wait_message(
        &editor,
        "The quota of the day (GenerateRequestsPerDayPerProjectPerModel-FreeTier, 250) is used up.",
    );
    expect_requests(&editor, 1);
    assert_eq!(editor.text(), QUESTION);
}

#[test]
fn a_refused_parameter_is_renamed_and_remembered() {
    let refusal = json!({"error": {"code": "unsupported_parameter", "param": "max_tokens", "message":
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}});
    let provider = Provider::chat_completions([
        Answer::status(400, refusal.to_string()),
        Answer::says("There."),
        Answer::says("Again."),
    ]);
    let editor = ask_with(&provider, json!({"parameters": {"max_tokens": 4000}}));
    editor.keys("<C-]>");
    wait_end(&editor, "There.\n\n@You:\n\n");
    wait_message(
        &editor,
        "refused max_tokens, so it is sent as max_completion_tokens.",
    );
    editor.keys("GAMore.<Esc><C-]>");
    wait_end(&editor, "Again.\n\n@You:\n\n");
    let requests = provider.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0].body["max_tokens"], 4000);
    for later in &requests[1..] {
        assert_eq!(later.body["max_completion_tokens"], 4000);
        assert_eq!(later.body.get("max_tokens"), None);
    }
}

#[test]
fn an_unknown_part_is_named_and_the_rest_of_the_answer_stays() {
    let delta = json!({"choices": [{"index": 0, "finish_reason": "stop", "delta": {"content": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Seven."}]},
        {"type": "text", "text": "It is 49."}, {"type": "hologram", "data": 1}]}}]});
    let answer = Answer::new().bytes(format!("data: {delta}\n\ndata: [DONE]\n\n"));
    let provider = Provider::chat_completions([answer]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    wait_end(
        &editor,
        "<thinking>\nSeven.\n</thinking>\n\nIt is 49.\n\n@You:\n\n",
    );
    wait_message(&editor, "a part that Flemma does not know (\"hologram\")");
}
