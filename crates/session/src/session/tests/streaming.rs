//! An answer arrives while the user types.

use super::script::{begins, ends};
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
    stage.send(super::Input::Detached);
    stage.settle().continues(begins(" two.")).settle();
    stage.expect_text(&before);
}
