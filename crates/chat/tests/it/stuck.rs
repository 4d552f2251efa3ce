//! A model that repeats the same failing call.

use chat::cycle::CycleEvent;
use chat::tool::ToolOutcome;

use crate::cycle::{BASH, QUESTION, line_of};
use crate::play::Play;

const SEND: &str = "send";

/// A chat whose first request was sent.
fn asked() -> Play {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play
}

/// Answers with one call of `slow` and ends it; `Err` is a failure.
fn round(play: &mut Play, id: &str, input: &str, result: Result<&str, &str>) {
    play.answer("", &[("slow", id, input)]);
    match result {
        Ok(content) => play.finish(id, content),
        Err(text) => play.end(id, ToolOutcome::Failed(text.to_owned())),
    }
}

/// Returns the number of requests since the last look at the log.
fn sent(play: &mut Play) -> usize {
    play.log().iter().filter(|it| *it == SEND).count()
}

#[test]
fn the_same_failure_in_three_requests_stops_autopilot_with_a_notice() {
    let mut play = asked();
    for id in ["a", "b"] {
        round(&mut play, id, r#"{"x":1}"#, Err("No such file."));
        assert!(!play.cycle.is_stuck());
    }
    round(&mut play, "c", r#"{ "x": 1 }"#, Err("No such file."));
    let said = play.said();
    assert!(
        said.contains("the same call of slow failed with the same error in 3 requests")
            && said.contains("Ctrl-]"),
        "{said}"
    );
    assert!(play.cycle.is_stuck() && play.cycle.is_idle());
    assert_eq!(sent(&mut play), 3);
    // A key sends the error and allows three more requests.
    play.event(CycleEvent::Advance);
    assert!(!play.cycle.is_stuck());
    for id in ["d", "e", "f"] {
        round(&mut play, id, r#"{"x":1}"#, Err("No such file."));
    }
    assert_eq!(sent(&mut play), 3);
    assert!(play.cycle.is_stuck());
}

#[test]
fn other_arguments_errors_and_successes_are_not_the_same_failure() {
    let same = r#"{"x":1}"#;
    for rounds in [
        [
            (same, Err("No.")),
            (r#"{"x":2}"#, Err("No.")),
            (same, Err("No.")),
        ],
        [
            (same, Err("No.")),
            (same, Err("Never.")),
            (same, Err("No.")),
        ],
        [(same, Ok("Yes.")), (same, Ok("Yes.")), (same, Ok("Yes."))],
        [(same, Err("No.")), (same, Ok("No.")), (same, Err("No."))],
    ] {
        let mut play = asked();
        for (id, (input, result)) in ["a", "b", "c"].into_iter().zip(rounds) {
            round(&mut play, id, input, result);
        }
        assert_eq!(sent(&mut play), 4, "{rounds:?}");
    }
}

#[test]
fn labels_are_ignored_and_detours_are_no_progress() {
    let mut play = asked();
    round(&mut play, "a", r#"{"label":"Try","x":1}"#, Err("No."));
    round(&mut play, "b", r#"{"y":1}"#, Err("Neither."));
    round(&mut play, "c", r#"{"label":"Again","x":1}"#, Err("No."));
    round(&mut play, "d", r#"{"y":1}"#, Err("Neither."));
    assert!(!play.cycle.is_stuck());
    round(&mut play, "e", r#"{"x":1}"#, Err("No."));
    assert!(play.cycle.is_stuck());
    assert_eq!(sent(&mut play), 5);
}

#[test]
fn a_test_that_fails_after_each_attempt_to_fix_it_continues() {
    let mut play = asked();
    for (edit, test) in [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")] {
        let change = format!(r#"{{"change":"{edit}"}}"#);
        round(&mut play, edit, &change, Ok("Changed."));
        round(&mut play, test, r#"{"test":true}"#, Err("1 failed."));
    }
    assert!(!play.cycle.is_stuck());
    assert_eq!(sent(&mut play), 9);
    // Looking again is not an attempt.
    let mut play = asked();
    for (look, test) in [("a", "b"), ("c", "d"), ("e", "f")] {
        round(&mut play, look, r#"{"look":true}"#, Ok("Nothing."));
        round(&mut play, test, r#"{"test":true}"#, Err("1 failed."));
    }
    assert!(play.cycle.is_stuck());
}

#[test]
fn the_users_message_or_decision_resets_the_count() {
    let mut play = asked();
    for id in ["a", "b"] {
        round(&mut play, id, "{}", Err("No."));
    }
    play.answer("", &[("slow", "c", "{}")]);
    play.event(CycleEvent::Steer("Use another one.".to_owned()));
    play.end("c", ToolOutcome::Failed("No.".to_owned()));
    assert_eq!(sent(&mut play), 4);
    for id in ["d", "e"] {
        round(&mut play, id, "{}", Err("No."));
        assert!(!play.cycle.is_stuck());
    }
    round(&mut play, "f", "{}", Err("No."));
    assert!(play.cycle.is_stuck());
}

#[test]
fn rejections_with_new_reasons_are_sent_and_equal_ones_stop() {
    for (reasons, expected) in [(["No.", "Never.", "Stop."], 4), ([""; 3], 3)] {
        let mut play = asked();
        for (id, reason) in ["a", "b", "c"].into_iter().zip(reasons) {
            play.answer("", &[(BASH.0, id, BASH.2)]);
            let line = line_of(&play, &format!("**Tool Use:** `bash` (`{id}`)"));
            let reason = reason.to_owned();
            play.event(CycleEvent::Reject { line, reason });
        }
        assert_eq!(sent(&mut play), expected, "{reasons:?}");
    }
}

#[test]
fn queued_messages_go_into_the_prompt() {
    let mut play = asked();
    play.event(CycleEvent::FollowUp("Then this.".to_owned()));
    for id in ["a", "b", "c"] {
        round(&mut play, id, "{}", Err("No."));
    }
    assert!(
        play.string().ends_with("\n\nThen this."),
        "{}",
        play.string()
    );
    assert_eq!(sent(&mut play), 3);
}
