//! A model that makes the same failing call again and again.

use chat::cycle::Event;
use chat::tool::ToolOutcome;

use crate::cycle::{BASH, QUESTION, line_of};
use crate::play::Play;

const SEND: &str = "send";

/// A chat whose first request is out.
fn asked() -> Play {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
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

/// How many requests went out since the last look.
fn sent(play: &mut Play) -> usize {
    play.log().iter().filter(|it| *it == SEND).count()
}

#[test]
fn the_same_failure_in_three_requests_stops_the_autopilot_and_says_why() {
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
    // A key sends the error, and three more requests are made.
    play.event(Event::Advance);
    assert!(!play.cycle.is_stuck());
    for id in ["d", "e", "f"] {
        round(&mut play, id, r#"{"x":1}"#, Err("No such file."));
    }
    assert_eq!(sent(&mut play), 3);
    assert!(play.cycle.is_stuck());
}

#[test]
fn neither_other_arguments_nor_another_error_nor_success_is_the_same_failure() {
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
fn a_label_makes_no_other_call_and_a_detour_no_progress() {
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
fn a_test_that_fails_after_each_attempt_to_mend_it_goes_on() {
    let mut play = asked();
    for (edit, test) in [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")] {
        let change = format!(r#"{{"change":"{edit}"}}"#);
        round(&mut play, edit, &change, Ok("Changed."));
        round(&mut play, test, r#"{"test":true}"#, Err("1 failed."));
    }
    assert!(!play.cycle.is_stuck());
    assert_eq!(sent(&mut play), 9);
    // The same look each time is no attempt.
    let mut play = asked();
    for (look, test) in [("a", "b"), ("c", "d"), ("e", "f")] {
        round(&mut play, look, r#"{"look":true}"#, Ok("Nothing."));
        round(&mut play, test, r#"{"test":true}"#, Err("1 failed."));
    }
    assert!(play.cycle.is_stuck());
}

#[test]
fn what_the_user_says_or_decides_in_between_counts_anew() {
    let mut play = asked();
    for id in ["a", "b"] {
        round(&mut play, id, "{}", Err("No."));
    }
    play.answer("", &[("slow", "c", "{}")]);
    play.event(Event::Steer("Use another one.".to_owned()));
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
fn a_call_that_is_refused_for_other_reasons_is_sent_and_without_one_it_stops() {
    for (reasons, expected) in [(["No.", "Never.", "Stop."], 4), ([""; 3], 3)] {
        let mut play = asked();
        for (id, reason) in ["a", "b", "c"].into_iter().zip(reasons) {
            play.answer("", &[(BASH.0, id, BASH.2)]);
            let line = line_of(&play, &format!("**Tool Use:** `bash` (`{id}`)"));
            let reason = reason.to_owned();
            play.event(Event::Reject { line, reason });
        }
        assert_eq!(sent(&mut play), expected, "{reasons:?}");
    }
}

#[test]
fn what_was_queued_goes_into_the_prompt() {
    let mut play = asked();
    play.event(Event::FollowUp("Then this.".to_owned()));
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
