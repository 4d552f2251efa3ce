//! Edits that the editor does not apply.

use serde_json::json;

use super::script::{begins, calls, echo, ends, says};
use super::{QUESTION, Stage};
use crate::protocol::EditOutcome;

/// Applies the marker and the call of an answer, and answers the edit after them with
/// `outcome`.
fn third_edit(outcome: EditOutcome) -> Stage {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")])]);
    stage.record().refuse.extend([None, None, Some(outcome)]);
    stage.key("advance");
    stage
}

#[test]
fn a_stale_edit_is_decided_again() {
    let stage = third_edit(EditOutcome::Stale);
    stage.wait_rest();
    stage.expect_result("t_1", "\n\n```flemma:tool status=pending\n```");
    let applied = EditOutcome::Applied;
    let expected = [applied, applied, EditOutcome::Stale, applied];
    assert_eq!(stage.record().edits, expected);
}

#[test]
fn typing_while_an_edit_is_in_flight_loses_neither() {
    let stage = Stage::of(QUESTION).answers([says("Hi.")]);
    stage.key("advance");
    // The session has not seen this change when it writes the marker.
    stage.types("Go.", "Go on.").wait_rest();
    stage.expect_text("@You:\nGo on.\n\n@Assistant:\nHi.\n\n@You:\n\n");
}

#[test]
fn an_edit_that_the_editor_refuses_is_reported_and_the_next_key_tries_again() {
    let stage = third_edit(EditOutcome::Failed);
    stage.wait_notice(
        "Neovim refused a change of this buffer (it is locked), so nothing was written.",
    );
    assert_eq!(stage.result("t_1"), "");
    stage.press("advance");
    stage.expect_result("t_1", "\n\n```flemma:tool status=pending\n```");
}

#[test]
fn an_answer_whose_marker_is_refused_ends_with_a_message() {
    let stage = Stage::of(QUESTION).answers([says("Hi.")]);
    stage.record().refuse.push_back(Some(EditOutcome::Failed));
    stage.press("advance");
    stage.expect_notice("The buffer could not be written, so the answer ends here.");
    stage.expect_text(QUESTION);
}

#[test]
fn an_answer_whose_place_is_lost_ends_and_is_marked() {
    let stage = Stage::of(QUESTION).answers([begins("One,")]);
    stage.key("advance").wait_text("One,");
    stage.record().refuse.push_back(Some(EditOutcome::Lost));
    stage.continues(begins(" two.")).wait_rest();
    stage.expect_notice("The place where the answer was being written is gone");
    stage.expect_end("One,\n\n<!-- flemma:aborted: its place in the chat was lost -->\n");
}

#[test]
fn an_answer_continues_on_a_new_line_if_its_line_changed() {
    let stage = Stage::of(QUESTION).answers([begins("One,")]);
    stage.key("advance").wait_text("One,");
    stage.record().refuse.push_back(Some(EditOutcome::Moved));
    stage
        .continues(begins(" @You: two."))
        .continues(ends())
        .settle();
    stage.press("autopilot:status");
    assert!(stage.record().edits.contains(&EditOutcome::Moved));
}

#[test]
fn a_chat_that_is_only_opened_is_not_changed() {
    let text = "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `echo` (`t_1`)\n\n```json\n{\"text\":\"x\"}\n```\n";
    let stage = Stage::unasked(text);
    stage.press("autopilot:status");
    stage.expect_text(text);
    assert_eq!(stage.record().edits, []);
    stage.expect_requests(0);
}

#[test]
fn fix_applies_the_fix_of_a_diagnostic() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage.types("status=pending", "status=aproved");
    stage.key_at("fix", "status=", json!({}));
    stage.wait_text("status=approved");
}

#[test]
fn fix_without_a_fixable_problem_reports_that() {
    let stage = Stage::of(QUESTION);
    stage.press("fix");
    stage.expect_notice("There is nothing on this line that can be fixed automatically.");
}
