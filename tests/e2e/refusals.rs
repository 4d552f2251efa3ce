//! Providers that refuse, disconnect, or send garbage: what the user sees, what stays in
//! the chat, and that the next key continues.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;
use crate::wire::{expect_valid_completion, expect_valid_messages};

/// Checks the message about a provider that fails before the answer, and the next request. Nothing is
/// retried.
#[track_caller]
fn refused(provider: Provider, message: &str) -> String {
    let provider = {
        provider.then(Answer::says("Now it works."));
        provider
    };
    let editor = ask_with(&provider, json!({"parameters": {"max_retries": 0}}));
    editor.keys("<C-]>");
    let messages = wait_message(&editor, message);
    wait_event(&editor, "FlemmaRequestFinished error");
    at_rest(&editor);
    assert_eq!(editor.text(), QUESTION);
    assert!(!messages.contains("test-key"), "{messages}");

    editor.keys("<C-]>");
    editor.wait_for("the answer", |editor| {
        editor.text() == "@You:\nGo.\n\n@Assistant:\nNow it works.\n\n@You:\n\n"
    });
    messages
}

fn anthropic_error(status: u16, kind: &str, message: &str) -> Answer {
    let body = json!({"type": "error", "error": {"type": kind, "message": message}});
    Answer::status(status, body.to_string())
}

#[test]
fn a_wrong_key_is_named_with_the_variable_it_came_from() {
    let answer = anthropic_error(401, "authentication_error", "invalid x-api-key");
    refused(
        Provider::anthropic([answer]),
        "Anthropic refused the key (401, invalid x-api-key). Set $ANTHROPIC_API_KEY (in \
         Neovim by :let), run :Flemma restart, and press Ctrl-] again; the conversation is unchanged.",
    );
    let body = r#"{"error":{"message":"Invalid API key: test-key","code":401}}"#;
    let messages = refused(
        Provider::chat_completions([Answer::status(401, body)]),
        "Set $OPENAI_COMPATIBLE_API_KEY (in Neovim by :let), run :Flemma restart",
    );
    assert!(
        messages.contains("refused the key (401, Invalid API key: "),
        "{messages}"
    );
}

#[test]
fn an_unknown_model_is_named() {
    let answer = anthropic_error(404, "not_found_error", "model: claude-none");
    refused(
        Provider::anthropic([answer]),
        "does not know this model or address (404, model: claude-none).",
    );
}

#[test]
fn a_limit_says_when_to_try_again() {
    let answer = anthropic_error(429, "rate_limit_error", "slow down");
    refused(
        Provider::anthropic([answer.header("retry-after", "7")]),
        "accepts no more requests for now (429, slow down). Press Ctrl-] again in 7 s;",
    );
}

#[test]
fn a_server_error_is_reported_as_the_servers_fault() {
    let answer = anthropic_error(500, "api_error", "Internal server error");
    refused(
        Provider::anthropic([answer]),
        "Anthropic failed or is overloaded (500, Internal server error).",
    );
}

#[test]
fn a_web_page_is_not_shown_as_an_answer() {
    let page = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
    let answer = |status| Answer::status(status, page).header("content-type", "text/html");
    refused(
        Provider::chat_completions([answer(502)]),
        "answered 502 with a web page that says \"502 Bad Gateway\". Such pages come from a gateway or a proxy.",
    );
    refused(
        Provider::anthropic([answer(200)]),
        "a web page that says \"502 Bad Gateway\" instead of an event stream",
    );
}

#[test]
fn an_answer_without_content_is_named() {
    refused(
        Provider::anthropic([Answer::status(200, "")]),
        "The provider's answer has no content.",
    );
    refused(
        Provider::chat_completions([Answer::new()]),
        "The model sent an empty answer.",
    );
}

#[test]
fn a_server_that_does_not_speak_http_is_reported_with_its_address() {
    let messages = refused(
        Provider::anthropic([Answer::wire("SSH-2.0-OpenSSH_9.9\r\n")]),
        "did not answer (",
    );
    assert!(messages.contains("http://127.0.0.1:"), "{messages}");
}

