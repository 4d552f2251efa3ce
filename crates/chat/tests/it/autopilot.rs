//! When the cycle continues automatically, when it stops, and where the cursor goes.

use chat::approval::CallKey;
use chat::cycle::{AnswerEnd, CursorAfterResult, CycleEvent, step};
use chat::document::Document;
use chat::origin::ChangeSource;
use chat::text::Text;
use chat::tool::{MALFORMED_CALL, ToolOutcome, ToolUseId};

use crate::cycle::{BASH, QUESTION, bash_waits, line_of};
use crate::play::Play;

#[test]
fn keys_during_an_answer_or_a_call_change_nothing() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    let before = play.string();
    play.event(CycleEvent::Advance);
    play.event(CycleEvent::Send);
    assert_eq!(play.string(), before);
    assert_eq!(play.said().matches("An answer is arriving").count(), 2);
    play.answer("", &[("slow", "a", "{}")]);
    let before = play.string();
    play.event(CycleEvent::Advance);
    assert_eq!(play.string(), before);
    assert!(play.said().contains("A tool is running"));
    assert_eq!(play.log(), ["send", "run a"]);
}

#[test]
fn cancel_ends_every_call_and_disarms_autopilot() {
    let mut play = Play::typed(QUESTION);
    play.options.max_concurrent = 1;
    play.event(CycleEvent::Advance);
    play.answer("", &[("slow", "a", "{}"), ("slow", "b", "{}"), BASH]);
    play.log();
    play.event(CycleEvent::Cancel);
    assert_eq!(play.log(), ["cancel a"]);
    play.end(
        "a",
        ToolOutcome::Cancelled("Cancelled by the user.".to_owned()),
    );
    assert_eq!(play.log(), [""; 0]);
    assert!(play.string().contains(
        "**Tool Result:** `b` (error)\n\n```\nCancelled by the user before it ran.\n```"
    ));
    // The pending call has ended too, and nothing is sent until Ctrl-].
    assert!(!play.string().contains("status="), "{}", play.string());
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["send"]);
}

#[test]
fn cancel_without_work_notifies() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Cancel);
    assert!(play.said().contains("Nothing is running here."));
}

#[test]
fn autopilot_stops_after_max_turns_and_a_message_resets_the_count() {
    let mut play = Play::typed(QUESTION);
    play.options.max_turns = 2;
    play.event(CycleEvent::Advance);
    for id in ["a", "b"] {
        play.answer("", &[("slow", id, "{}")]);
        play.finish(id, "");
    }
    assert_eq!(play.log(), ["send", "run a", "send", "run b"]);
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["send"]);
    play.answer("Done.", &[]);
    assert_eq!(play.cycle.turns(), 0);
}

#[test]
fn autopilot_stops_at_max_cost_and_a_key_resets_the_sum() {
    let mut play = Play::typed(QUESTION);
    play.options.max_cost = Some(0.10);
    play.event(CycleEvent::Advance);
    assert!(!play.cycle.reached_limit());
    for (id, price) in [("a", 0.04), ("b", 0.06)] {
        play.cycle.spend(price);
        play.answer("", &[("slow", id, "{}")]);
        play.finish(id, "");
    }
    assert!(
        play.said()
            .contains("cost $0.10 (tools.autopilot.max_cost)")
    );
    assert!(play.cycle.reached_limit());
    assert_eq!(play.log(), ["send", "run a", "send", "run b"]);
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["send"]);
}

#[test]
fn max_cost_never_stops_a_request_by_key() {
    let mut play = Play::typed(QUESTION);
    play.options.max_cost = Some(0.10);
    play.cycle.spend(0.20);
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["send"]);
}

#[test]
fn an_answer_without_calls_is_followed_by_a_prompt() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.answer("Hello.", &[]);
    play.expect("@You:\nLook around.\n\n@Assistant:\nHello.\n\n@You:\n$0");
}

#[test]
fn after_a_cancel_there_is_no_new_prompt() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.event(CycleEvent::Cancel);
    assert_eq!(play.log(), ["send", "cancel request"]);
    play.event(CycleEvent::AnswerEnded(AnswerEnd::Cancelled));
    play.expect(QUESTION);
}

