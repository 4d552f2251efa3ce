//! Request bodies as the providers receive them, from the first question to results,
//! errors, and thinking.

use harness::{Answer, Provider, Recorded};
use serde_json::{Value as Json, json};

use crate::stage::*;
use crate::wire::{expect_valid_completion, expect_valid_messages};

/// An answer with text, a call that reads a file, and a command that is denied.
fn two_calls() -> Answer {
    Answer::says("I'll look.")
        .tool_use("t_1", "read", &file("f.txt"))
        .tool_use("t_2", "bash", &command("rm -rf x"))
}

/// Plays a turn with [`two_calls`]. Returns its two requests.
#[track_caller]
fn play(provider: &Provider) -> Vec<Recorded> {
    let options = json!({
        "model": "scripted-1",
        "parameters": {"max_tokens": 1000, "temperature": 0.5},
        "tools": {
            "presets": {"$careful": {"approve": ["read"], "deny": ["bash"]}},
            "auto_approve": ["$careful"],
        },
    });
    let setup = with_options(provider, options).with("f.txt", "  a\n\n@You:\n");
    let text = "@System:\nBe brief.\n\n@You:\nWhat is\n  in f.txt?\n";
    let editor = setup.file("question.chat", text).start();
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    provider.requests()
}

/// Removes the cache marks from messages.
fn without_marks(mut messages: Json) -> Json {
    for message in messages.as_array_mut().unwrap() {
        for block in message["content"].as_array_mut().unwrap() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    messages
}

#[test]
fn anthropic_receives_calls_results_and_errors_as_its_documentation_says() {
    let requests = play(&Provider::anthropic([two_calls(), Answer::says("Well.")]));
    let request = &requests[1];
    assert_eq!(request.path, "/v1/messages");
    assert_eq!(request.header("x-api-key"), Some("test-key"));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    let body = &request.body;
    expect_valid_messages(body);
    assert_eq!(body["model"], "scripted-1");
    assert_eq!(body["max_tokens"], 1000);
    assert_eq!(body["temperature"], 0.5);
    assert_eq!(body["stream"], true);
    assert_eq!(body["system"][0]["text"], "Be brief.");
    assert_eq!(
        without_marks(body["messages"].clone()),
        json!([
            {"role": "user", "content": [{"type": "text", "text": "What is\n  in f.txt?"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I'll look."},
                {"type": "tool_use", "id": "t_1", "name": "read", "input": file("f.txt")},
                {"type": "tool_use", "id": "t_2", "name": "bash", "input": command("rm -rf x")},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t_1", "content": "  a\n\n@You:"},
                {"type": "tool_result", "tool_use_id": "t_2",
                 "content": "The tool was denied by a policy.", "is_error": true},
            ]},
        ])
    );
}

#[test]
fn a_chat_completions_server_receives_the_same_conversation() {
    let provider = Provider::chat_completions([two_calls(), Answer::says("Well.")]);
    let requests = play(&provider);
    let request = &requests[1];
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(request.header("authorization"), Some("Bearer test-key"));
    let body = &request.body;
    expect_valid_completion(body);
    assert_eq!(body["model"], "scripted-1");
    assert_eq!(body["temperature"], 0.5);
    let messages = &body["messages"];
    assert_eq!(
        messages[0],
        json!({"role": "system", "content": "Be brief."})
    );
    assert_eq!(
        messages[1],
        json!({"role": "user", "content": "What is\n  in f.txt?"})
    );
    assert_eq!(messages[2]["content"], "I'll look.");
    let call = &messages[2]["tool_calls"][1];
    assert_eq!(
        (&call["id"], &call["function"]["name"]),
        (&json!("t_2"), &json!("bash"))
    );
    assert_eq!(
        call["function"]["arguments"],
        command("rm -rf x").to_string()
    );
    assert_eq!(messages[3]["tool_call_id"], "t_1");
    assert_eq!(messages[3]["content"], "  a\n\n@You:");
    assert_eq!(messages[4]["tool_call_id"], "t_2");
    let error = messages[4]["content"].as_str().unwrap();
    assert!(
        error.contains("The tool was denied by a policy."),
        "{error}"
    );
}

#[test]
fn thinking_goes_back_to_anthropic_with_its_signature() {
    let thinks = Answer::new()
        .thinking("Let me see.\n@You: no", Some("c2lnbmF0dXJl"))
        .redacted_thinking("b3BhcXVl")
        .text("I'll look.")
        .tool_use("t_1", "read", &file("f.txt"));
    let provider = Provider::anthropic([thinks, Answer::says("Well.")]);
    // A model that takes a number of tokens.
    let options = json!({
        "model": "claude-sonnet-4-6",
        "parameters": {"anthropic": {"thinking_budget": 2000}},
    });
    let setup = with_options(&provider, options).with("f.txt", "a\n");
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    assert!(
        editor
            .text()
            .contains("<thinking anthropic:signature=\"c2lnbmF0dXJl\">")
    );

    let requests = provider.requests();
    assert_eq!(
        requests[0].body["thinking"],
        json!({"type": "enabled", "budget_tokens": 2000})
    );
    let content = &requests[1].body["messages"][1]["content"];
    assert_eq!(
        content[0],
        json!({"type": "thinking", "thinking": "Let me see.\n@You: no", "signature": "c2lnbmF0dXJl"})
    );
    assert_eq!(
        content[1],
        json!({"type": "redacted_thinking", "data": "b3BhcXVl"})
    );
    assert_eq!(content[2]["text"], "I'll look.");
    expect_valid_messages(&requests[1].body);
}

#[test]
fn reasoning_of_a_server_is_shown_as_thinking() {
    let thinks = Answer::new().thinking("Let me see.", None).text("Four.");
    let provider = Provider::chat_completions([thinks]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\n<thinking>\nLet me see.\n</thinking>\n\nFour.\n\n@You:\n");
}

#[test]
fn text_for_the_user_only_is_not_sent() {
    let call = Answer::new().tool_use("t_1", "bash", &command("exit 3"));
    let provider = Provider::anthropic([call, Answer::says("Well.")]);
    let editor = ask_with(&provider, json!({"tools": {"require_approval": false}}));
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    let body = provider.requests()[1].body.to_string();
    assert!(body.contains("Command exited with code 3"));
    for private in ["exit_code", "full_output", "test-key"] {
        assert!(!body.contains(private), "{private} in {body}");
    }
}

#[test]
fn openai_receives_reasoning_calls_and_results_as_its_documentation_says() {
    let thinks = Answer::new()
        .thinking("Let me see.\n@You: no", Some("ZW5jcnlwdGVk"))
        .text("I'll look.")
        .tool_use("call_1", "read", &file("f.txt"))
        .tool_use("call_2", "read", &file("none.txt"));
    let provider = Provider::responses([thinks, Answer::says("Well.")]);
    let options = json!({
        "parameters": {"thinking": "low", "max_tokens": 1000, "openai": {"reasoning": "medium"}},
    });
    let setup = with_options(&provider, options).with("f.txt", "a\n");
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    assert!(editor.text().contains("<thinking openai:signature=\""));

    let requests = provider.requests();
    assert_eq!(requests[0].path, "/v1/responses");
    assert_eq!(requests[0].header("authorization"), Some("Bearer test-key"));
    let first = &requests[0].body;
    assert_eq!(
        (
            &first["model"],
            &first["store"],
            &first["max_output_tokens"]
        ),
        (&json!("gpt-6.1-sol"), &json!(false), &json!(1000))
    );
    assert_eq!(
        first["reasoning"],
        json!({"effort": "medium", "summary": "auto"})
    );
    let tools = first["tools"].as_array().unwrap();
    assert!(
        tools
            .iter()
            .all(|tool| tool.get("strict").is_none_or(|it| *it == true)),
        "strict is true or not there"
    );
    let input = &requests[1].body["input"];
    assert_eq!(input[0], first["input"][0]);
    assert_eq!(input[1]["encrypted_content"], "ZW5jcnlwdGVk");
    assert_eq!(input[1]["summary"][0]["text"], "Let me see.\n@You: no");
    assert_eq!(input[2]["content"][0]["text"], "I'll look.");
    assert_eq!(input[2]["phase"], "commentary");
    let results: Vec<&Json> = (5..7).map(|at| &input[at]["call_id"]).collect();
    assert_eq!(results, ["call_1", "call_2"]);
    assert_eq!(input[5]["output"], "a");
    assert!(input[6]["output"].as_str().unwrap().starts_with("Error: "));
    assert_eq!(
        requests[1].body["prompt_cache_key"],
        first["prompt_cache_key"]
    );
}

#[test]
fn deepseek_receives_its_own_thinking() {
    let thinks =
        Answer::new()
            .thinking("Let me see.", None)
            .tool_use("call_1", "read", &file("f.txt"));
    let provider = Provider::chat_completions([thinks, Answer::says("Well.")]);
    let options = json!({
        "provider": "deepseek",
        "model": "deepseek-v4-pro",
        "parameters": {"thinking": "low", "deepseek": {"base_url": provider.url(), "api_key": "k"}},
    });
    let setup = offline().options(options).with("f.txt", "a\n");
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    assert!(
        editor
            .text()
            .contains("<thinking deepseek:signature=\"\">\nLet me see.\n</thinking>")
    );

    let requests = provider.requests();
    assert_eq!(requests[0].header("authorization"), Some("Bearer k"));
    assert_eq!(requests[0].body["thinking"], json!({"type": "enabled"}));
    let answer = &requests[1].body["messages"][1];
    assert_eq!(answer["reasoning_content"], "Let me see.");
    assert_eq!(answer["tool_calls"][0]["id"], "call_1");
}
