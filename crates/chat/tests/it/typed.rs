//! Which text counts as typed by the user, and which changes are examined.

use chat::document::Document;
use chat::origin::ChangeSource;

use crate::cycle::{QUESTION, bash_waits, line_of};
use crate::play::Play;

#[test]
fn text_typed_in_this_session_counts_as_typed() {
    let mut play = Play::opened(QUESTION);
    let whole = 0..play.text.line_count();
    assert!(!play.cycle.are_typed(&play.text, whole.clone()));
    play.cycle.text_typed();
    assert!(play.cycle.are_typed(&play.text, whole));
}

#[test]
fn lines_that_the_user_agreed_to_count_as_typed() {
    let mut play = Play::opened("@You:\none\ntwo");
    play.cycle.agree(&play.text, 1..2);
    assert!(play.cycle.are_typed(&play.text, 1..2));
    assert!(!play.cycle.are_typed(&play.text, 2..3));
}

#[test]
fn a_change_of_a_result_or_a_placeholders_fence_is_announced() {
    let mut play = bash_waits();
    for (line, touches) in [
        ("A line of the user's own words.", false),
        ("```json", false),
        ("flemma:too", false),
        ("**Tool Use:** `bash` (`t_c`)", false),
        ("**Tool Result:** `t_c`", true),
        ("```flemma:tool status=approved", true),
    ] {
        let end = play.text.line_count();
        let source = ChangeSource::USER;
        play.cycle
            .changing(&play.text, &(end..end), &[line], source);
        assert_eq!(play.cycle.has_change(), touches, "{line} is written");
        play.cycle.changed(&Document::parse(&play.text));
        assert!(!play.cycle.has_change(), "{line} was written");
    }
    let fence = line_of(&play, "status=pending");
    let gone: [&str; 0] = [];
    for (line, touches) in [(fence, true), (fence - 1, false), (0, false)] {
        let lines = line..line + 1;
        play.cycle
            .changing(&play.text, &lines, &gone, ChangeSource::USER);
        assert_eq!(play.cycle.has_change(), touches, "line {line} is deleted");
    }
}
