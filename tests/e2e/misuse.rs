//! Calls that cannot run and malformed chats: each is reported to the user and the model,
//! and the request is a valid conversation.

use harness::{Answer, Provider};
use serde_json::json;

use crate::stage::*;
use crate::wire::{expect_valid_completion, expect_valid_messages};

/// Plays one answer with a call that cannot run, and returns its result block.
/// The model hears of it, and answers.
#[track_caller]
fn result_of(answer: &Answer) -> String {
    let provider = Provider::chat_completions([answer.clone(), Answer::says("I see.")]);
    let editor = ask_with(&provider, json!({"tools": {"require_approval": false}}));
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nI see.");
    expect_valid_completion(&provider.requests()[1].body);

    let provider = Provider::anthropic([answer.clone(), Answer::says("I see.")]);
    let editor = ask_with(&provider, json!({}));
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nI see.");
    let requests = provider.requests();
    assert_eq!(requests.len(), 2);
    expect_valid_messages(&requests[1].body);
    assert_eq!(
        requests[1].body["messages"][2]["content"][0]["is_error"],
        true
    );
    result(&editor, "t_1")
}

#[test]
fn an_unknown_tool_is_answered_with_the_known_ones() {
    let block = result_of(&Answer::new().tool_use("t_1", "bsah", command("ls")));
    assert!(
        block.contains("There is no tool named \"bsah\"."),
        "{block}"
    );
    assert!(block.contains("bash, calculator"), "{block}");
}

#[test]
fn arguments_that_are_not_an_object_are_reported() {
    for arguments in ["[1, 2]", "\"ls\"", "7", "{\"command\": "] {
        let block = result_of(&Answer::new().tool_use_raw("t_1", "bash", arguments));
        assert!(
            block.contains("The arguments could not be read, so the call was not run"),
            "{arguments}: {block}"
        );
    }
}

#[test]
fn arguments_that_violate_the_schema_are_reported_before_the_review() {
    let missing = result_of(&Answer::new().tool_use("t_1", "bash", json!({"label": "x"})));
    assert!(
        missing.contains("\"command\" is a required property"),
        "{missing}"
    );
    let wrong = json!({"label": "x", "command": 7, "timeout": null});
    let wrong = result_of(&Answer::new().tool_use("t_1", "bash", wrong));
    assert!(
        wrong.contains("command: 7 is not of type \"string\""),
        "{wrong}"
    );
}

#[test]
fn two_calls_in_an_answer_with_one_id_get_different_ids() {
    let twice = Answer::new()
        .tool_use("t_1", "calculator", json!({"expression": "1"}))
        .tool_use("t_1", "calculator", json!({"expression": "2"}));
    let provider = Provider::anthropic([twice, Answer::says("I see.")]);
    let editor = ask_with(&provider, json!({"tools": {"require_approval": false}}));
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nI see.");
    let body = &provider.requests()[1].body;
    expect_valid_messages(body);
    assert_eq!(body["messages"][2]["content"][1]["content"], "2");
}

#[test]
fn two_calls_in_a_file_with_one_id_are_reported_and_neither_runs() {
    let call = "**Tool Use:** `calculator` (`t_1`)\n\n```json\n{\"expression\":\"1\"}\n```\n\n";
    let text = format!("@You:\nGo.\n\n@Assistant:\n{call}{call}@You:\n");
    let provider = Provider::anthropic([Answer::says("I see.")]);
    let editor = open(&provider, &text);
    wait_diagnostic(&editor, "t_1");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nI see.");
    assert_eq!(
        editor
            .text()
            .matches("had the id \"t_1\", so neither was run")
            .count(),
        2
    );
    expect_valid_messages(&provider.requests()[0].body);
}

#[test]
fn a_model_that_only_calls_unknown_tools_is_stopped() {
    let script = (0..9).map(|at| Answer::new().tool_use(&format!("t_{at}"), "nothing", json!({})));
    let provider = Provider::anthropic(script);
    let editor = ask_with(&provider, json!({}));
    editor.keys("<C-]>");
    wait_message(&editor, "the same call of nothing failed");
    expect_requests(&editor, 3);
}

#[test]
fn a_result_without_a_call_is_reported_and_not_sent() {
    let text = "@You:\nGo.\n\n@Assistant:\nNo calls here.\n\n@You:\n\
                **Tool Result:** `t_9`\n\n```\nold output\n```\n\nAnd now?\n";
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = open(&provider, text);
    wait_diagnostic(&editor, "t_9");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    expect_valid_messages(&provider.requests()[0].body);
    assert!(editor.text().starts_with(text));
}

#[test]
fn a_call_of_an_older_turn_is_reviewed_there() {
    let text = "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `read` (`t_1`)\n\n```json\n\
                {\"label\":\"\",\"path\":\"f.txt\",\"offset\":null,\"limit\":null}\n```\n\n\
                @You:\nNever mind.\n\n@Assistant:\nFine.\n\n@You:\nAgain, please.\n";
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let setup = setup(&provider).with("f.txt", "content\n");
    let editor = setup.file("question.chat", text).start();
    watch(&editor);
    wait_diagnostic(&editor, "t_1");
    editor.keys("<C-]>");
    wait_cursor(&editor, "**Tool Result:** `t_1`");
    expect_requests(&editor, 0);
    // The result has its place above the words that stood there.
    editor.keys("<M-CR>");
    editor.wait_text("@You:\n**Tool Result:** `t_1`\n\n```\ncontent\n```\n\nNever mind.\n");
    editor.wait_text("@Assistant:\nWell.");
    expect_valid_messages(&provider.requests()[0].body);
}

#[test]
fn a_call_without_a_result_is_sent_with_an_error() {
    let text = "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `read` (`t_1`)\n\n```json\n{}\n```\n\n\
                @You:\nNever mind.\n";
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = open(&provider, text);
    editor.command("Flemma send");
    editor.wait_text("@Assistant:\nWell.");
    let body = &provider.requests()[0].body;
    expect_valid_messages(body);
    let result = &body["messages"][2]["content"][0];
    assert_eq!(result["content"], "No result was given for this call.");
    assert_eq!(result["is_error"], true);
    wait_message(
        &editor,
        "There is no result for \"t_1\", so the model gets an error instead.",
    );
    assert!(editor.text().starts_with(text));
}

#[test]
fn a_chat_with_nothing_to_send_says_so() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    for (text, sentence) in [
        ("@You:\n\n", "There is nothing to send."),
        ("", "There is nothing to send."),
        (
            "@You:\nGo.\n\n@Assistant:\nDone.\n",
            "There is nothing new to send.",
        ),
    ] {
        let editor = open(&provider, text);
        editor.keys("<C-]>");
        wait_message(&editor, sentence);
        expect_requests(&editor, 0);
    }
}
