//! Requests that fail before the answer begins are retried: what that looks like, what
//! ends it, and that it leaves nothing in the chat.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;
use crate::traces::press_cancel;

/// The chat after one question and the answer "There.".
const ANSWERED: &str = "@You:\nGo.\n\n@Assistant:\nThere.\n\n@You:\n\n";

fn overloaded() -> Answer {
    Answer::status(529, r#"{"error":{"message":"Overloaded"}}"#)
}

/// Checks that after these failures and an answer, the user sees the answer and no message.
#[track_caller]
fn passes<const N: usize>(failures: [Answer; N]) -> Provider {
    let provider = Provider::anthropic(failures);
    provider.then(Answer::says("There."));
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_for("the answer", |editor| editor.text() == ANSWERED);
    assert_eq!(editor.messages(), "", "nothing went wrong for the user");
    assert_eq!(provider.requests().len(), N + 1);
    let first = &provider.requests()[0];
    assert!(provider.requests().iter().all(|it| it.raw == first.raw));
    provider
}

/// Waits until the note below the chat has this text.
#[track_caller]
fn wait_note(editor: &Editor, note: &str) {
    editor.wait_screen(&format!("the note {note:?}"), |rows| {
        rows.iter().any(|row| row.contains(note))
    });
}

#[test]
fn an_overloaded_server_is_retried() {
    passes([overloaded()]);
    passes([Answer::status(500, ""), Answer::status(503, "later")]);
    passes([Answer::status(429, "").header("retry-after", "0")]);
}

#[test]
fn a_connection_that_breaks_before_the_first_word_is_retried() {
    passes([Answer::wire("")]);
    passes([Answer::wire(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )]);
    passes([Answer::says("Not said.").cut_after(60)]);
}

#[test]
fn an_overload_reported_in_the_stream_is_retried() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    passes([Answer::new().bytes(format!("event: error\ndata: {error}\n\n"))]);
}

