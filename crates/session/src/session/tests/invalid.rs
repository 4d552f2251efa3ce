//! Calls that cannot run, and chats in which something is missing: the user and the model
//! learn what is wrong, and what is sent is a valid conversation.

use serde_json::json;

use super::script::{Answer, bash, call, calls, echo, read, says, shown};
use super::{QUESTION, Stage};
use crate::protocol::Display;
use provider::{StopReason, StreamEvent};

/// The result of the call `t_1` of this answer, which cannot run. The model reads it and
/// answers.
#[track_caller]
fn result_of(answer: Answer) -> String {
    let stage = Stage::unasked(QUESTION).answers([answer, says("I see.")]);
    stage.press("advance");
    stage.expect_became(["t_1"], ["failed"]);
    stage.expect_end("@Assistant:\nI see.\n\n@You:\n\n");
    let message = stage.script.last_message();
    assert!(message[0].starts_with("t_1 (error): "), "{message:?}");
    message[0].clone()
}

#[test]
fn an_unknown_tool_is_answered_with_the_known_ones() {
    let result = result_of(calls([("t_1", "bsah", json!({"command": "ls"}))]));
    assert!(
        result.contains("There is no tool named \"bsah\"."),
        "{result}"
    );
    assert!(result.contains("bash, calculator"), "{result}");
}

#[test]
fn arguments_that_are_not_an_object_are_reported() {
    for arguments in ["[1, 2]", "\"ls\"", "7", "{\"command\": "] {
        let mut answer = call("t_1", "bash", arguments);
        answer.push(StreamEvent::Stop(StopReason::ToolUse));
        let result = result_of(answer);
        let expected = "The arguments could not be read, so the call was not run";
        assert!(result.contains(expected), "{arguments}: {result}");
    }
}

#[test]
fn arguments_that_violate_the_schema_are_reported() {
    let missing = result_of(calls([("t_1", "echo", json!({}))]));
    assert!(
        missing.contains("\"text\" is a required property"),
        "{missing}"
    );
    let wrong = result_of(calls([("t_1", "echo", json!({"text": 7}))]));
    assert!(
        wrong.contains("text: 7 is not of type \"string\""),
        "{wrong}"
    );
}

#[test]
fn two_calls_in_an_answer_with_one_id_are_two_calls() {
    let text = |text: &str| ("t_1", "echo", json!({ "text": text }));
    let stage = Stage::unasked(QUESTION).answers([calls([text("one"), text("two")])]);
    stage.press("advance");
    let results = stage.script.last_message();
    assert_eq!(results[0], "t_1: one");
    assert!(results[1].ends_with(": two"), "{results:?}");
}

#[test]
fn two_calls_in_a_file_with_one_id_are_reported_and_neither_runs() {
    let call = "**Tool Use:** `echo` (`t_1`)\n\n```json\n{\"text\":\"x\"}\n```\n\n";
    let text = format!("@You:\nGo.\n\n@Assistant:\n{call}{call}@You:\n");
    let stage = Stage::unasked(&text).answers([says("I see.")]);
    stage.expect_diagnostic("t_1");
    stage.press("advance");
    let refusals = stage.text();
    let refusals = refusals.matches("had the id \"t_1\", so neither was run");
    assert_eq!(refusals.count(), 2, "{}", stage.story());
    stage.script.prompt();
}

#[test]
fn a_model_that_only_calls_unknown_tools_is_stopped() {
    let answer = |id| calls([(id, "nothing", json!({}))]);
    let answers = ["t_1", "t_2", "t_3", "t_4", "t_5"].map(answer);
    let stage = Stage::of(QUESTION).answers(answers);
    stage.press("advance");
    stage.expect_notice("the same call of nothing failed");
    stage.expect_requests(3);
}

#[test]
fn a_result_without_a_call_is_reported_and_not_sent() {
    let text = "@You:\nGo.\n\n@Assistant:\nNo calls here.\n\n@You:\n\
                **Tool Result:** `t_9`\n\n```\nold output\n```\n\nAnd now?\n";
    let stage = Stage::of(text);
    stage.expect_diagnostic("t_9");
    stage.press("advance");
    assert_eq!(stage.script.last_message(), ["And now?"]);
    assert!(stage.text().starts_with(text), "{}", stage.story());
}

#[test]
fn a_call_of_an_older_turn_is_reviewed_there() {
    let text = "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `echo` (`t_1`)\n\n```json\n{\"text\":\"x\"}\n```\n\n\
                @You:\nNever mind.\n\n@Assistant:\nFine.\n\n@You:\nAgain, please.\n";
    let stage = Stage::of(text);
    stage.expect_diagnostic("t_1");
    stage.press("advance");
    stage.expect_requests(0);
    stage.expect_became(["t_1"], ["waits"]);
    // The result has its place above the words that were there.
    stage.press_at("resolve", "**Tool Result:** `t_1`");
    let expected = "@You:\n**Tool Result:** `t_1`\n\n```\nx\n```\n\nNever mind.\n";
    assert!(stage.text().contains(expected), "{}", stage.story());
    stage.script.prompt();
}

