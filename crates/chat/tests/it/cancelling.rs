//! What a cancel ends, and what continues.

use chat::cycle::{CycleEvent, Effect, step};
use chat::document::Document;
use chat::tool::ToolOutcome;

use crate::cycle::QUESTION;
use crate::play::Play;

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
