//! Calls that run: at once or in order, cancelled, and what autopilot does with them.

use serde_json::{Value, json};

use super::script::{calls, echo, says, wait};
use super::{QUESTION, Stage};
use crate::frontend::SessionEvent;
use crate::protocol::Display;

/// Returns options with which everything runs without approval, and further options of
/// tools.
fn unasked(mut tools: Value) -> Value {
    tools["require_approval"] = json!(false);
    json!({"tools": tools})
}

/// Returns the ids of calls in the order of their starts and ends.
fn order(stage: &Stage) -> Vec<String> {
    let record = stage.record();
    let order = record.events.iter().filter_map(|it| match it {
        SessionEvent::ToolStarted { call, .. } => Some(format!("{} starts", call.id)),
        SessionEvent::ToolFinished { call, .. } => Some(format!("{} ends", call.id)),
        _ => None,
    });
    order.collect()
}

#[test]
fn calls_run_at_the_same_time_and_their_results_are_in_call_order() {
    let answer = calls([wait("t_1"), echo("t_2")]);
    let stage = Stage::unasked(QUESTION).answers([answer]);
    stage.key("advance").wait("t_2", |it| {
        let ended = |it: &SessionEvent| matches!(it, SessionEvent::ToolFinished { .. });
        it.events.iter().any(ended)
    });
    stage.open_gate().wait_rest();
    assert_eq!(
        order(&stage),
        ["t_1 starts", "t_2 starts", "t_2 ends", "t_1 ends"]
    );
    assert_eq!(
        stage.script.last_message(),
        ["t_1: t_1 ran", "t_2: t_2 ran"]
    );
    let text = stage.text();
    assert!(text.find("Tool Result:** `t_1`") < text.find("Tool Result:** `t_2`"));
}

#[test]
fn with_a_limit_of_one_calls_run_in_order() {
    let answer = calls([echo("t_1"), echo("t_2"), echo("t_3")]);
    let stage = Stage::with(unasked(json!({"max_concurrent": 1})), QUESTION).answers([answer]);
    stage.press("advance");
    let expected = ["t_1", "t_2", "t_3"].map(|id| [format!("{id} starts"), format!("{id} ends")]);
    assert_eq!(order(&stage), expected.concat());
}

#[test]
fn while_a_tool_runs_the_text_is_locked_and_keys_change_nothing() {
    let options = unasked(json!({"lock_buffer": true}));
    let stage = Stage::with(options, QUESTION).answers([calls([wait("t_1")])]);
    let locks = |it: &super::Record| -> Vec<bool> {
        let locks = it.shown.iter().filter_map(|it| match it {
            Display::Lock(lock) => Some(lock.locked),
            _ => None,
        });
        locks.collect()
    };
    stage
        .key("advance")
        .wait("the lock", |it| locks(it) == [true]);
    let before = stage.text();
    stage
        .key("advance")
        .wait_notice("A tool is running, so nothing was changed.");
    assert_eq!(stage.text(), before);
    stage
        .open_gate()
        .wait("no lock", |it| locks(it) == [true, false]);
}

#[test]
fn autopilot_stops_at_its_limit_and_each_key_resets_the_count() {
    let options = unasked(json!({"autopilot": {"max_turns": 2}}));
    let answers = ["t_1", "t_2", "t_3", "t_4", "t_5"].map(|id| calls([echo(id)]));
    let stage = Stage::with(options, QUESTION).answers(answers);
    stage.press("advance");
    stage.expect_requests(2);
    stage.expect_notice("in a row");
    stage.press("advance");
    stage.expect_requests(4);
}

#[test]
fn after_a_cancel_nothing_is_sent_automatically() {
    let stage = Stage::unasked(QUESTION).answers([calls([wait("t_1")]), says("Well.")]);
    stage.key("advance").wait_started("t_1");
    stage.press("cancel");
    assert!(stage.result("t_1").contains("(error)"));
    stage.expect_requests(1);
    stage.press("advance");
    stage.expect_end("@Assistant:\nWell.\n\n@You:\n\n");
}