#[test]
fn calls_of_a_cut_off_answer_end_in_errors_and_the_answer_continues() {
    let mut play = Play::typed(
        "@You:\nq\n\n@Assistant:\nI will\n\n**Tool Use:** `slow` (`a`)\n\n```json\n{}\n```\n\n<!-- flemma:aborted: the connection was lost -->",
    );
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["send"]);
    assert!(
        play.string().contains(
            "The answer was cut off (the connection was lost), so this call was not run."
        )
    );

    let mut play =
        Play::typed("@You:\nq\n\n@Assistant:\nI will\n\n<!-- flemma:aborted: cancelled -->");
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["send"]);
    assert!(
        play.string()
            .ends_with("-->\n\n@You:\nYour answer was cut off. Continue from where it ends.")
    );
}

#[test]
fn an_empty_prompt_below_a_cut_off_answer_gets_the_continue_message() {
    let answer = "@You:\nq\n\n@Assistant:\nI will\n\n<!-- flemma:aborted: cancelled -->\n\n";
    let mut play = Play::typed(&format!("{answer}@You:\n"));
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["send"]);
    let expected =
        format!("{answer}@You:\nYour answer was cut off. Continue from where it ends.\n");
    assert_eq!(play.string(), expected);
}

#[test]
fn only_an_answer_at_its_token_limit_is_followed_by_a_prompt() {
    let call = "**Tool Use:** `slow` (`a`)\n\n```json\n{}\n```";
    for (answer, end, prompt) in [
        ("Half.", AnswerEnd::Limited, "\n\n@You:\n"),
        ("Half.", AnswerEnd::Failed, ""),
        ("Half.", AnswerEnd::Cancelled, ""),
        (call, AnswerEnd::Limited, ""),
    ] {
        let mut play = Play::typed(QUESTION);
        play.event(CycleEvent::Advance);
        let text = format!("{QUESTION}\n\n@Assistant:\n{answer}");
        play.replace(&Text::from(text.as_str()), ChangeSource::Host);
        play.event(CycleEvent::AnswerEnded(end));
        play.expect(&format!("{text}{prompt}"));
    }
}

#[test]
fn an_unreadable_call_is_sent_back_once() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    let broken = |id: &'static str| (MALFORMED_CALL, id, r#"{"why":"it ends","text":"{"}"#);
    play.answer("", &[broken("a")]);
    assert_eq!(play.log(), ["send", "send"]);
    play.answer("", &[broken("b")]);
    assert!(play.said().contains("for the second time"));
    assert_eq!(play.log(), [""; 0]);
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["send"]);
    // A readable call in between resets the count.
    play.answer("", &[("slow", "c", "{}")]);
    play.finish("c", "");
    play.answer("", &[broken("d")]);
    assert_eq!(play.log(), ["run c", "send", "send"]);
}

#[test]
fn nothing_to_send_is_reported() {
    let mut play = Play::typed("");
    play.event(CycleEvent::Advance);
    assert!(play.said().contains("There is nothing to send."));
    let mut play = Play::typed("@You:\nq\n\n@Assistant:\nanswer");
    play.event(CycleEvent::Advance);
    assert!(play.said().contains("nothing new to send"));
    assert_eq!(play.log(), [""; 0]);
    play.expect("@You:\nq\n\n@Assistant:\nanswer\n\n@You:\n$0");
    play.cursor = None;
    play.event(CycleEvent::Advance);
    play.expect("@You:\nq\n\n@Assistant:\nanswer\n\n@You:\n$0");
}

#[test]
fn a_call_approved_by_policy_does_not_move_the_cursor() {
    for option in [
        CursorAfterResult::Result,
        CursorAfterResult::Stay,
        CursorAfterResult::Next,
    ] {
        let mut play = Play::typed("@You:\nq");
        play.options.autopilot = false;
        play.options.cursor_after_result = option;
        play.event(CycleEvent::Advance);
        play.answer("", &[("read", "t_r", "{}")]);
        play.cursor = None;
        play.event(CycleEvent::Advance);
        play.finish("t_r", "out");
        assert!(play.string().contains("out"), "{}", play.string());
        assert_eq!(play.cursor, None, "{option:?}");
    }
}

#[test]
fn the_cursor_follows_the_option() {
    for (option, line) in [
        (CursorAfterResult::Result, Some(11)),
        (CursorAfterResult::Stay, None),
        (CursorAfterResult::Next, Some(15)),
    ] {
        let mut play = bash_waits();
        play.options.autopilot = false;
        play.options.cursor_after_result = option;
        play.change("status=pending", "status=approved");
        play.cursor = None;
        play.event(CycleEvent::Advance);
        play.finish("t_b", "out");
        assert_eq!(play.cursor, line, "{option:?}\n{}", play.string());
    }
}

