//! A key sends the question; cases in which nothing is sent, and why.

use serde_json::json;

use super::script::{begins, ends, fails, says};
use super::{QUESTION, Stage};
use crate::frontend::{RequestStatus, SessionEvent};

#[test]
fn the_answer_is_written_below_the_question_and_a_prompt_below_that() {
    let stage = Stage::of("@You:\nTwo and two?\n").answers([says("It is four.\nReally.")]);
    stage.press("advance");
    stage.expect_text("@You:\nTwo and two?\n\n@Assistant:\nIt is four.\nReally.\n\n@You:\n\n");
    stage.expect_requests(1);
}

#[test]
fn an_empty_message_is_not_sent() {
    let stage = Stage::of("@You:\n");
    stage.press("advance");
    stage.expect_requests(0);
    stage.expect_text("@You:\n");
}

#[test]
fn a_key_while_an_answer_streams_changes_nothing_and_says_so() {
    let stage = Stage::of(QUESTION).answers([begins("Once")]);
    stage.key("advance").wait_text("Once");
    let before = stage.text();
    for name in ["advance", "resolve", "send"] {
        stage.record().notices.clear();
        stage
            .key(name)
            .wait_notice("An answer is arriving, so nothing was changed.");
        assert_eq!(stage.text(), before);
    }
    stage
        .continues(begins(" upon a time."))
        .continues(ends())
        .wait_rest();
    stage.expect_text("@You:\nGo.\n\n@Assistant:\nOnce upon a time.\n\n@You:\n\n");
    stage.expect_requests(1);
}

#[test]
fn a_request_that_is_cancelled_before_its_first_word_leaves_no_trace() {
    let stage = Stage::of(QUESTION).answers([Vec::new(), says("Now.")]);
    stage.key("advance").wait_request(1);
    stage.press("cancel");
    stage.expect_text(QUESTION);
    stage.press("advance");
    stage.expect_text("@You:\nGo.\n\n@Assistant:\nNow.\n\n@You:\n\n");
}

#[test]
fn a_cancelled_answer_keeps_its_text_with_a_mark() {
    let stage = Stage::of(QUESTION).answers([begins("Once upon a time")]);
    stage.key("advance").wait_text("Once upon a time");
    stage.press("cancel");
    stage.expect_text(
        "@You:\nGo.\n\n@Assistant:\nOnce upon a time\n\n<!-- flemma:aborted: cancelled by the user -->\n",
    );
    let status = RequestStatus::Cancelled;
    let ended = SessionEvent::RequestFinished {
        buffer: super::BUFFER,
        status,
    };
    assert!(stage.record().events.contains(&ended));
}

#[test]
fn a_key_pressed_twice_cancels_once() {
    let stage = Stage::of(QUESTION).answers([begins("Once")]);
    stage.key("advance").wait_text("Once");
    stage.key("cancel").key("cancel").wait_rest();
    assert_eq!(stage.text().matches("flemma:aborted").count(), 1);
}

#[test]
fn an_answer_that_fails_keeps_its_text_and_the_reason() {
    let mut answer = begins("Half");
    answer.extend(fails("The server broke."));
    let stage = Stage::of(QUESTION).answers([answer]);
    stage.press("advance");
    stage.expect_text(
        "@You:\nGo.\n\n@Assistant:\nHalf\n\n<!-- flemma:aborted: The server broke. -->\n",
    );
    stage.expect_notice("The server broke. Try again.");
}

#[test]
fn a_request_that_fails_at_once_leaves_the_chat_as_it_was_and_can_be_sent_again() {
    let stage = Stage::of(QUESTION).answers([fails("The key was refused."), says("Now.")]);
    stage.press("advance");
    stage.expect_text(QUESTION);
    stage.expect_notice("The key was refused.");
    stage.press("advance");
    stage.expect_end("@Assistant:\nNow.\n\n@You:\n\n");
}

#[test]
fn a_partial_answer_is_continued_by_the_next_key() {
    let mut answer = begins("Half");
    answer.extend(fails("The server broke."));
    let stage = Stage::of(QUESTION).answers([answer, says("and half.")]);
    stage.press("advance").press("advance");
    assert!(stage.text().contains("Half") && stage.text().contains("and half."));
    stage.expect_requests(2);
}

#[test]
fn text_that_looks_like_structure_is_escaped_in_the_chat() {
    let stage = Stage::of(QUESTION).answers([says("Write\n@You:\nto me.")]);
    stage.press("advance");
    stage.expect_text("@You:\nGo.\n\n@Assistant:\nWrite\n\\@You:\nto me.\n\n@You:\n\n");
}

#[test]
fn a_reference_to_a_missing_file_sends_nothing_and_names_its_line() {
    let stage = Stage::of("@You:\nRead @./no-such-file, please.\n");
    stage.press("advance");
    stage.expect_requests(0);
    stage.expect_notice("Line 2:");
    stage.expect_text("@You:\nRead @./no-such-file, please.\n");
}

#[test]
fn a_remark_about_requests_is_shown_once() {
    let stage = Stage::of(QUESTION);
    for _ in 0..2 {
        stage.send(super::Input::Work(crate::session::WorkInput::Remark(
            "It takes no temperature.".to_owned(),
        )));
    }
    stage.press("advance");
    let said = |it: &&String| it.contains("It takes no temperature.");
    assert_eq!(stage.record().notices.iter().filter(said).count(), 1);
}

#[test]
fn events_report_what_began_and_how_it_ended() {
    let stage = Stage::of(QUESTION).answers([says("Hi.")]);
    stage.press("advance");
    let record = stage.record();
    let reported = record.events.iter().filter_map(SessionEvent::autocommand);
    let names: Vec<&str> = reported.map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "FlemmaRequestStarted",
            "FlemmaRequestFinished",
            "FlemmaRested"
        ]
    );
    let data = record.events.last().unwrap().data();
    let rested = json!({"limit": false, "stuck": false, "queued": 0, "waiting": []});
    assert_eq!(data, rested);
}

#[test]
fn an_unknown_command_is_reported_by_name() {
    let stage = Stage::of(QUESTION);
    stage.press("dance");
    stage.wait_notice("There is no command \"dance\".");
    stage.expect_text(QUESTION);
}
