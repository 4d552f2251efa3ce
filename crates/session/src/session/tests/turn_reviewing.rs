//! `:Flemma review turn`: what it shows, and what becomes of the files when the user writes it.

use std::fs;

use serde_json::{Value, json};

use super::recorder::ReviewEdit;
use super::script::{bash, calls, says, wait};
use super::{QUESTION, Stage};
use crate::protocol::{Display, EditorQuestion, ReviewQuestion, ReviewSubject};

/// A chat in which a run wrote `a` and a command made `b`.
fn ran() -> Stage {
    stage(json!({"tools": {"require_approval": false}}))
}

fn stage(options: Value) -> Stage {
    let stage = Stage::beside(&[("a", b"1\n2\n3\n4\n5\n6\n7\n8\n9\n")], options, QUESTION);
    let text = "one\n2\n3\n4\n5\n6\n7\n8\nnine\n";
    let stage = stage.answers([
        calls([("t_1", "write", json!({"path": "a", "content": text}))]),
        calls([bash("t_2", "echo x > b")]),
        says("Done."),
    ]);
    stage.press("advance").wait_text("Done.");
    stage
}

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

/// Opens the review of the turn, in which the user makes these edits one after the other.
fn review<const N: usize>(stage: &Stage, words: &str, edits: [fn(&str) -> String; N]) {
    let edits = edits.map(|edit| ReviewEdit(Box::new(edit)));
    stage.record().reviewed.extend(edits);
    stage.key_at("review", "", json!({"text": words}));
}

fn text(stage: &Stage, name: &str) -> Option<String> {
    fs::read_to_string(stage.path(name)).ok()
}

/// The diff without its last file.
fn without_last(diff: &str) -> String {
    diff[..diff.rfind("diff --git").unwrap()].to_owned()
}

fn is_closed(stage: &Stage) -> bool {
    let shown = stage.record().shown.clone();
    shown
        .iter()
        .any(|it| matches!(it, Display::ReviewClosed(_)))
}

/// A chat with another message, whose call made the file `c`.
fn ran_again() -> Stage {
    let stage = ran();
    stage
        .script
        .answers_next(calls([bash("t_3", "echo y > c")]));
    stage.script.answers_next(says("Done again."));
    stage.say("steer", "More.").wait_text("Done again.");
    stage
}

#[test]
fn what_the_user_removes_is_reverted_as_a_call_that_can_be_undone() {
    let stage = ran();
    review(&stage, "turn", [without_last]);
    stage.wait_notice("Reverted what you removed in 1 file: b. :Flemma undo reverts that.");
    let review = wait_shown(&stage, 1);
    assert_eq!(review.subject, ReviewSubject::Turn);
    assert!(
        review.text.contains("+nine") && review.text.contains("+x"),
        "{}",
        review.text
    );
    assert_eq!(text(&stage, "b"), None);
    assert!(text(&stage, "a").unwrap().contains("nine"));
    assert!(is_closed(&stage));
    // What is left of the turn.
    stage.key_at("review", "", json!({"text": "turn"}));
    let rest = wait_shown(&stage, 2).text;
    assert!(rest.contains("+nine") && !rest.contains("+x"), "{rest}");
    let prompted = crate::protocol::Prompted {
        text: None,
        item: Some(0),
    };
    stage.record().prompted.push_back(prompted);
    stage.key("undo").wait_notice("Restored 1 file: b.");
    assert_eq!(text(&stage, "b").as_deref(), Some("x\n"));
    let asked = stage.record().asked.clone();
    let titles = asked.iter().filter_map(|it| match it {
        EditorQuestion::Prompt(it) => Some(&*it.title),
        _ => None,
    });
    assert_eq!(titles.collect::<Vec<_>>(), ["Undo review turn?"]);
}

#[test]
fn enter_on_the_line_about_a_run_opens_it_and_without_checkpoints_only_shows_it() {
    let stage = ran();
    stage.key("review");
    let review = wait_shown(&stage, 1);
    assert!(
        review.text.contains("+nine") && review.text.contains("+x"),
        "{}",
        review.text
    );

    let options = json!({"tools": {"require_approval": false}, "checkpoints": {"enabled": false}});
    let stage = self::stage(options);
    stage.key("review");
    stage.wait("the diff", |it| it.reports().contains(&"+nine".to_owned()));
    stage.key_at("review", "", json!({"text": "turn"}));
    stage.wait_notice("checkpoints are off (checkpoints.enabled)");
    assert_eq!(shown(&stage), []);
}