#[test]
fn each_call_runs_with_its_own_arguments() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    let first = ("slow", "t_1", r#"{"n":1}"#);
    let second = ("slow", "t_2", r#"{"n":2}"#);
    play.answer("", &[first, second]);
    let ran: Vec<String> = play
        .ran
        .iter()
        .map(|(id, input)| format!("{id} {input}"))
        .collect();
    assert_eq!(ran, [r#"t_1 {"n":1}"#, r#"t_2 {"n":2}"#]);
}

#[test]
fn the_cursor_waits_until_every_call_has_ended() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.answer("", &[BASH, ("bash", "t_2", r#"{"command":"ls"}"#)]);
    play.options.autopilot = false;
    play.options.cursor_after_result = CursorAfterResult::Result;
    play.change("status=pending", "status=approved");
    play.change("status=pending", "status=approved");
    play.event(CycleEvent::Advance);
    play.cursor = None;
    play.finish("t_b", "one");
    assert_eq!(play.cursor, None);
    play.finish("t_2", "two");
    assert_eq!(play.cursor, play.line_of("**Tool Result:** `t_2`"));
}

#[test]
fn text_typed_into_a_running_calls_block_stays_below_its_result() {
    let mut play = Play::typed("@You:\nq");
    play.event(CycleEvent::Advance);
    play.answer(
        "",
        &[
            ("read", "t_1", r#"{"path":"a"}"#),
            ("read", "t_2", r#"{"path":"b"}"#),
        ],
    );
    let typed =
        "**Tool Result:** `t_1`\n\n```flemma:tool status=approved\nmine\n@You: and\n~~~\n```";
    play.change(
        "**Tool Result:** `t_1`\n\n```flemma:tool status=approved\n```",
        typed,
    );
    play.finish("t_1", "out");
    play.finish("t_2", "more");
    let text = play.string();
    let kept = "**Tool Result:** `t_1`\n\n```\nout\n```\n\nmine\n\\@You: and\n ~~~\n";
    assert!(text.contains(kept), "{text}");
    assert!(text.contains("```\nmore\n```"), "{text}");
}

#[test]
fn recovered_results_replace_their_placeholders() {
    let chat = "@You:\nq\n\n@Assistant:\n**Tool Use:** `read` (`t_1`)\n\n```json\n{\"path\":\"a\"}\n```\n\n@You:\n\
                **Tool Result:** `t_1`\n\n```flemma:tool status=approved\n```";
    let call = |id: &str, path: &str| CallKey {
        id: ToolUseId::new(id),
        name: "read".to_owned(),
        input: format!("{{\"path\":\"{path}\"}}"),
    };
    let done = |content: &str| ToolOutcome::Done {
        content: content.to_owned(),
        marked_failed: false,
    };
    let mut play = Play::opened(chat);
    play.event(CycleEvent::Recovered(vec![
        (call("t_1", "other"), done("of another call")),
        (call("t_9", "a"), done("of no call here")),
        (call("t_1", "a"), done("out")),
    ]));
    assert!(
        play.string().ends_with("```\nout\n```"),
        "{}",
        play.string()
    );
    assert_eq!(play.log(), [""; 0]);
}

#[test]
fn results_are_collected_while_other_calls_run() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.answer("", &[("slow", "t_1", "{}"), ("slow", "t_2", "{}")]);
    assert!(!play.cycle.collects_results());
    let call = play.cycle.running()[0].clone();
    let outcome = ToolOutcome::Done {
        content: "one".to_owned(),
        marked_failed: false,
    };
    let ended = CycleEvent::ToolsFinished(vec![(call, outcome)]);
    let document = Document::parse(&play.text);
    step(&mut play.cycle, ended, &document, &play.options);
    assert!(play.cycle.collects_results());
    play.event(CycleEvent::Continue);
    assert!(!play.cycle.collects_results());
    play.finish("t_2", "two");
    assert!(!play.cycle.collects_results());
}

#[test]
fn sending_anyway_warns_about_calls_without_a_result() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.answer("", &[("slow", "a", "{}"), BASH]);
    play.finish("a", "done");
    play.event(CycleEvent::Send);
    assert_eq!(play.log.last().map(String::as_str), Some(UNANSWERED));
}

const UNANSWERED: &str = "say No result for \"t_b\": the model gets an error instead.";

// A model that repeats the same failing call.

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