#[test]
fn a_missing_key_is_reported_with_its_variable_and_nothing_is_sent() {
    let editor = offline().file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    wait_message(
        &editor,
        "There is no key for anthropic, so nothing was sent: $ANTHROPIC_API_KEY is not set; ",
    );
    assert_eq!(editor.text(), QUESTION);
}

/// Checks an answer that breaks off: its text stays with the reason, none of its calls runs, and the
/// next key continues it.
#[track_caller]
fn broken(answer: &Answer, message: &str) -> (Editor, [serde_json::Value; 2]) {
    let mut bodies = Vec::new();
    let mut last = None;
    for start in [
        Provider::chat_completions as fn([Answer; 1]) -> Provider,
        Provider::anthropic,
    ] {
        let provider = start([answer.clone()]);
        provider.then(Answer::says("As I said."));
        let options = json!({"tools": {"require_approval": false}});
        let editor = ask_with(&provider, options);
        editor.keys("<C-]>");
        wait_message(&editor, message);
        wait_event(&editor, "FlemmaRequestFinished error");
        editor.wait_text("<!-- flemma:aborted: ");
        expect_requests(&editor, 1);
        editor.keys("<C-]>");
        editor.wait_text("@Assistant:\nAs I said.\n\n@You:\n");
        assert!(!editor.dir().join("ran").exists());
        bodies.push(provider.requests()[1].body.clone());
        last = Some(editor);
    }
    expect_valid_completion(&bodies[0]);
    expect_valid_messages(&bodies[1]);
    (last.unwrap(), [bodies.remove(0), bodies.remove(0)])
}

#[test]
fn a_connection_that_breaks_keeps_the_text_that_came() {
    let answer = Answer::new().text_in_pieces("Once upon a time there was", 4);
    let (editor, bodies) = broken(&answer.cut_after(900), "The connection ended");
    assert!(editor.text().contains("@Assistant:\nOnce upon"));
    assert!(bodies[0].to_string().contains("Once upon"));
}

#[test]
fn an_error_in_the_middle_keeps_the_text_and_says_which() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let answer = Answer::says("Half an answer")
        .bytes(format!("event: error\ndata: {error}\n\n"))
        .text(" and more");
    let (editor, _) = broken(&answer, "ended its answer with an error (Overloaded)");
    assert!(
        editor
            .text()
            .contains("@Assistant:\nHalf an answer\n\n<!--")
    );
}

#[test]
fn a_connection_cut_after_a_whole_call_runs_nothing() {
    // The call is complete, but not its message.
    let answer = Answer::new()
        .tool_use("t_1", "bash", &command("touch ran"))
        .text_in_pieces("and then some more text that takes a while to say", 2);
    let (editor, _) = broken(&answer.cut_after(2600), "The connection ended");
    assert!(result(&editor, "t_1").starts_with("**Tool Result:** `t_1` (error)"));
}

#[test]
fn an_answer_may_arrive_in_any_pieces() {
    let text = "日本 👩‍👩‍👧 é\n- and a list";
    let call = |answer: Answer| answer.tool_use("t_1", "bash", &command("echo 日本"));
    let expected = "@Assistant:\n日本 👩‍👩‍👧 é\n- and a list\n\n**Tool Use:** `bash` (`t_1`)";
    for odd in [
        call(Answer::says(text)).dribble(1),
        call(Answer::says(text)).dribble(7).crlf(),
        call(Answer::says(text)).comments().byte_order_mark(),
    ] {
        let provider = Provider::anthropic([odd]);
        let editor = open(&provider, QUESTION);
        editor.keys("<C-]>");
        wait_cursor(&editor, "**Tool Result:** `t_1`");
        assert!(editor.text().contains(expected), "{}", editor.text());
        assert!(editor.text().contains("\"command\":\"echo 日本\""));
    }
}