#[test]
fn cancel_ends_the_calls_that_wait_with_the_one_that_runs() {
    for name in ["cancel", "tool:cancel-all"] {
        let answer = calls([wait("t_1"), echo("t_2")]);
        let stage = Stage::with(unasked(json!({"max_concurrent": 1})), QUESTION).answers([answer]);
        stage.key("advance").wait_started("t_1");
        stage.press(name);
        assert!(stage.result("t_1").contains("(error)"), "{}", stage.story());
        assert!(
            stage
                .result("t_2")
                .contains("Cancelled by the user before it ran.")
        );
        assert_eq!(order(&stage), ["t_1 starts", "t_1 ends"]);
    }
}

#[test]
fn one_call_is_cancelled_and_the_other_one_continues() {
    let stage = Stage::unasked(QUESTION).answers([calls([wait("t_1"), wait("t_2")])]);
    stage.key("advance").wait_started("t_2");
    stage.key_at("tool:cancel", "**Tool Use:** `wait` (`t_1`)", json!({}));
    stage.wait("t_1", |it| it.text().contains("`t_1` (error)"));
    stage.open_gate().wait_rest();
    stage.expect_result("t_2", "\n\n```\nt_2 ran\n```");
}

#[test]
fn a_second_call_is_run_by_hand_while_the_first_one_runs() {
    let stage = Stage::of(QUESTION).answers([calls([wait("t_1"), echo("t_2")]), says("Well.")]);
    stage.press("advance");
    stage.key_at("resolve", "**Tool Result:** `t_1`", json!({}));
    stage.wait_started("t_1");
    stage.key_at("resolve", "**Tool Result:** `t_2`", json!({}));
    stage.wait_started("t_2").open_gate().wait_text("Well.");
    stage.expect_requests(2);
}

#[test]
fn the_users_words_below_the_results_are_sent_with_them() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")])]);
    stage.press("advance");
    let end = stage.text().lines().count();
    stage.replaces(
        end..end,
        &[String::new(), "Be quick.".to_owned()],
        Some(usize::MAX),
    );
    stage.press_at("resolve", "**Tool Result:** `t_1`");
    if stage.script.requests() == 1 {
        stage.press("advance");
    }
    assert_eq!(stage.script.last_message(), ["t_1: t_1 ran", "Be quick."]);
}

#[test]
fn a_call_that_was_deleted_while_it_ran_leaves_no_result() {
    let stage = Stage::unasked(QUESTION).answers([calls([wait("t_1")])]);
    stage.key("advance").wait_started("t_1");
    let lines = stage.text().lines().count();
    stage.replaces(2..lines, &[], Some(usize::MAX));
    stage.open_gate().wait("the end", |it| {
        it.events
            .iter()
            .any(|it| matches!(it, SessionEvent::ToolFinished { .. }))
    });
    stage.wait_notice("its block was deleted or changed");
    assert!(!stage.text().contains("t_1 ran"), "{}", stage.story());
    stage.expect_requests(1);
}

#[test]
fn results_of_calls_of_an_earlier_host_say_that_they_were_interrupted() {
    let text = "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `echo` (`t_1`)\n\n```json\n{\"text\":\"x\"}\n```\n\n@You:\n\
                **Tool Result:** `t_1`\n\n```flemma:tool status=approved\n```\n";
    let stage = Stage::unasked(text);
    stage.press("advance");
    assert!(order(&stage).is_empty(), "{}", stage.story());
    stage.expect_requests(0);
}

#[test]
fn calls_that_end_at_once_are_sent_once_without_a_message() {
    let answer = calls(["t_1", "t_2", "t_3", "t_4", "t_5"].map(echo));
    let stage = Stage::unasked(QUESTION).answers([answer, says("Well.")]);
    stage.press("advance");
    stage.expect_end("Well.\n\n@You:\n\n");
    stage.expect_requests(2);
    assert_eq!(order(&stage).len(), 10);
    assert_eq!(stage.record().notices, [""; 0]);
}

#[test]
fn words_typed_into_the_prompt_before_the_results_are_kept() {
    let stage = Stage::of(QUESTION).answers([calls([wait("t_1")])]);
    stage.press("advance");
    let end = stage.text().lines().count();
    let words = [String::new(), "my own words".to_owned()];
    stage.replaces(end..end, &words, Some(usize::MAX));
    stage.key_at("resolve", "status=", json!({}));
    stage
        .wait_started("t_1")
        .open_gate()
        .wait_text("t_1 ran\n```");
    assert!(stage.text().contains("my own words"), "{}", stage.story());
}
