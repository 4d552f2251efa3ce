//! What the user says while the model works: what is skipped for it, when it is sent,
//! and where it stands when it is not.

use chat::cycle::{AnswerEnd, Event, SKIPPED};

use crate::cycle::{BASH, QUESTION, bash_waits};
use crate::play::Play;

const SLOW: [(&str, &str, &str); 3] = [
    ("slow", "a", r#"{"n":1}"#),
    ("slow", "b", r#"{"n":2}"#),
    ("slow", "c", r#"{"n":3}"#),
];

/// A chat whose model made three calls, the first of which runs.
fn three_calls() -> Play {
    let mut play = Play::typed(QUESTION);
    play.options.max_concurrent = 1;
    play.event(Event::Advance);
    play.answer("", &SLOW);
    assert_eq!(play.log(), ["send", "run a"]);
    play
}

fn steer(play: &mut Play, text: &str) {
    play.event(Event::Steer(text.to_owned()));
}

fn queue(play: &mut Play, text: &str) {
    play.event(Event::FollowUp(text.to_owned()));
}

fn waiting(play: &Play) -> Vec<&str> {
    let now = play.cycle.steering().iter().map(String::as_str);
    now.chain(play.cycle.follow_ups()).collect()
}

fn skipped(id: &str) -> String {
    format!("**Tool Result:** `{id}` (error)\n\n```\n{SKIPPED}\n```")
}

/// A document that cannot be acted on ends the round; the call in it runs on.
#[test]
fn a_message_waits_for_a_call_that_outlived_its_round() {
    let mut play = Play::typed(QUESTION);
    play.options.max_concurrent = 2;
    play.event(Event::Advance);
    play.answer("", &SLOW[..2]);
    let frontmatter = "```json\n{\n```\n\n";
    play.type_over(&format!("{frontmatter}{}", play.string()));
    play.finish("a", "one");
    assert!(!play.cycle.is_idle());
    play.finish("b", "two");
    assert!(play.cycle.is_idle());
}

#[test]
fn a_message_while_a_call_runs_skips_the_others_and_is_the_next_turn() {
    let mut play = three_calls();
    steer(&mut play, "STOP");
    assert_eq!(play.log(), [""; 0]);
    play.finish("a", "one");
    assert_eq!(play.log(), ["send"]);
    let behind = play.string();
    let (_, behind) = behind.split_once("\n\n@You:\n**").unwrap();
    assert_eq!(
        format!("**{behind}"),
        r#"**Tool Result:** `a`

```
one
```

**Tool Result:** `b` (error)

```
Skipped due to queued user message
```

**Tool Result:** `c` (error)

```
Skipped due to queued user message
```

STOP"#
    );
    assert_eq!(play.cycle.turns(), 2);
    assert!(
        play.rulings()
            .contains(&"b Cancelled user: steer".to_owned()),
        "{:?}",
        play.rulings()
    );
}

#[test]
fn calls_that_wait_for_approval_are_skipped_and_autopilot_is_not_asked() {
    let mut play = bash_waits();
    play.options.autopilot = false;
    steer(&mut play, "Use read instead.");
    assert_eq!(play.log(), ["send"]);
    assert!(play.string().contains(&skipped("t_b")));
    assert!(play.string().ends_with("```\n\nUse read instead."));
}

#[test]
fn a_refusal_or_result_that_the_user_wrote_is_kept() {
    let mut play = bash_waits();
    play.change("status=pending", "status=rejected\nNot here.");
    steer(&mut play, "Go on.");
    assert_eq!(play.log(), ["send"]);
    assert!(play.string().contains("(error)\n\n```\nNot here.\n```"));
}

#[test]
fn while_an_answer_arrives_words_wait_for_its_end() {
    for calls in [&SLOW[..], &[]] {
        let mut play = Play::typed(QUESTION);
        play.event(Event::Advance);
        steer(&mut play, "Shorter.");
        assert_eq!(waiting(&play), ["Shorter."]);
        assert_eq!(play.string(), QUESTION);
        play.answer("Well.", calls);
        assert_eq!(play.log(), ["send", "send"]);
        assert!(waiting(&play).is_empty());
        assert_eq!(play.string().matches(SKIPPED).count(), calls.len());
        assert!(play.string().ends_with("Shorter."), "{}", play.string());
    }
}

#[test]
fn with_nothing_going_on_it_is_a_message_like_any_other() {
    let mut play = Play::typed("@You:\nq\n\n@Assistant:\nanswer\n\n@You:\n");
    steer(&mut play, "More.");
    assert_eq!(play.log(), ["send"]);
    play.expect("@You:\nq\n\n@Assistant:\nanswer\n\n@You:\nMore.");
    let mut play = Play::typed("");
    queue(&mut play, "Hi.");
    assert_eq!(play.log(), ["send"]);
    play.expect("@You:\nHi.");
}

#[test]
fn a_message_that_was_begun_is_not_sent_along() {
    let mut play = Play::typed("@You:\nq\n\n@Assistant:\nanswer\n\n@You:\nI was th");
    steer(&mut play, "More.");
    assert_eq!(play.log(), [""; 0]);
    play.expect("@You:\nq\n\n@Assistant:\nanswer\n\n@You:\nI was th\n\nMore.");
    play.event(Event::Advance);
    assert_eq!(play.log(), ["send"]);

    // One that was begun behind the results stops the sending, not the skipping.
    let mut play = three_calls();
    let text = play.string();
    play.type_over(&format!("{text}\n\nI was th"));
    steer(&mut play, "STOP");
    assert!(play.said().contains("You had begun a message"));
    play.finish("a", "one");
    assert_eq!(play.log(), [""; 0]);
    assert!(play.string().contains(&skipped("c")));
    assert!(play.string().ends_with("I was th\n\nSTOP"));
}

#[test]
fn words_that_were_sent_with_the_key_are_sent_with_what_is_said_since() {
    let mut play = bash_waits();
    let text = play.string().replace("status=pending", "status=approved");
    play.type_over(&format!("{text}\n\nGo."));
    play.event(Event::Advance);
    steer(&mut play, "And hurry.");
    play.finish("t_b", "out");
    assert_eq!(play.log(), ["run t_b", "send"]);
    assert!(play.string().ends_with("Go.\n\nAnd hurry."));
}

#[test]
fn several_messages_are_one_turn_when_said_and_one_each_when_queued() {
    let mut play = three_calls();
    steer(&mut play, "One.");
    steer(&mut play, "Two.");
    queue(&mut play, "Three.");
    queue(&mut play, "Four.");
    play.finish("a", "");
    assert!(play.string().ends_with("One.\n\nTwo."));
    assert_eq!(waiting(&play), ["Three.", "Four."]);
    play.answer("Ok.", &[]);
    assert!(play.string().ends_with("Ok.\n\n@You:\nThree."));
    assert_eq!(play.cycle.turns(), 1);
    play.answer("Yes.", &[]);
    assert!(play.string().ends_with("Yes.\n\n@You:\nFour."));
    play.answer("Done.", &[]);
    assert_eq!(play.log(), ["send", "send", "send"]);
    assert!(play.string().ends_with("Done.\n\n@You:\n"));
}

#[test]
fn a_queued_message_waits_until_the_model_is_done() {
    let mut play = bash_waits();
    queue(&mut play, "Next.");
    assert_eq!(play.log(), [""; 0]);
    assert_eq!(waiting(&play), ["Next."]);
    play.change("status=pending", "status=approved");
    play.event(Event::Advance);
    play.finish("t_b", "out");
    play.answer("", &[BASH]);
    assert_eq!(play.log(), ["run t_b", "send"]);
    assert_eq!(waiting(&play), ["Next."]);
    play.change("status=pending", "status=rejected");
    play.event(Event::Advance);
    play.answer("Fine.", &[]);
    assert_eq!(play.log(), ["send", "send"]);
    assert!(play.string().ends_with("Fine.\n\n@You:\nNext."));
}

#[test]
fn a_queued_message_waits_for_what_the_user_writes_meanwhile() {
    let mut play = Play::typed("@You:\nq\n\n@Assistant:\nanswer\n\n@You:\nmine");
    queue(&mut play, "Next.");
    assert_eq!(play.log(), [""; 0]);
    play.event(Event::Advance);
    play.answer("Well.", &[]);
    assert_eq!(play.log(), ["send", "send"]);
    assert!(play.string().ends_with("Well.\n\n@You:\nNext."));
}

#[test]
fn a_cancel_puts_what_waits_into_the_prompt() {
    let mut play = three_calls();
    queue(&mut play, "Next.");
    play.event(Event::Cancel);
    play.finish("a", "");
    assert_eq!(play.log(), ["cancel a"]);
    assert!(play.string().ends_with("\n\nNext."));
    // The user's next key sends it.
    play.event(Event::Advance);
    assert_eq!(play.log(), ["send"]);

    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
    steer(&mut play, "Shorter.");
    queue(&mut play, "Next.");
    play.event(Event::Cancel);
    assert_eq!(waiting(&play), ["Shorter.", "Next."]);
    play.event(Event::AnswerEnded(AnswerEnd::Cancelled));
    assert_eq!(play.log(), ["send", "cancel request"]);
    play.expect("@You:\nLook around.\n\nShorter.\n\nNext.");
}

#[test]
fn a_cancel_after_words_were_written_sends_nothing() {
    let mut play = three_calls();
    steer(&mut play, "STOP");
    play.event(Event::Cancel);
    play.finish("a", "");
    assert_eq!(play.log(), ["cancel a"]);
    assert!(play.string().ends_with("STOP"));
}

#[test]
fn a_failed_request_puts_what_waits_into_the_prompt() {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
    steer(&mut play, "Shorter.");
    play.event(Event::AnswerEnded(AnswerEnd::Failed));
    assert_eq!(play.log(), ["send"]);
    play.expect("@You:\nLook around.\n\nShorter.");
}

#[test]
fn at_the_limit_words_land_in_the_prompt() {
    let mut play = three_calls();
    play.options.max_turns = 1;
    steer(&mut play, "STOP");
    queue(&mut play, "Next.");
    play.finish("a", "");
    assert_eq!(play.log(), [""; 0]);
    assert!(play.cycle.reached_limit());
    assert!(
        play.string().ends_with("STOP\n\nNext."),
        "{}",
        play.string()
    );
    assert!(waiting(&play).is_empty());
}

#[test]
fn what_is_taken_back_stands_in_the_prompt() {
    let mut play = three_calls();
    queue(&mut play, "One.");
    queue(&mut play, "Two.");
    play.event(Event::TakeBack(Vec::new()));
    assert!(play.string().ends_with("One.\n\nTwo."));
    for id in ["a", "b", "c"] {
        play.finish(id, "");
    }
    assert!(play.said().contains("not sent by itself"));
    assert_eq!(play.log(), ["run b", "run c"]);
    play.event(Event::TakeBack(Vec::new()));
    assert!(play.said().contains("No message is queued."));
    // Words that a host that ended had are given to the next one.
    let mut play = Play::opened("@You:\nq\n\n@Assistant:\nans");
    play.event(Event::TakeBack(vec!["Three.".to_owned()]));
    assert_eq!(play.log(), [""; 0]);
    play.expect("@You:\nq\n\n@Assistant:\nans\n\n@You:\nThree.");
}

#[test]
fn words_wait_where_a_broken_block_would_swallow_them() {
    let broken = "@You:\nq\n\n@Assistant:\n**Tool Use:** `slow` (`a`)\n\n```json\n{}\n";
    let mut play = Play::typed(broken);
    steer(&mut play, "```\nSTOP\n```");
    assert_eq!(play.string(), broken);
    assert!(play.said().contains("never closes"));
    assert_eq!(waiting(&play).len(), 1);
    play.event(Event::Cancel);
    assert!(play.said().contains("when the block above it is mended"));
    play.change("{}\n", "{}\n```\n");
    play.event(Event::Advance);
    play.finish("a", "");
    assert!(play.string().ends_with("```\n\n```\nSTOP\n```"));
    assert!(waiting(&play).is_empty());
}

#[test]
fn nothing_said_is_nothing_done() {
    let mut play = three_calls();
    let before = play.string();
    steer(&mut play, " \n");
    queue(&mut play, "");
    assert_eq!(play.string(), before);
    assert_eq!(play.said().matches("no words to send").count(), 2);
    assert_eq!(play.log(), [""; 0]);
}