#[test]
fn a_delay_is_counted_down_and_adds_nothing_to_the_chat() {
    let answer = Answer::status(429, "").header("retry-after", "3");
    let provider = Provider::anthropic([answer, Answer::says("There.")]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    wait_note(&editor, "anthropic answered 429; try 2 of 6 in 3 s");
    wait_note(&editor, "anthropic answered 429; try 2 of 6 in 1 s");
    assert_eq!(editor.text(), QUESTION);
    editor.wait_for("the answer", |editor| editor.text() == ANSWERED);
}

#[test]
fn a_delay_can_be_cancelled_at_any_time() {
    let answer = Answer::status(503, "").header("retry-after", "50");
    let provider = Provider::anthropic([answer]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    wait_note(&editor, "try 2 of 6 in");
    press_cancel(&editor, "a cancelled request", |editor| {
        events(editor).contains(&"FlemmaRequestFinished cancelled".to_owned())
    });
    at_rest(&editor);
    assert_eq!(editor.text(), QUESTION);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nDone.");
    assert_eq!(provider.requests().len(), 2);
}

#[test]
fn a_delay_above_the_limit_is_reported_at_once() {
    let answer = Answer::status(429, "slow down").header("retry-after", "3600");
    let provider = Provider::anthropic([answer]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    let message = "(429, slow down). It asked to wait 3600 s, but parameters.max_retry_wait allows \
                60 s. Press Ctrl-] again in 3600 s; the conversation is unchanged.";
    wait_message(&editor, message);
    expect_requests(&editor, 1);
    assert_eq!(editor.text(), QUESTION);
}

#[test]
fn tries_are_limited_and_counted() {
    let provider = Provider::anthropic([overloaded(), overloaded(), overloaded()]);
    let editor = ask_with(&provider, json!({"parameters": {"max_retries": 2}}));
    editor.keys("<C-]>");
    wait_message(
        &editor,
        "overloaded (529, Overloaded). It was tried 3 times in ",
    );
    wait_event(&editor, "FlemmaRequestFinished error");
    assert_eq!(editor.text(), QUESTION);
    assert_eq!(provider.requests().len(), 3);
}

#[test]
fn permanent_errors_are_not_retried() {
    let quota = r#"{"error":{"code":"insufficient_quota","message":"Pay first."}}"#;
    for answer in [
        Answer::status(400, "no"),
        Answer::status(401, "no"),
        Answer::status(403, "no"),
        Answer::status(404, "no"),
        Answer::status(422, "no"),
        Answer::status(429, quota),
        Answer::status(500, "no").header("x-should-retry", "false"),
    ] {
        let provider = Provider::anthropic([answer]);
        let editor = open(&provider, QUESTION);
        editor.keys("<C-]>");
        wait_event(&editor, "FlemmaRequestFinished error");
        at_rest(&editor);
        assert_eq!(editor.text(), QUESTION);
        assert_eq!(provider.requests().len(), 1);
    }
}

#[test]
fn an_answer_that_has_begun_is_not_retried() {
    let answer = Answer::new().text_in_pieces("Once upon a time", 3);
    let provider = Provider::anthropic([answer.cut_after(700)]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nOnce");
    editor.wait_text("<!-- flemma:aborted: ");
    expect_requests(&editor, 1);
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn a_missing_server_is_reported_within_the_connect_timeout() {
    let setup = offline()
        .env("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
        .env("ANTHROPIC_API_KEY", "test-key")
        .options(json!({"parameters": {"connect_timeout": 1.0}}));
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    wait_note(&editor, "anthropic cannot be reached; try 2 of 6 in 1 s");
    wait_message(&editor, "anthropic at http://127.0.0.1:1 cannot be reached");
    wait_event(&editor, "FlemmaRequestFinished error");
    at_rest(&editor);
    assert_eq!(editor.text(), QUESTION);
}

#[test]
fn an_unknown_host_name_is_reported() {
    let setup = offline()
        .env("ANTHROPIC_BASE_URL", "http://no-such-name.invalid")
        .env("ANTHROPIC_API_KEY", "test-key")
        .options(json!({"parameters": {"connect_timeout": 1.0}}));
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    wait_message(&editor, "anthropic at http://no-such-name.invalid ");
    wait_event(&editor, "FlemmaRequestFinished error");
    at_rest(&editor);
    assert_eq!(editor.text(), QUESTION);
}

#[test]
fn pings_count_as_silence() {
    // Pings without content, for longer than the test waits.
    let pings = "event: ping\ndata: {\"type\": \"ping\"}\n\n: keep-alive\n\n".repeat(2000);
    let pace = std::time::Duration::from_millis(200);
    let answer = Answer::says("Once upon")
        .bytes(pings)
        .dribble(60)
        .every(pace);
    let provider = Provider::anthropic([answer]);
    let editor = ask_with(&provider, json!({"parameters": {"timeout": 2}}));
    editor.keys("<C-]>");
    wait_message(&editor, "anthropic sent nothing but pings for 2 s");
    wait_event(&editor, "FlemmaRequestFinished error");
    expect_requests(&editor, 1);
}

#[test]
fn silence_ends_a_request_and_an_answer() {
    let quiet = json!({"parameters": {"timeout": 3}});
    let provider = Provider::anthropic([Answer::new().stall()]);
    let editor = ask_with(&provider, quiet.clone());
    editor.keys("<C-]>");
    wait_message(&editor, "anthropic sent nothing for 3 s");
    wait_event(&editor, "FlemmaRequestFinished error");
    expect_requests(&editor, 1);
    assert_eq!(editor.text(), QUESTION);

    let provider = Provider::anthropic([Answer::says("Once upon").stall()]);
    let editor = ask_with(&provider, quiet);
    editor.keys("<C-]>");
    editor
        .wait_text("@Assistant:\nOnce upon\n\n<!-- flemma:aborted: anthropic sent nothing for 3 s");
    wait_event(&editor, "FlemmaRequestFinished error");
}
