//! `:Flemma review`: what the user makes of a diff is what the call applies, or nothing is.

use std::fs;

use serde_json::{Value, json};

use super::recorder::ReviewEdit;
use super::script::calls;
use super::{QUESTION, Stage};
use crate::frontend::{ReviewOutcome, SessionEvent};
use crate::protocol::{Display, EditorQuestion, Prompted, ReviewQuestion};

/// A text of 20 lines.
fn before() -> String {
    (1..=20).map(|it| format!("line {it}\n")).collect()
}

/// An edit of lines 2 and 18, which are two hunks.
fn edit() -> Value {
    let edits = json!([
        {"oldText": "line 2\n", "newText": "two\n"},
        {"oldText": "line 18\n", "newText": "eighteen\n"},
    ]);
    json!({"path": "f.txt", "edits": edits})
}

/// A chat beside `f.txt` in which these calls wait.
fn waiting(all: &[(&str, &str, Value)]) -> Stage {
    let options = json!({"tools": {"auto_approve": []}, "sandbox": {"enabled": false}});
    let stage = Stage::beside(&[("f.txt", before().as_bytes())], options, QUESTION);
    let answer = match all {
        [(id, name, input)] => calls([(*id, *name, input.clone())]),
        [(a, b, c), (d, e, f), ..] => calls([(*a, *b, c.clone()), (*d, *e, f.clone())]),
        [] => unreachable!(),
    };
    let stage = stage.answers([answer]);
    stage.press("advance");
    stage
}

fn text(stage: &Stage) -> String {
    fs::read_to_string(stage.path("f.txt")).unwrap()
}

/// Opens a review, in which the user makes these edits one after the other.
fn review<const N: usize>(stage: &Stage, place: &str, edits: [fn(&str) -> String; N]) {
    let edits = edits.map(|edit| ReviewEdit(Box::new(edit)));
    stage.record().reviewed.extend(edits);
    stage.key_at("review", place, json!({}));
}

/// The reviews that were shown.
fn shown(stage: &Stage) -> Vec<ReviewQuestion> {
    let asked = stage.record().asked.clone();
    let reviews = asked.into_iter().filter_map(|it| match it {
        EditorQuestion::Review(review) => Some(review),
        _ => None,
    });
    reviews.collect()
}

fn wait_shown(stage: &Stage, count: usize) -> ReviewQuestion {
    let is_review = |it: &&EditorQuestion| matches!(it, EditorQuestion::Review(_));
    stage.wait("a review", |it| {
        it.asked.iter().filter(is_review).count() >= count
    });
    shown(stage).remove(count - 1)
}

fn as_it_is(diff: &str) -> String {
    diff.to_owned()
}

/// Drops the first hunk, and rewrites the second.
fn partly(diff: &str) -> String {
    let first = diff.find("@@").unwrap();
    let second = first + diff[first..].find("\n@@").unwrap() + 1;
    let (head, rest) = (&diff[..first], &diff[second..]);
    format!("{head}{}", rest.replace("+eighteen", "+18"))
}

fn malformed(diff: &str) -> String {
    diff.replace("-line 2\n", "line 2\n")
}

fn nothing(_: &str) -> String {
    String::new()
}

#[test]
fn what_the_user_leaves_of_a_diff_is_applied_and_the_model_reads_what_was_changed() {
    let stage = waiting(&[("t_1", "edit", edit())]);
    review(&stage, "**Tool Result:**", [partly]);
    stage.wait_text("Applied 2 edits to f.txt as the user changed it.");
    assert_eq!(text(&stage), before().replace("line 18\n", "18\n"));
    stage.wait_text("- f.txt, hunk 1 of 2 (line 2): dropped, not applied.");
    stage.wait_text("hunk 2 of 2 (line 18): rewritten. Applied instead:\n-line 18\n+18");
    let closed = |it: &Display| matches!(it, Display::ReviewClosed(it) if it.call == "t_1");
    assert!(stage.record().shown.iter().any(closed));
    assert_eq!(ended(&stage), [ReviewOutcome::Approved]);
}

/// How the reviews ended, as the command line gets it.
fn ended(stage: &Stage) -> Vec<ReviewOutcome> {
    let events = stage.record().events.clone();
    let ends = events.into_iter().filter_map(|it| match it {
        SessionEvent::ReviewEnded(outcome) => Some(outcome),
        _ => None,
    });
    ends.collect()
}

#[test]
fn a_review_that_decides_nothing_or_cannot_be_opened_says_so() {
    let stage = waiting(&[("t_1", "edit", edit())]);
    review(&stage, "**Tool Result:**", []);
    wait_shown(&stage, 1);
    wait_undecided(&stage, 1);
    assert_eq!(text(&stage), before());
    stage.key_at("reject", "**Tool Result:**", json!({}));
    stage.wait_text("(error)");
    stage.key_at("review", "@You:", json!({}));
    wait_undecided(&stage, 2);
}

fn wait_undecided(stage: &Stage, count: usize) {
    let undecided = SessionEvent::ReviewEnded(ReviewOutcome::Undecided);
    stage.wait("the end of a review", |it| {
        it.events.iter().filter(|it| **it == undecided).count() == count
    });
}

#[test]
fn an_unchanged_diff_approves_the_call_as_it_is() {
    let stage = waiting(&[("t_1", "edit", edit())]);
    review(&stage, "**Tool Result:**", [as_it_is]);
    stage.wait_text("Applied 2 edits to f.txt at lines");
    let after = before()
        .replace("line 2\n", "two\n")
        .replace("line 18\n", "eighteen\n");
    assert_eq!(text(&stage), after);
}

