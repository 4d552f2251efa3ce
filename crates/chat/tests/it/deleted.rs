//! Blocks that the user deletes: what is written again, and which notices appear.

use chat::cycle::{CycleEvent, Effect, step};
use chat::document::Document;

use crate::cycle::{bash_waits, line_of};

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