#[test]
fn a_call_without_a_result_is_sent_with_an_error() {
    let text = "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `echo` (`t_1`)\n\n```json\n{}\n```\n\n\
                @You:\nNever mind.\n";
    let stage = Stage::of(text);
    stage.press("send");
    let sent = stage.script.last_message();
    let error = "t_1 (error): No result was given for this call.";
    assert_eq!(sent, [error, "Never mind."]);
    stage.expect_notice("No result for echo on line 5: the model gets an error instead.");
    assert!(stage.text().starts_with(text), "{}", stage.story());
}

#[test]
fn a_chat_that_is_sent_with_pending_calls_runs_none_and_has_their_errors() {
    let answer = calls([echo("t_1"), echo("t_2")]);
    let stage = Stage::of(QUESTION).answers([answer, says("Well.")]);
    stage.press("advance");
    stage.press("send");
    stage.expect_end("@Assistant:\nWell.\n\n@You:\n\n");
    let is_error = |it: &String| it.contains(" (error): ");
    let sent = stage.script.last_message();
    assert!(sent.len() == 2 && sent.iter().all(is_error), "{sent:?}");
}

#[test]
fn a_chat_with_nothing_to_send_says_so() {
    for (text, sentence) in [
        ("@You:\n\n", "There is nothing to send."),
        ("", "There is nothing to send."),
        (
            "@You:\nGo.\n\n@Assistant:\nDone.\n",
            "There is nothing new to send.",
        ),
    ] {
        let stage = Stage::of(text);
        stage.command("advance", 0, json!({}), Default::default(), None);
        stage.wait_notice(sentence);
        stage.expect_requests(0);
    }
}

#[test]
fn a_call_that_the_token_limit_cuts_off_never_runs() {
    let mut answer = vec![StreamEvent::Text("I'll do it.".to_owned())];
    answer.extend(call("t_1", "echo", "{\"text\": \"x\"}"));
    let name = "echo".to_owned();
    answer.push(StreamEvent::ToolUseStart { name });
    answer.push(StreamEvent::Stop(StopReason::MaxTokens));
    let stage = Stage::unasked(QUESTION).answers([answer, says("As I said.")]);
    stage.press("advance");
    stage
        .expect_notice("reached its token limit in the middle of its calls, so none of them runs.");
    assert!(stage.text().contains("<!-- flemma:aborted: "));
    stage.expect_requests(1);
    stage.press("advance");
    stage.expect_end("@Assistant:\nAs I said.\n\n@You:\n\n");
    stage.expect_became(["t_1"], ["failed"]);
}

#[test]
fn a_call_of_an_answer_that_fails_never_runs() {
    let mut answer = call("t_1", "echo", "{\"text\": \"x\"}");
    answer.extend(super::script::fails("The connection ended."));
    let stage = Stage::unasked(QUESTION).answers([answer, says("As I said.")]);
    stage.press("advance");
    stage.expect_requests(1);
    stage.press("advance");
    stage.expect_end("@Assistant:\nAs I said.\n\n@You:\n\n");
    stage.expect_became(["t_1"], ["failed"]);
    assert_eq!(stage.script.prompt().messages.len(), 3);
}

#[test]
fn text_that_reaches_the_token_limit_is_marked_and_can_be_continued() {
    let answer = vec![
        StreamEvent::Text("A long story".to_owned()),
        StreamEvent::Stop(StopReason::MaxTokens),
    ];
    let stage = Stage::of(QUESTION).answers([answer, says("and its end.")]);
    stage.press("advance");
    stage.expect_notice("The answer reached its token limit and is cut there.");
    stage.expect_end(
        "@Assistant:\nA long story\n\n<!-- flemma:aborted: The answer reached its token limit and is cut there. -->\n\n@You:\n\n",
    );
    stage.press("advance");
    stage.expect_end(
        "Your answer was cut off. Continue from where it ends.\n\n@Assistant:\nand its end.\n\n@You:\n\n",
    );
}

#[test]
fn the_next_call_works_after_one_that_failed() {
    let answer = calls([
        read("t_1", "missing.txt"),
        bash("t_2", "exit 3"),
        echo("t_3"),
    ]);
    let stage = Stage::beside(&[], json!({"tools": {"require_approval": false}}), QUESTION);
    let stage = stage.answers([answer]);
    stage.press("advance");
    // A command that fails is a result, with its code.
    stage.expect_became(["t_1", "t_2", "t_3"], ["failed", "ran", "ran"]);
    let sent = &stage.script.prompt().messages[2];
    assert!(shown(sent)[1].contains("Command exited with code 3"));
}

#[test]
fn a_key_in_a_pending_chat_only_moves_the_cursor_to_the_call() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")])]);
    stage.press("advance");
    let before = stage.text();
    let line = before
        .lines()
        .position(|it| it.starts_with("**Tool Result"));
    stage.record().shown.clear();
    stage.press("advance");
    let goes = |it: &Display| matches!(it, Display::Cursor(it) if Some(it.line) == line);
    assert!(stage.record().shown.iter().any(goes), "{}", stage.story());
    stage.expect_text(&before);
    stage.expect_requests(1);
}