#[test]
fn a_malformed_diff_is_shown_again_with_its_problem_and_nothing_is_applied() {
    let stage = waiting(&[("t_1", "edit", edit())]);
    review(&stage, "**Tool Result:**", [malformed]);
    let again = wait_shown(&stage, 2);
    assert_eq!(again.text, malformed(&shown(&stage)[0].text));
    let line = again.problems[0].line;
    assert_eq!(again.text.lines().nth(line), Some("line 2"));
    stage.settle();
    assert_eq!(text(&stage), before());
    assert!(stage.text().contains("status=pending"));
}

/// Opens a review, during which another program changes the file.
fn review_while(stage: &Stage, new: &str, edit: fn(&str) -> String) {
    let (path, new) = (stage.path("f.txt"), new.to_owned());
    let edit = move |diff: &str| {
        fs::write(&path, &new).unwrap();
        edit(diff)
    };
    let edit = ReviewEdit(Box::new(edit));
    stage.record().reviewed.push_back(edit);
    review(stage, "**Tool Result:**", []);
}

#[test]
fn a_change_of_the_file_meanwhile_is_shown_with_the_rewriting_and_nothing_is_applied() {
    let stage = waiting(&[("t_1", "edit", edit())]);
    let new = before().replace("line 10\n", "ten\n");
    review_while(&stage, &new, partly);
    let again = wait_shown(&stage, 2);
    assert!(again.note.unwrap().contains("Your rewriting was kept"));
    assert!(again.text.contains("-line 18\n+18\n") && !again.text.contains("two"));
    stage.settle();
    assert_eq!(text(&stage), new);
    review(&stage, "**Tool Result:**", [partly]);
    stage.wait_text("as the user changed it");
    assert_eq!(text(&stage), new.replace("line 18\n", "18\n"));
}

/// Rewrites a line that the call leaves as it is.
fn nearby(diff: &str) -> String {
    diff.replace(" line 4\n", "-line 4\n+four\n")
}

#[test]
fn a_rewriting_that_conflicts_with_a_change_of_the_file_is_kept_as_a_draft() {
    let stage = waiting(&[("t_1", "edit", edit())]);
    let new = before().replace("line 4\n", "4\n");
    review_while(&stage, &new, nearby);
    let again = wait_shown(&stage, 2);
    assert_eq!(again.text, nearby(&shown(&stage)[0].text));
    assert!(again.note.unwrap().contains("This is your text"));
    let line = again.problems[0].line;
    assert_eq!(again.text.lines().nth(line), Some("-line 4"));
    stage.settle();
    assert_eq!(text(&stage), new);
}

#[test]
fn a_review_of_which_nothing_is_left_asks_for_a_reason_and_rejects_the_call() {
    let stage = waiting(&[("t_1", "edit", edit())]);
    // Leaving the prompt decides nothing.
    review(&stage, "**Tool Result:**", [nothing, nothing]);
    stage.record().prompted.extend([
        Prompted::default(),
        Prompted {
            text: Some("Keep the numbers.".to_owned()),
            item: None,
        },
    ]);
    stage.wait_text("Keep the numbers.");
    assert_eq!(text(&stage), before());
    assert!(stage.text().contains("error"));
}

#[test]
fn every_change_can_wait_for_a_review_although_a_rule_approves_it() {
    let options = json!({"tools": {"review": "always"}, "sandbox": {"enabled": false}});
    let stage = Stage::beside(&[("f.txt", before().as_bytes())], options, QUESTION);
    let stage = stage.answers([
        calls([("t_1", "edit", edit())]),
        calls([("t_2", "edit", edit_back())]),
    ]);
    stage.press("advance");
    assert!(stage.text().contains("status=pending"));
    stage
        .key("review!")
        .wait_notice("run without a review in this chat");
    stage.press_at("resolve", "**Tool Result:**");
    // The second one ran by itself.
    assert_eq!(text(&stage), before());
}

/// Undoes [`edit`] in part.
fn edit_back() -> Value {
    let edits = json!([
        {"oldText": "two\n", "newText": "line 2\n"},
        {"oldText": "eighteen\n", "newText": "line 18\n"},
    ]);
    json!({"path": "f.txt", "edits": edits})
}

#[test]
fn a_review_that_is_left_decides_nothing() {
    let stage = waiting(&[("t_1", "edit", edit())]);
    review(&stage, "**Tool Result:**", []);
    wait_shown(&stage, 1);
    stage.settle();
    assert!(stage.text().contains("status=pending"));
    // The call can still be approved as it is.
    stage.press_at("resolve", "**Tool Result:**");
    stage.wait_text("Applied 2 edits to f.txt at lines");
}

#[test]
fn the_first_of_two_calls_on_a_file_is_decided_first() {
    let other = json!({"path": "f.txt", "oldText": "line 10\n", "newText": "ten\n"});
    let stage = waiting(&[("t_1", "edit", edit()), ("t_2", "edit", other)]);
    review(&stage, "**Tool Result:** `t_2`", []);
    stage.wait_notice("The call of edit on line ");
    assert!(shown(&stage).is_empty());
    review(&stage, "**Tool Result:** `t_1`", [partly]);
    stage.wait_text("as the user changed it");
    review(&stage, "**Tool Result:** `t_2`", [as_it_is]);
    // The second is reviewed on the result of the first.
    let second = wait_shown(&stage, 2).text;
    assert!(second.contains("-line 10\n+ten\n"), "{second}");
    stage.wait("the second edit", |_| true);
    stage.wait_text("Applied the edit to f.txt at line 10.");
    let after = before()
        .replace("line 18\n", "18\n")
        .replace("line 10\n", "ten\n");
    assert_eq!(text(&stage), after);
}