#[test]
fn a_diff_that_is_malformed_or_as_it_was_changes_nothing() {
    let stage = ran();
    review(
        &stage,
        "turn",
        [|it| it.replace("-1\n", "1\n"), str::to_owned],
    );
    let again = wait_shown(&stage, 2);
    let line = again.problems[0].line;
    assert_eq!(again.text.lines().nth(line), Some("1"));
    review(&stage, "turn", [str::to_owned]);
    stage.wait_notice("Nothing was removed from the review, so no file was changed.");
    assert_eq!(text(&stage, "b").as_deref(), Some("x\n"));
}

#[test]
fn a_review_is_about_the_message_at_the_cursor_and_one_file() {
    let stage = ran_again();
    stage.key_at("review", "Done again.", json!({"text": "turn"}));
    let last = wait_shown(&stage, 1).text;
    assert!(last.contains("+y") && !last.contains("+x"), "{last}");
    stage.key_at("review", "Go.", json!({"text": "turn"}));
    let all = wait_shown(&stage, 2).text;
    assert!(all.contains("+y") && all.contains("+x"), "{all}");
    stage.wait_notice("Changes since message 1: Go.");
    stage.key_at("review", "Go.", json!({"text": "turn b"}));
    let one = wait_shown(&stage, 3).text;
    assert!(one.contains("+x") && !one.contains("+nine"), "{one}");
    stage.key_at("review", "Done again.", json!({"text": "turn b"}));
    stage.wait_notice("There is nothing to review in b: ");
    stage.key_at("review", "Go.", json!({"text": "turns"}));
    stage.wait_notice("There is no command \"review turns\".");
}

#[test]
fn messages_above_that_the_user_deleted_do_not_count() {
    let stage = ran_again();
    let text = stage.text();
    let end = text.lines().position(|it| it == "More.").unwrap() - 1;
    stage.replaces(0..end, &[], Some(usize::MAX));
    stage.key_at("review", "", json!({"text": "turn"}));
    let last = wait_shown(&stage, 1).text;
    assert!(last.contains("+y") && !last.contains("+x"), "{last}");
}

#[test]
fn while_a_call_runs_the_diff_is_shown_and_not_applied() {
    let stage = ran();
    stage.script.answers_next(calls([wait("t_3")]));
    stage.say("steer", "More.").wait_started("t_3");
    stage
        .record()
        .reviewed
        .push_back(ReviewEdit(Box::new(without_last)));
    stage.key_at("review", "Go.", json!({"text": "turn"}));
    stage.wait_notice(
        "A call is running. What it changes is in the review when you open that again.",
    );
    let again = wait_shown(&stage, 2);
    let note =
        "A call is running, so no file was changed. Cancel it or wait for it, then :w again.";
    assert_eq!(again.note.as_deref(), Some(note));
    assert_eq!(again.text, without_last(&shown(&stage)[0].text));
    assert!(self::text(&stage, "b").is_some());
    stage.open_gate().wait_text("t_3 ran");
}

#[test]
fn nothing_to_review_is_said() {
    let stage = Stage::unasked(QUESTION);
    stage.key_at("review", "", json!({"text": "turn"}));
    stage.wait_notice("There is nothing to review: nothing was sent yet.");
    let stage = Stage::beside(&[], json!({}), QUESTION).answers([says("Done.")]);
    stage.press("advance");
    stage.key_at("review", "", json!({"text": "turn"}));
    stage.wait_notice("There is nothing to review: no call since then changed a file");
}

#[test]
fn an_undo_of_a_file_leaves_the_others() {
    let stage = ran();
    let choose = |item| {
        let prompted = crate::protocol::Prompted {
            text: None,
            item: Some(item),
        };
        stage.record().prompted.push_back(prompted);
    };
    choose(0);
    stage.key_at("undo", "", json!({"text": "a"}));
    stage.wait_notice("Restored 1 file: a.");
    assert_eq!(text(&stage, "b").as_deref(), Some("x\n"));
    assert!(text(&stage, "a").unwrap().starts_with("1\n"));
    stage.key_at("undo", "", json!({"text": "a"}));
    stage.wait_notice("There is nothing to undo in a: ");
}
