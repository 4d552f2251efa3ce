//! Calls that wait, and the effects of decisions by the user and by rules.

use serde_json::json;

use super::script::{calls, echo, says};
use super::{QUESTION, Stage};
use crate::frontend::SessionEvent;

const PENDING: &str = "\n\n```flemma:tool status=pending\n```";

/// Returns a chat in which one call waits.
fn one_waits() -> Stage {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")]), says("Well.")]);
    stage.press("advance");
    stage.expect_result("t_1", PENDING);
    stage
}

fn ran(stage: &Stage) -> bool {
    let events = &stage.record().events;
    events
        .iter()
        .any(|it| matches!(it, SessionEvent::ToolStarted { .. }))
}

#[test]
fn a_call_that_no_rule_approves_waits_and_nothing_runs() {
    let stage = one_waits();
    assert!(!ran(&stage));
    stage.expect_requests(1);
    let record = stage.record();
    let Some(SessionEvent::Rested(rested)) = record.events.last() else {
        panic!("it rests");
    };
    assert_eq!(rested.waiting, ["echo"]);
}

#[test]
fn a_call_approved_by_hand_runs_and_its_result_is_sent() {
    let stage = one_waits();
    stage.types("pending", "approved").press("advance");
    stage.expect_result("t_1", "\n\n```\nt_1 ran\n```");
    stage.expect_end("@Assistant:\nWell.\n\n@You:\n\n");
    assert_eq!(stage.script.last_message(), ["t_1: t_1 ran"]);
}

#[test]
fn a_call_that_arrives_in_bulk_runs_only_after_a_decision() {
    let turn = "Go.\n\n@Assistant:\n**Tool Use:** `echo` (`t_1`)\n\n```json\n{\"text\":\"x\"}\n```\n\n@You:\n\
                **Tool Result:** `t_1`\n\n```flemma:tool status=approved\n```";
    let stage = Stage::unasked("@You:\nHere.\n");
    stage.pastes("Here.", turn).press("advance");
    assert!(!ran(&stage), "{}", stage.story());
    stage.press_at("resolve", "**Tool Result:** `t_1`");
    assert!(ran(&stage), "{}", stage.story());
}

#[test]
fn alt_enter_runs_a_waiting_call_and_moves_to_the_next() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1"), echo("t_2")]), says("Well.")]);
    stage.press("advance");
    stage.press_at("resolve", "**Tool Result:** `t_1`");
    stage.expect_result("t_1", "\n\n```\nt_1 ran\n```");
    stage.expect_result("t_2", PENDING);
    stage.expect_requests(1);
    stage.press_at("resolve", "**Tool Result:** `t_2`");
    stage.expect_end("@Assistant:\nWell.\n\n@You:\n\n");
}

#[test]
fn alt_enter_works_on_the_call_itself() {
    let stage = one_waits();
    stage.press_at("resolve", "**Tool Use:** `echo` (`t_1`)");
    stage.expect_result("t_1", "\n\n```\nt_1 ran\n```");
}

#[test]
fn alt_enter_outside_of_a_call_reports_that_and_changes_nothing() {
    let stage = one_waits();
    let before = stage.text();
    stage.press_at("resolve", "Go.");
    stage.expect_notice("There is no tool call under the cursor.");
    stage.expect_text(&before);
}

#[test]
fn a_rejection_reaches_the_model_as_an_error_with_the_users_reason() {
    let stage = one_waits();
    stage
        .types("status=pending", "status=rejected\nNot in my home.")
        .press("advance");
    stage.expect_result("t_1", " (error)\n\n```\nNot in my home.\n```");
    assert_eq!(
        stage.script.last_message(),
        ["t_1 (error): Not in my home."]
    );
    assert!(!ran(&stage));
}

#[test]
fn a_rejection_without_a_reason_has_a_default_sentence() {
    let stage = one_waits();
    stage.types("pending", "rejected").press("advance");
    assert_eq!(
        stage.script.last_message(),
        ["t_1 (error): The user rejected this call."]
    );
    assert!(!ran(&stage));
}

