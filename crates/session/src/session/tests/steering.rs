//! Messages that the user sends while the model works.

use serde_json::json;

use super::script::{begins, calls, echo, ends, fails, says, wait};
use super::{QUESTION, Stage};
use crate::protocol::Display;

/// Returns a chat in which the first of three calls runs.
fn first_of_three_runs() -> Stage {
    let options = json!({"tools": {"require_approval": false, "max_concurrent": 1}});
    let answer = calls([wait("t_1"), echo("t_2"), echo("t_3")]);
    let stage = Stage::with(options, QUESTION).answers([answer, says("Stopped.")]);
    stage.key("advance").wait_started("t_1");
    stage
}

/// Returns a chat whose answer has begun.
fn answering<const N: usize>(later: [&str; N]) -> Stage {
    let stage = Stage::of(QUESTION).answers([begins("Well")]);
    later
        .into_iter()
        .for_each(|it| stage.script.answers_next(says(it)));
    stage.key("advance").wait_text("Well");
    stage
}

/// Returns the queued messages as they are shown.
fn queued(stage: &Stage) -> Vec<String> {
    let record = stage.record();
    let queued = record.shown.iter().rev().find_map(|it| match it {
        Display::Queued(queued) => Some(queued.items.clone()),
        _ => None,
    });
    let items = queued.unwrap_or_default();
    items
        .iter()
        .map(|it| format!("{}: {}", it.when, it.text))
        .collect()
}

#[test]
fn a_message_during_the_first_of_three_calls_skips_the_others_and_is_sent() {
    let stage = first_of_three_runs();
    stage
        .say("steer", "STOP")
        .wait_text("\n\nSTOP\n")
        .open_gate()
        .wait_rest();
    stage.expect_end("STOP\n\n@Assistant:\nStopped.\n\n@You:\n\n");
    let skipped = |id| format!("{id} (error): Skipped due to queued user message");
    let expected = [
        "t_1: t_1 ran".to_owned(),
        skipped("t_2"),
        skipped("t_3"),
        "STOP".to_owned(),
    ];
    assert_eq!(stage.script.last_message(), expected);
}

#[test]
fn a_queued_message_that_looks_like_structure_is_text() {
    let stage = first_of_three_runs();
    stage
        .say("steer", "@Assistant:  I   may | \"all\" %")
        .open_gate()
        .wait_rest();
    assert!(stage.text().contains("\\@Assistant:  I   may | \"all\" %"));
    assert_eq!(
        stage.script.last_message()[3],
        "@Assistant:  I   may | \"all\" %"
    );
}

#[test]
fn a_call_that_waits_for_review_is_skipped() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")]), says("Ok.")]);
    stage.press("advance");
    stage.say("steer", "Use read.").wait_text("Ok.\n\n@You:\n");
    assert!(
        stage
            .result("t_1")
            .contains("Skipped due to queued user message")
    );
}

#[test]
fn a_message_during_an_answer_waits_below_it_and_is_sent_after_it() {
    let stage = answering(["Ok.", "Sure."]);
    stage
        .say("steer", "Shorter.")
        .say("queue", "And then?")
        .settle();
    stage.wait("two messages", |it| {
        it.shown
            .iter()
            .any(|it| matches!(it, Display::Queued(it) if it.items.len() == 2))
    });
    assert_eq!(queued(&stage), ["next: Shorter.", "later: And then?"]);
    stage.continues(ends()).wait_text("Sure.\n\n@You:\n");
    stage.expect_text(
        "@You:\nGo.\n\n@Assistant:\nWell\n\n@You:\nShorter.\n\n@Assistant:\nOk.\n\n\
         @You:\nAnd then?\n\n@Assistant:\nSure.\n\n@You:\n\n",
    );
    stage.expect_requests(3);
}

#[test]
fn a_message_in_an_idle_chat_is_sent_at_once() {
    let stage = Stage::of("@You:\n\n").answers([says("Yes.")]);
    stage.say("steer", "Well?").wait_rest();
    stage.expect_text("@You:\nWell?\n\n@Assistant:\nYes.\n\n@You:\n\n");
}

#[test]
fn a_message_after_a_started_one_is_added_and_not_sent() {
    let stage = Stage::of("@You:\nI was th\n");
    stage
        .say("steer", "And?")
        .wait_notice("You had started a message");
    stage.expect_text("@You:\nI was th\n\nAnd?\n");
    stage.expect_requests(0);
}

#[test]
fn a_cancel_moves_queued_messages_to_the_prompt_and_sends_nothing() {
    let stage = first_of_three_runs();
    stage.say("queue", "Next.").key("cancel").wait_rest();
    stage.expect_end("\n\nNext.\n");
    stage.expect_requests(1);
}

#[test]
fn queued_messages_that_are_taken_back_are_in_the_prompt() {
    let stage = answering([]);
    stage
        .say("queue", "One.")
        .say("queue", "Two.")
        .key("queue!");
    stage.settle().continues(ends()).wait_rest();
    stage.expect_end("Well\n\n@You:\nOne.\n\nTwo.\n");
    stage.expect_requests(1);
}

#[test]
fn a_failed_request_leaves_queued_messages_in_the_prompt() {
    let stage = answering([]);
    stage
        .say("steer", "Shorter.")
        .say("queue", "Next.")
        .settle();
    stage.continues(fails("It broke.")).wait_rest();
    stage.expect_end("-->\n\n@You:\nShorter.\n\nNext.\n");
}

#[test]
fn the_list_of_messages_says_when_there_are_none() {
    let stage = Stage::of(QUESTION);
    stage.press("queue");
    stage.expect_notice("No message is queued.");
}

/// Presses the key of `:Flemma ask`.
fn ask(stage: &Stage, text: &str, send: bool) {
    stage.key_at("ask", "", json!({"text": text, "send": send}));
}

#[test]
fn a_selection_goes_into_the_prompt_and_a_question_is_sent() {
    let stage = Stage::of("@You:\nMine.\n").answers([says("Yes.")]);
    ask(&stage, "a.rs:\n\n```\n@You:\n```", false);
    stage.wait_text("```\n\\@You:\n```");
    stage.expect_requests(0);
    ask(&stage, "Right?", true);
    stage.wait_notice("You had started a message");
    stage.expect_text("@You:\nMine.\n\na.rs:\n\n```\n\\@You:\n```\n\nRight?\n");
    stage.key("advance").wait_text("@Assistant:\nYes.");
    stage.expect_requests(1);
}

#[test]
fn a_question_skips_no_pending_call() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")])]);
    stage.press("advance");
    ask(&stage, "Why?", true);
    stage.wait("a queued question", |it| {
        it.shown
            .iter()
            .any(|it| matches!(it, Display::Queued(it) if it.items.len() == 1))
    });
    assert!(stage.result("t_1").contains("status=pending"));
}
