//! Network and provider faults in an answer: compressed, redirected, slow, oversized, cut
//! inside a call, refused for its length. Failures before the first byte are in
//! `retries`.

use std::fs;

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;
use crate::wire::expect_valid_messages;

/// Options that approve every call and disable retries.
fn unasked_once() -> serde_json::Value {
    json!({"tools": {"require_approval": false}, "parameters": {"max_retries": 0}})
}

/// Sends a question that gets this answer, and waits until the request has failed.
#[track_caller]
fn fails(answer: Answer, message: &str) -> (Editor, Provider) {
    let provider = Provider::anthropic([answer]);
    let editor = ask_with(&provider, unasked_once());
    editor.keys("<C-]>");
    wait_message(&editor, message);
    wait_event(&editor, "FlemmaRequestFinished error");
    expect_requests(&editor, 1);
    (editor, provider)
}

/// Like [`fails`]. The chat must be unchanged.
#[track_caller]
fn leaves_nothing(answer: Answer, message: &str) -> (Editor, Provider) {
    let (editor, provider) = fails(answer, message);
    assert_eq!(editor.text(), QUESTION);
    (editor, provider)
}

#[test]
fn a_compressed_answer_is_read() {
    let provider = Provider::anthropic([Answer::says("Small.").gzip()]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nSmall.\n\n@You:\n");
    let request = &provider.requests()[0];
    assert!(request.header("accept-encoding").unwrap().contains("gzip"));
}

#[test]
fn a_stream_with_another_content_type_is_read() {
    let event = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi.\"}}\n\n\
                 event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let answer = Answer::status(200, event).header("content-type", "text/plain");
    let provider = Provider::anthropic([answer]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nHi.\n\n@You:\n");
}

#[test]
fn a_redirect_is_not_followed_and_the_key_is_not_sent() {
    let elsewhere = Provider::anthropic([Answer::says("Gotcha.")]);
    let answer = Answer::status(307, "").header("location", &elsewhere.url());
    leaves_nothing(answer, "redirects to another address (307");
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn a_key_that_is_echoed_is_shown_nowhere() {
    let body = r#"{"error":{"message":"bad key test-key, test-key"}}"#;
    let (editor, _) = leaves_nothing(Answer::status(401, body), "(401, bad key [redacted]");
    let error = r#"{"type":"error","error":{"type":"x","message":"key test-key"}}"#;
    let answer = Answer::says("Half").bytes(format!("event: error\ndata: {error}\n\n"));
    let (inside, _) = fails(answer, "(key [redacted])");
    for editor in [editor, inside] {
        assert!(!editor.text().contains("test-key"));
        assert!(!editor.messages().contains("test-key"));
        let home = editor.dir().parent().unwrap().to_owned();
        for folder in ["state", "cache", "tmp", "work"] {
            expect_nowhere(&home.join(folder), "test-key");
        }
    }
}

/// Checks that no file below `folder` contains `text`.
#[track_caller]
fn expect_nowhere(folder: &std::path::Path, text: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            expect_nowhere(&path, text);
        } else if let Ok(bytes) = fs::read(&path) {
            let found = String::from_utf8_lossy(&bytes).contains(text);
            assert!(!found, "{} holds {text}", path.display());
        }
    }
}

#[test]
fn an_endless_line_is_cut_off() {
    let line = format!("data: {}", "a".repeat(17 * 1024 * 1024));
    leaves_nothing(
        Answer::new().bytes(line),
        "The provider sent a line, a call, or an answer of more than 16 MB",
    );
}

#[test]
fn a_line_that_arrives_byte_by_byte_counts_as_silence() {
    // A byte every 50 ms, but never a complete line.
    let answer = Answer::says("Once")
        .bytes("data: {")
        .bytes("a".repeat(4000));
    let pace = std::time::Duration::from_millis(50);
    let provider = Provider::anthropic([answer.dribble(40).every(pace)]);
    let options = json!({"parameters": {"timeout": 1, "max_retries": 0}});
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    wait_message(&editor, "anthropic sent nothing for 1 s");
    wait_event(&editor, "FlemmaRequestFinished error");
}

#[test]
fn an_answer_that_arrives_byte_by_byte_can_be_cancelled() {
    let text = "word ".repeat(400);
    let pace = std::time::Duration::from_millis(20);
    let answer = Answer::new()
        .text_in_pieces(&text, 5)
        .dribble(64)
        .every(pace);
    let provider = Provider::anthropic([answer]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nword");
    crate::traces::press_cancel(&editor, "a cancelled answer", |editor| {
        editor.text().contains("<!-- flemma:aborted: cancelled")
    });
    provider.wait_hang_ups(1);
}

#[test]
fn a_conversation_that_is_too_long_is_reported_and_not_shortened() {
    let body = r#"{"error":{"message":"prompt is too long: 250000 tokens > 200000 maximum"}}"#;
    for answer in [Answer::status(400, body), Answer::status(413, body)] {
        leaves_nothing(answer, "The conversation is too long for the model");
    }
}

#[test]
fn a_cut_inside_the_arguments_of_a_call_runs_nothing() {
    let long = format!("touch ran # {}", "x".repeat(2000));
    let answer = Answer::says("Now.").tool_use("t_1", "bash", &command(&long));
    for answer in [
        answer.clone().cut_after(1500),
        answer.clone().reset_after(1500),
        answer.end_after(1500),
    ] {
        let (editor, provider) = fails(
            answer,
            "The connection ended before the answer was complete",
        );
        editor.wait_text("@Assistant:\nNow.\n\n<!-- flemma:aborted: ");
        assert!(
            !editor.text().contains("**Tool Use:**"),
            "{}",
            editor.text()
        );
        editor.keys("<C-]>");
        editor.wait_text("@Assistant:\nDone.");
        assert!(!editor.dir().join("ran").exists());
        expect_valid_messages(&provider.requests()[1].body);
    }
}

#[test]
fn the_environments_proxy_and_its_exceptions_are_respected() {
    let proxy = Provider::anthropic(["Through the proxy."]);
    let at_proxy = format!("http://{}", proxy.address());
    let setup = |base_url: &str| {
        offline()
            .env("HTTP_PROXY", &at_proxy)
            .env("http_proxy", &at_proxy)
            .env("NO_PROXY", "127.0.0.1")
            .env("ANTHROPIC_API_KEY", "test-key")
            .env("ANTHROPIC_BASE_URL", base_url)
            .file("question.chat", QUESTION)
            .start()
    };
    let editor = setup("http://no-such-name.invalid");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nThrough the proxy.");
    assert_eq!(
        proxy.requests()[0].path,
        "http://no-such-name.invalid/v1/messages"
    );

    let direct = Provider::anthropic(["Directly."]);
    let editor = setup(&direct.url());
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nDirectly.");
    assert_eq!(proxy.requests().len(), 1);
}