#[test]
fn alt_enter_turns_rejected_and_denied_blocks_into_their_error() {
    for (word, sentence) in [
        ("rejected", "The user rejected this call."),
        ("denied", "The tool was denied by a policy."),
    ] {
        let stage = one_waits();
        stage.types("pending", word).press_at("resolve", "status=");
        stage.expect_result("t_1", &format!(" (error)\n\n```\n{sentence}\n```"));
        assert!(!ran(&stage));
    }
}

#[test]
fn text_typed_into_a_waiting_block_is_the_result_and_the_next_key_sends_it() {
    for status in ["pending", "approved"] {
        let stage = one_waits();
        let typed = format!("status={status}\nI ran it: ok\n  {{{{ x }}}}");
        stage.types("status=pending", &typed).press("advance");
        stage.expect_notice("You wrote in the block of echo on line ");
        stage.expect_result("t_1", "\n\n```\nI ran it: ok\n  {{ x }}\n```");
        stage.expect_requests(1);
        stage.press("advance");
        assert_eq!(
            stage.script.last_message(),
            ["t_1: I ran it: ok\n  {{ x }}"]
        );
        assert!(!ran(&stage));
    }
}

#[test]
fn a_misspelled_status_waits() {
    let stage = one_waits();
    stage.types("pending", "aproved").press("advance");
    assert!(!ran(&stage));
    stage.expect_requests(1);
}

#[test]
fn a_denied_call_is_reported_to_the_model_and_the_work_continues() {
    let options = json!({"tools": {
        "presets": {"$none": {"deny": ["echo"]}}, "auto_approve": ["$none"],
    }});
    let stage = Stage::with(options, QUESTION).answers([calls([echo("t_1")]), says("Well.")]);
    stage.press("advance");
    assert!(!ran(&stage));
    assert_eq!(
        stage.script.last_message(),
        ["t_1 (error): The tool was denied by a policy."]
    );
    let denied = |it: &SessionEvent| matches!(it, SessionEvent::ToolDenied { .. });
    assert!(stage.record().events.iter().any(denied));
    stage.expect_end("@Assistant:\nWell.\n\n@You:\n\n");
}

#[test]
fn without_autopilot_each_step_waits_for_the_key() {
    let options = json!({"tools": {"autopilot": {"enabled": false}}});
    let stage = Stage::with(options, QUESTION).answers([calls([echo("t_1")]), says("Well.")]);
    stage.press("advance");
    assert_eq!(stage.result("t_1"), "");
    stage.press("advance");
    stage.expect_result("t_1", PENDING);
    stage.types("pending", "approved").press("advance");
    stage.expect_result("t_1", "\n\n```\nt_1 ran\n```");
    stage.expect_requests(1);
    stage.press("advance");
    stage.expect_end("@Assistant:\nWell.\n\n@You:\n\n");
}

#[test]
fn a_key_that_comes_before_the_call_was_drawn_does_not_run_it_while_it_is_held() {
    let stage = one_waits();
    let line = stage
        .text()
        .lines()
        .position(|it| it.contains("Tool Result"))
        .unwrap();
    let press = || {
        let before = stage.record().rests();
        stage.command("resolve", line, json!({}), Default::default(), None);
        stage.wait("rest", |it| it.rests() > before);
    };
    press();
    stage.expect_notice("Nothing was run: the call appeared as you pressed the key.");
    for _ in 0..5 {
        press();
    }
    assert!(!ran(&stage));
}

#[test]
fn a_call_that_is_folded_away_is_shown_before_a_key_decides_about_it() {
    let stage = one_waits();
    let id = stage.record().marks()[0].id.clone();
    let before = stage.record().rests();
    stage.send(super::Input::Editor(super::EditorInput::Command(
        crate::protocol::EditorCommand {
            buffer: super::BUFFER,
            action: crate::protocol::Action::Advance { from_insert: false },
            line: 0,
            window: 1,
            shown: None,
            hidden: vec![id],
            drawn_ms: Default::default(),
        },
    )));
    stage.wait("rest", |it| it.rests() > before);
    stage.expect_notice("a pending call was folded");
    let unfolds = |it: &crate::protocol::Display| matches!(it, crate::protocol::Display::Unfold(_));
    assert!(stage.record().shown.iter().any(unfolds));
}
