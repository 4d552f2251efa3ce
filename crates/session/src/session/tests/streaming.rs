//! An answer arrives while the user types.

use provider::StreamEvent;

use super::script::{begins, ends, says};
use super::{QUESTION, Stage};

/// Returns a chat whose answer has begun with this text.
fn answering(text: &str) -> Stage {
    let stage = Stage::of(QUESTION).answers([begins(text)]);
    stage.key("advance").wait_text(text);
    stage
}

#[test]
fn typing_above_the_answer_moves_it_and_nothing_else() {
    let stage = answering("One,");
    stage
        .types("Go.", "Go on.\nPlease.")
        .continues(begins(" two."))
        .continues(ends())
        .wait_rest();
    stage.expect_text("@You:\nGo on.\nPlease.\n\n@Assistant:\nOne, two.\n\n@You:\n\n");
}

#[test]
fn typing_below_the_answer_is_kept() {
    let stage = answering("One,");
    let end = stage.text().lines().count();
    stage.replaces(end..end, &["My note.".to_owned()], Some(usize::MAX));
    stage
        .continues(begins(" two."))
        .continues(ends())
        .wait_rest();
    assert!(stage.text().contains("One, two."), "{}", stage.story());
    assert!(stage.text().contains("My note."), "{}", stage.story());
}

#[test]
fn deleting_the_answer_ends_it_with_a_message() {
    let stage = answering("One,");
    stage.replaces(2..5, &[], Some(usize::MAX));
    stage.continues(begins(" two.")).wait_rest();
    stage.expect_notice("so the answer ends here.");
    assert!(!stage.text().contains("two."), "{}", stage.story());
}

#[test]
fn an_answer_whose_marker_is_deleted_never_becomes_the_users_words() {
    let stage = answering("One,\ntwo");
    stage.replaces(3..4, &[], Some(usize::MAX));
    stage.continues(begins(" three.")).wait_rest();
    stage.expect_notice("The @Assistant: line above the answer is gone, so the answer ends here.");
    assert!(!stage.text().contains("three."), "{}", stage.story());
}

#[test]
fn undo_of_a_change_above_leaves_the_answer_alone() {
    let stage = answering("One,");
    stage.types("Go.", "Went.").types("Went.", "Go.");
    stage
        .continues(begins(" two."))
        .continues(ends())
        .wait_rest();
    stage.expect_text("@You:\nGo.\n\n@Assistant:\nOne, two.\n\n@You:\n\n");
}

#[test]
fn a_chat_that_is_closed_stops_its_request() {
    let stage = answering("One,");
    let before = stage.text();
    stage.send(super::Input::Editor(super::EditorInput::Detached));
    stage.settle().continues(begins(" two.")).settle();
    stage.expect_text(&before);
}

/// Returns the event that makes thinking of the text so far.
fn was_thinking() -> Vec<StreamEvent> {
    vec![StreamEvent::TextWasThinking]
}

#[test]
fn text_that_was_thinking_becomes_a_thinking_block() {
    for pieces in [
        vec![begins("Two and\ntwo."), was_thinking(), says("It is 4.")],
        vec![
            begins("Two "),
            begins("and\ntwo.\n"),
            was_thinking(),
            says("It is 4."),
        ],
    ] {
        // All at once, and with each piece in the buffer before the next one arrives.
        let stage = Stage::of(QUESTION).answers([pieces.concat()]);
        stage.press("advance");
        let expected = "@You:\nGo.\n\n@Assistant:\n<thinking>\nTwo and\ntwo.\n</thinking>\n\nIt is 4.\n\n@You:\n\n";
        stage.expect_text(expected);

        let stage = answering("Two");
        stage.types("Go.", "Go on.\nPlease.");
        stage.continues(begins(" and\ntwo.")).wait_text("two.");
        stage
            .continues(was_thinking())
            .continues(says("It is 4."))
            .wait_rest();
        stage.expect_text(&expected.replace("Go.", "Go on.\nPlease."));
    }
}

#[test]
fn a_fence_in_text_that_was_thinking_is_not_closed() {
    let pieces = [begins("```\n@You:\nx"), was_thinking(), says("Done.")];
    let stage = Stage::of(QUESTION).answers([pieces.concat()]);
    stage.press("advance");
    stage.expect_text(
        "@You:\nGo.\n\n@Assistant:\n<thinking>\n```\n\\@You:\nx\n</thinking>\n\nDone.\n\n@You:\n\n",
    );
}

#[test]
fn a_remark_in_an_answer_is_shown_and_not_written() {
    let remark = StreamEvent::Remark("A part was skipped.".to_owned());
    let stage = Stage::of(QUESTION).answers([[vec![remark], says("Done.")].concat()]);
    stage.press("advance");
    stage.expect_notice("A part was skipped.");
    stage.expect_text("@You:\nGo.\n\n@Assistant:\nDone.\n\n@You:\n\n");
}
