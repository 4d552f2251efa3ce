//! Gemini: requests, answers, and what is in the chat.

use harness::{Answer, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;

/// Two parallel calls, each with its own signature.
fn two_reads() -> Answer {
    Answer::new()
        .thinking("I look at both.", Some("S1"))
        .tool_use("fc-1", "read", &file("f.txt"))
        .thinking("", Some("S2"))
        .tool_use("fc-2", "read", &file("f.txt"))
}

fn parts(body: &Json, message: usize) -> &Json {
    &body["contents"][message]["parts"]
}

#[test]
fn parallel_calls_keep_their_signatures() {
    let provider = Provider::gemini([two_reads(), Answer::says("Well.")]);
    let options = json!({"model": "gemini-3-pro-preview", "parameters": {"thinking": "high"}});
    let setup = with_options(&provider, options).with("f.txt", "a\n");
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");

    let text = editor.text();
    let signed = "<thinking gemini:signature=\"S1\">\nI look at both.\n</thinking>\n\n\
                  **Tool Use:** `read` (`fc-1`)";
    assert!(text.contains(signed), "{text}");
    let signed = "<thinking gemini:signature=\"S2\"/>\n\n**Tool Use:** `read` (`fc-2`)";
    assert!(text.contains(signed), "{text}");

    let requests = provider.requests();
    let request = &requests[1];
    assert_eq!(
        request.path,
        "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse"
    );
    assert_eq!(request.header("x-goog-api-key"), Some("test-key"));
    let config = &request.body["generationConfig"]["thinkingConfig"];
    assert_eq!(config["thinkingLevel"], "HIGH");
    let call = |id: &str| json!({"id": id, "name": "read", "args": file("f.txt")});
    assert_eq!(
        *parts(&request.body, 1),
        json!([
            {"functionCall": call("fc-1"), "thoughtSignature": "S1"},
            {"functionCall": call("fc-2"), "thoughtSignature": "S2"},
        ])
    );
    let result = |id: &str| json!({"id": id, "name": "read", "response": {"output": "a"}});
    assert_eq!(
        *parts(&request.body, 2),
        json!([{"functionResponse": result("fc-1")}, {"functionResponse": result("fc-2")}])
    );
}

#[test]
fn calls_without_ids_get_unique_ones() {
    let call = || Answer::new().tool_use("", "read", &file("f.txt"));
    let provider = Provider::gemini([call(), call(), Answer::says("Well.")]);
    let setup = setup(&provider).with("f.txt", "a\n");
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    let body = &provider.requests()[2].body;
    assert_eq!(parts(body, 1)[0]["functionCall"]["id"], "call_1");
    assert_eq!(parts(body, 3)[0]["functionCall"]["id"], "call_1_2");
    assert_eq!(parts(body, 4)[0]["functionResponse"]["id"], "call_1_2");
}

#[test]
fn gemini_continues_a_chat_of_another_provider() {
    let text = "@You:\nGo.\n\n@Assistant:\n<thinking anthropic:signature=\"c2ln\">\nSecret plan.\n\
                </thinking>\n\n**Tool Use:** `bash` (`toolu_1`)\n\n```json\n{\"command\":\"ls\"}\n```\n\n\
                @You:\n**Tool Result:** `toolu_1` (error)\n\n```\nNo.\n```\n";
    let provider = Provider::gemini([Answer::says("Well.")]);
    let options = json!({"model": "gemini-3-flash-preview"});
    let setup = with_options(&provider, options).file("question.chat", text);
    let editor = setup.start();
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    let body = &provider.requests()[0].body;
    assert!(!body.to_string().contains("Secret plan"), "{body}");
    let call = &parts(body, 1)[0];
    assert_eq!(call["functionCall"]["id"], "toolu_1");
    assert_eq!(call["thoughtSignature"], "skip_thought_signature_validator");
    let response = &parts(body, 2)[0]["functionResponse"];
    assert_eq!(response["name"], "bash");
    assert_eq!(response["response"], json!({"error": "No."}));
    assert!(editor.text().contains("Secret plan."));
}

#[test]
fn a_blocked_answer_keeps_its_text_and_says_why() {
    let provider = Provider::gemini([Answer::says("Well, ").stop("SAFETY")]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_text("<!-- flemma:aborted: The provider stopped the answer (SAFETY)");
    assert!(editor.text().contains("@Assistant:\nWell,"));
}
