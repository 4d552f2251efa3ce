//! Cancelling calls: what ends, and what goes on.

use chat::cycle::{Effect, Event, step};
use chat::document::Document;
use chat::tool::ToolOutcome;

use crate::cycle::QUESTION;
use crate::play::Play;

/// A chat in which `a` runs and `b` and `c` wait.
fn one_runs_and_two_wait() -> Play {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
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
fn cancel_ends_the_calls_that_wait_and_stops_the_cycle() {
    let mut play = one_runs_and_two_wait();
    play.event(Event::Cancel);
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
    play.event(Event::Advance);
    assert_eq!(play.log(), ["send"]);
}

/// Its result is on the way into the text, where the placeholder still is.
#[test]
fn a_call_that_has_ended_is_not_cancelled() {
    let mut play = one_runs_and_two_wait();
    let call = play.cycle.running()[0].clone();
    let outcome = ToolOutcome::Done {
        content: "done".to_owned(),
        marked_failed: false,
    };
    let document = Document::parse(&play.text);
    let ended = Event::ToolsFinished(vec![(call, outcome)]);
    step(&mut play.cycle, ended, &document, &play.options);
    let effects = step(&mut play.cycle, Event::Cancel, &document, &play.options);
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
fn cancel_ends_calls_that_wait_with_nothing_running_and_keeps_what_the_user_wrote() {
    let mut play = one_runs_and_two_wait();
    play.finish("a", "out");
    play.log();
    play.change(
        "`b`\n\n```flemma:tool status=pending\n",
        "`b`\n\n```flemma:tool status=pending\nmine\n",
    );
    play.event(Event::Cancel);
    let text = play.string();
    assert!(text.contains("status=pending\nmine\n"), "{text}");
    assert!(
        text.contains("`c` (error)\n\n```\nCancelled by the user before it ran."),
        "{text}"
    );
    assert_eq!(play.log(), [""; 0]);
    play.event(Event::Cancel);
    assert!(play.said().contains("Nothing is running here."));
}

#[test]
fn cancel_ends_an_approval_that_was_not_run_yet() {
    let mut play = one_runs_and_two_wait();
    play.finish("a", "out");
    play.change(
        "`b`\n\n```flemma:tool status=pending",
        "`b`\n\n```flemma:tool status=approved",
    );
    play.event(Event::Cancel);
    play.event(Event::Advance);
    assert!(
        !play.log().iter().any(|it| it.starts_with("run")),
        "{}",
        play.string()
    );
}

#[test]
fn what_waits_for_a_slot_is_a_queue_until_it_runs() {
    let mut play = Play::typed(QUESTION);
    play.options.max_concurrent = 2;
    play.event(Event::Advance);
    play.answer(
        "",
        &[
            ("slow", "a", "{}"),
            ("slow", "b", "{}"),
            ("slow", "c", "{}"),
        ],
    );
    assert!(play.cycle.has_queue());
    play.event(Event::Advance);
    assert!(play.said().contains("2 tools are running"));
    play.finish("a", "");
    assert!(!play.cycle.has_queue());
}
