//! Messages that the user sends while the model works: what they skip, when they are sent,
//! and where they go otherwise.

use chat::cycle::{AnswerEnd, CycleEvent, Effect, SKIPPED, step};
use chat::document::Document;
use chat::tool::ToolOutcome;

use crate::cycle::{BASH, QUESTION, bash_waits, line_of};
use crate::play::Play;

const SLOW: [(&str, &str, &str); 3] = [
    ("slow", "a", r#"{"n":1}"#),
    ("slow", "b", r#"{"n":2}"#),
    ("slow", "c", r#"{"n":3}"#),
];

/// A chat with three calls, the first of which is running.
fn three_calls() -> Play {
    let mut play = Play::typed(QUESTION);
    play.options.max_concurrent = 1;
    play.event(CycleEvent::Advance);
    play.answer("", &SLOW);
    assert_eq!(play.log(), ["send", "run a"]);
    play
}

fn steer(play: &mut Play, text: &str) {
    play.event(CycleEvent::Steer(text.to_owned()));
}

fn queue(play: &mut Play, text: &str) {
    play.event(CycleEvent::FollowUp(text.to_owned()));
}

fn waiting(play: &Play) -> Vec<&str> {
    let now = play.cycle.steering().iter().map(String::as_str);
    now.chain(play.cycle.follow_ups()).collect()
}

fn skipped(id: &str) -> String {
    format!("**Tool Result:** `{id}` (error)\n\n```\n{SKIPPED}\n```")
}

/// A document that can't be acted on ends the batch, but its call continues.
#[test]
fn a_message_waits_for_a_running_call_after_its_batch_ended() {
    let mut play = Play::typed(QUESTION);
    play.options.max_concurrent = 2;
    play.event(CycleEvent::Advance);
    play.answer("", &SLOW[..2]);
    let frontmatter = "```json\n{\n```\n\n";
    play.type_over(&format!("{frontmatter}{}", play.string()));
    play.finish("a", "one");
    assert!(!play.cycle.is_idle());
    play.finish("b", "two");
    assert!(play.cycle.is_idle());
}

#[test]
fn steering_during_a_call_skips_the_others_and_sends() {
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
fn steering_skips_pending_calls_and_needs_no_autopilot() {
    let mut play = bash_waits();
    play.options.autopilot = false;
    steer(&mut play, "Use read instead.");
    assert_eq!(play.log(), ["send"]);
    assert!(play.string().contains(&skipped("t_b")));
    assert!(play.string().ends_with("```\n\nUse read instead."));
}

#[test]
fn steering_keeps_rejections_and_results_by_the_user() {
    let mut play = bash_waits();
    play.change("status=pending", "status=rejected\nNot here.");
    steer(&mut play, "Go on.");
    assert_eq!(play.log(), ["send"]);
    assert!(play.string().contains("(error)\n\n```\nNot here.\n```"));
}

#[test]
fn steering_during_an_answer_waits_for_its_end() {
    for calls in [&SLOW[..], &[]] {
        let mut play = Play::typed(QUESTION);
        play.event(CycleEvent::Advance);
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
fn steering_an_idle_chat_is_an_ordinary_message() {
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
fn a_started_message_is_not_sent_along() {
    let mut play = Play::typed("@You:\nq\n\n@Assistant:\nanswer\n\n@You:\nI was th");
    steer(&mut play, "More.");
    assert_eq!(play.log(), [""; 0]);
    play.expect("@You:\nq\n\n@Assistant:\nanswer\n\n@You:\nI was th\n\nMore.");
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["send"]);

    // Text that the user began below the results stops the sending, not the skipping.
    let mut play = three_calls();
    let text = play.string();
    play.type_over(&format!("{text}\n\nI was th"));
    steer(&mut play, "STOP");
    assert!(play.said().contains("You had started a message"));
    play.finish("a", "one");
    assert_eq!(play.log(), [""; 0]);
    assert!(play.string().contains(&skipped("c")));
    assert!(play.string().ends_with("I was th\n\nSTOP"));
}

#[test]
fn text_sent_by_key_is_sent_with_later_messages() {
    let mut play = bash_waits();
    let text = play.string().replace("status=pending", "status=approved");
    play.type_over(&format!("{text}\n\nGo."));
    play.event(CycleEvent::Advance);
    steer(&mut play, "And hurry.");
    play.finish("t_b", "out");
    assert_eq!(play.log(), ["run t_b", "send"]);
    assert!(play.string().ends_with("Go.\n\nAnd hurry."));
}

#[test]
fn steered_messages_share_a_turn_and_queued_ones_do_not() {
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
    play.event(CycleEvent::Advance);
    play.finish("t_b", "out");
    play.answer("", &[BASH]);
    assert_eq!(play.log(), ["run t_b", "send"]);
    assert_eq!(waiting(&play), ["Next."]);
    play.change("status=pending", "status=rejected");
    play.event(CycleEvent::Advance);
    play.answer("Fine.", &[]);
    assert_eq!(play.log(), ["send", "send"]);
    assert!(play.string().ends_with("Fine.\n\n@You:\nNext."));
}

#[test]
fn a_queued_message_waits_for_the_users_own_message() {
    let mut play = Play::typed("@You:\nq\n\n@Assistant:\nanswer\n\n@You:\nmine");
    queue(&mut play, "Next.");
    assert_eq!(play.log(), [""; 0]);
    play.event(CycleEvent::Advance);
    play.answer("Well.", &[]);
    assert_eq!(play.log(), ["send", "send"]);
    assert!(play.string().ends_with("Well.\n\n@You:\nNext."));
}

#[test]
fn a_cancel_moves_queued_messages_into_the_prompt() {
    let mut play = three_calls();
    queue(&mut play, "Next.");
    play.event(CycleEvent::Cancel);
    play.finish("a", "");
    assert_eq!(play.log(), ["cancel a"]);
    assert!(play.string().ends_with("\n\nNext."));
    // The user's next key sends it.
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["send"]);

    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    steer(&mut play, "Shorter.");
    queue(&mut play, "Next.");
    play.event(CycleEvent::Cancel);
    assert_eq!(waiting(&play), ["Shorter.", "Next."]);
    play.event(CycleEvent::AnswerEnded(AnswerEnd::Cancelled));
    assert_eq!(play.log(), ["send", "cancel request"]);
    play.expect("@You:\nLook around.\n\nShorter.\n\nNext.");
}

#[test]
fn a_cancel_after_messages_were_written_sends_nothing() {
    let mut play = three_calls();
    steer(&mut play, "STOP");
    play.event(CycleEvent::Cancel);
    play.finish("a", "");
    assert_eq!(play.log(), ["cancel a"]);
    assert!(play.string().ends_with("STOP"));
}

#[test]
fn a_failed_request_moves_queued_messages_into_the_prompt() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    steer(&mut play, "Shorter.");
    play.event(CycleEvent::AnswerEnded(AnswerEnd::Failed));
    assert_eq!(play.log(), ["send"]);
    play.expect("@You:\nLook around.\n\nShorter.");
}

#[test]
fn at_the_limit_messages_go_into_the_prompt() {
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
fn messages_taken_back_are_in_the_prompt() {
    let mut play = three_calls();
    queue(&mut play, "One.");
    queue(&mut play, "Two.");
    play.event(CycleEvent::TakeBack(Vec::new()));
    assert!(play.string().ends_with("One.\n\nTwo."));
    for id in ["a", "b", "c"] {
        play.finish(id, "");
    }
    assert!(play.said().contains("not sent automatically"));
    assert_eq!(play.log(), ["run b", "run c"]);
    play.event(CycleEvent::TakeBack(Vec::new()));
    assert!(play.said().contains("No message is queued."));
    // Messages from a host that ended are passed to the next one.
    let mut play = Play::opened("@You:\nq\n\n@Assistant:\nans");
    play.event(CycleEvent::TakeBack(vec!["Three.".to_owned()]));
    assert_eq!(play.log(), [""; 0]);
    play.expect("@You:\nq\n\n@Assistant:\nans\n\n@You:\nThree.");
}

#[test]
fn messages_wait_while_a_broken_block_would_swallow_them() {
    let broken = "@You:\nq\n\n@Assistant:\n**Tool Use:** `slow` (`a`)\n\n```json\n{}\n";
    let mut play = Play::typed(broken);
    steer(&mut play, "```\nSTOP\n```");
    assert_eq!(play.string(), broken);
    assert!(play.said().contains("never closes"));
    assert_eq!(waiting(&play).len(), 1);
    play.event(CycleEvent::Cancel);
    assert!(play.said().contains("once the block above it is fixed"));
    play.change("{}\n", "{}\n```\n");
    play.event(CycleEvent::Advance);
    play.finish("a", "");
    assert!(play.string().ends_with("```\n\n```\nSTOP\n```"));
    assert!(waiting(&play).is_empty());
}

#[test]
fn an_empty_message_does_nothing() {
    let mut play = three_calls();
    let before = play.string();
    steer(&mut play, " \n");
    queue(&mut play, "");
    assert_eq!(play.string(), before);
    assert_eq!(play.said().matches("The message is empty").count(), 2);
    assert_eq!(play.log(), [""; 0]);
}

// What a cancel ends, and what continues.

/// A chat in which `a` runs and `b` and `c` are pending.
fn one_running_and_two_pending() -> Play {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    let bash = r#"{"command":"ls"}"#;
    play.answer(
        "",
        &[
            ("slow", "a", "{}"),
            ("bash", "b", bash),
            ("bash", "c", bash),
        ],
    );
    assert_eq!(play.log(), ["send", "run a"]);
    let document = Document::parse(&play.text);
    let calls: Vec<&str> = document.calls().map(|it| it.id.as_str()).collect();
    assert_eq!(calls, ["a", "b", "c"]);
    play
}

#[test]
fn cancel_ends_pending_calls_and_stops_the_cycle() {
    let mut play = one_running_and_two_pending();
    play.event(CycleEvent::Cancel);
    assert_eq!(play.log(), ["cancel a"]);
    play.end(
        "a",
        ToolOutcome::Cancelled("Cancelled by the user.".to_owned()),
    );
    assert_eq!(play.log(), [""; 0]);
    let text = play.string();
    for id in ["a", "b", "c"] {
        let header = format!("**Tool Result:** `{id}` (error)\n\n```\nCancelled by the user");
        assert!(text.contains(&header), "{text}");
    }
    assert!(!text.contains("status="), "{text}");
    assert_eq!(text.matches("before it ran").count(), 2, "{text}");
    // The next key sends.
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["send"]);
}

/// The result is not in the text yet, which still has the placeholder.
#[test]
fn an_ended_call_is_not_cancelled() {
    let mut play = one_running_and_two_pending();
    let call = play.cycle.running()[0].clone();
    let outcome = ToolOutcome::Done {
        content: "done".to_owned(),
        marked_failed: false,
    };
    let document = Document::parse(&play.text);
    let ended = CycleEvent::ToolsFinished(vec![(call, outcome)]);
    step(&mut play.cycle, ended, &document, &play.options);
    let effects = step(
        &mut play.cycle,
        CycleEvent::Cancel,
        &document,
        &play.options,
    );
    let cancelled: Vec<&str> = effects
        .iter()
        .filter_map(|it| match it {
            Effect::Record(decided) => Some(decided),
            _ => None,
        })
        .flatten()
        .map(|it| it.call.id.as_str())
        .collect();
    assert_eq!(cancelled, ["b", "c"]);
}

#[test]
fn cancel_ends_pending_calls_and_keeps_the_users_text() {
    let mut play = one_running_and_two_pending();
    play.finish("a", "out");
    play.log();
    play.change(
        "`b`\n\n```flemma:tool status=pending\n",
        "`b`\n\n```flemma:tool status=pending\nmine\n",
    );
    play.event(CycleEvent::Cancel);
    let text = play.string();
    assert!(text.contains("status=pending\nmine\n"), "{text}");
    assert!(
        text.contains("`c` (error)\n\n```\nCancelled by the user before it ran."),
        "{text}"
    );
    assert_eq!(play.log(), [""; 0]);
    play.event(CycleEvent::Cancel);
    assert!(play.said().contains("Nothing is running here."));
}

#[test]
fn cancel_ends_an_approved_call_that_has_not_started() {
    let mut play = one_running_and_two_pending();
    play.finish("a", "out");
    play.change(
        "`b`\n\n```flemma:tool status=pending",
        "`b`\n\n```flemma:tool status=approved",
    );
    play.event(CycleEvent::Cancel);
    play.event(CycleEvent::Advance);
    assert!(
        !play.log().iter().any(|it| it.starts_with("run")),
        "{}",
        play.string()
    );
}

#[test]
fn calls_without_a_free_slot_are_queued() {
    let mut play = Play::typed(QUESTION);
    play.options.max_concurrent = 2;
    play.event(CycleEvent::Advance);
    play.answer(
        "",
        &[
            ("slow", "a", "{}"),
            ("slow", "b", "{}"),
            ("slow", "c", "{}"),
        ],
    );
    assert!(play.cycle.has_queue());
    play.event(CycleEvent::Advance);
    assert!(play.said().contains("2 tools are running"));
    play.finish("a", "");
    assert!(!play.cycle.has_queue());
}

// Blocks that the user deletes: what is written again, and which notices appear.

/// The placeholder of the pending call of `BASH`.
const PLACEHOLDER: &str = "**Tool Result:** `t_b`\n\n```flemma:tool status=pending\n```";

#[test]
fn a_removed_placeholder_is_written_again_with_a_notice() {
    let mut play = bash_waits();
    let before = play.string();
    play.change(PLACEHOLDER, "");
    assert_eq!(play.said(), "");
    play.event(CycleEvent::Advance);
    assert!(play.string().contains(PLACEHOLDER), "{}", play.string());
    assert_eq!(
        play.string().matches("t_b").count(),
        before.matches("t_b").count()
    );
    let said = play.said();
    assert!(
        said.contains("The placeholder of \"t_b\" was removed"),
        "{said}"
    );
    play.event(CycleEvent::Advance);
    assert_eq!(play.said(), "");
    play.change(PLACEHOLDER, "");
    play.event(CycleEvent::Advance);
    assert!(play.said().contains("was removed"));
    play.expect_no_run();
}

#[test]
fn a_stale_edit_is_made_again_without_a_second_notice() {
    let mut play = bash_waits();
    play.change(PLACEHOLDER, "");
    let text = play.text.clone();
    let document = Document::parse(&text);
    let effects = step(
        &mut play.cycle,
        CycleEvent::Advance,
        &document,
        &play.options,
    );
    let notices = effects.iter().filter(|it| matches!(it, Effect::Notify(_)));
    assert_eq!(notices.count(), 1);
    // The editor refused the edit, which is all that the cycle learns.
    play.event(CycleEvent::Continue);
    assert!(play.string().contains(PLACEHOLDER), "{}", play.string());
    assert_eq!(play.said(), "");
}

#[test]
fn a_deleted_result_is_requested_again_without_a_notice() {
    let mut play = bash_waits();
    play.options.autopilot = false;
    let line = line_of(&play, PLACEHOLDER);
    play.event(CycleEvent::Resolve { line });
    play.finish("t_b", "a");
    play.said();
    let text = play.string();
    let result = text.find("**Tool Result:**").unwrap();
    let end = text[result..]
        .find("```\n\n")
        .map_or(text.len(), |it| result + it + 3);
    play.change(&text[result..end], "");
    play.event(CycleEvent::Advance);
    assert!(play.string().contains(PLACEHOLDER), "{}", play.string());
    assert!(!play.said().contains("was removed"));
}

#[test]
fn alt_enter_runs_a_call_without_its_placeholder_without_a_notice() {
    let mut play = bash_waits();
    play.change(PLACEHOLDER, "");
    let line = line_of(&play, "**Tool Use:**");
    play.event(CycleEvent::Resolve { line });
    assert_eq!(play.said(), "");
    assert_eq!(play.log(), ["run t_b"]);
}
