//! A manual approval counts only while the file that the call would change is as it was
//! shown.

use chat::approval::{Answers, CallKey, Decision, FunctionId, ResolverChain};
use chat::cycle::CycleEvent;
use chat::origin::ChangeSource;
use chat::text::Text;
use chat::tool::ToolUseId;

use crate::cycle::{QUESTION, line_of};
use crate::play::Play;

const CHANGED: Option<Decision> = Some(Decision::RequireApproval);
const INPUT: &str = r#"{"path":"f"}"#;

/// A chat in which a `write` is pending, whose file the user was shown.
fn write_waits() -> Play {
    let mut play = Play::typed(QUESTION);
    play.options.guarded = ["write".to_owned()].into();
    play.options.chain = ResolverChain::default();
    play.event(CycleEvent::Advance);
    play.answer("", &[("write", "w", INPUT)]);
    assert_eq!(
        play.log(),
        ["send"],
        "nothing is compared before the user decides"
    );
    play
}

fn call() -> CallKey {
    CallKey {
        id: ToolUseId::new("w"),
        name: "write".to_owned(),
        input: INPUT.to_owned(),
    }
}

/// Answers the comparison of the file.
fn looked(play: &mut Play, said: Option<Decision>) {
    let call = call();
    let answers = Answers::from([((call, FunctionId::Sight), said)]);
    play.event(CycleEvent::ResolverAnswered(answers));
}

fn alt_enter(play: &mut Play) {
    let line = line_of(play, "**Tool Result:**");
    play.event(CycleEvent::Resolve { line });
}

#[test]
fn alt_enter_runs_a_call_whose_file_is_unchanged() {
    let mut play = write_waits();
    alt_enter(&mut play);
    assert_eq!(play.log(), ["ask 1"]);
    looked(&mut play, None);
    assert_eq!(play.log(), ["run w"]);
}

fn review(play: &mut Play, refused: Option<&str>) {
    let refused = refused.map(str::to_owned);
    let call = call();
    play.event(CycleEvent::Review { call, refused });
}

#[test]
fn a_reviewed_call_runs_or_is_rejected_once() {
    let mut play = write_waits();
    review(&mut play, None);
    looked(&mut play, None);
    assert_eq!(play.log(), ["ask 1", "run w"]);
    let mut play = write_waits();
    review(&mut play, Some("Not now."));
    assert!(play.string().contains("Not now."));
    // It is no longer pending.
    let before = play.string();
    review(&mut play, None);
    assert_eq!(play.string(), before);
}

#[test]
fn alt_enter_on_a_call_whose_file_changed_must_be_pressed_again() {
    let mut play = write_waits();
    let before = play.string();
    alt_enter(&mut play);
    looked(&mut play, CHANGED);
    play.expect(&before);
    assert_eq!(play.log(), ["ask 1"]);
    let rulings = play.rulings();
    assert_eq!(
        rulings.last().map(String::as_str),
        Some("w Waits flemma (its target has changed since it was shown)")
    );
    alt_enter(&mut play);
    looked(&mut play, None);
    assert_eq!(play.log(), ["ask 1", "run w"]);
}

#[test]
fn a_typed_approval_of_a_changed_file_must_be_typed_again() {
    let mut play = write_waits();
    let before = play.string();
    play.change("status=pending", "status=approved");
    play.event(CycleEvent::Advance);
    looked(&mut play, CHANGED);
    play.expect(&before);
    assert_eq!(play.log(), ["ask 1"]);
    play.change("status=pending", "status=approved");
    play.event(CycleEvent::Advance);
    looked(&mut play, None);
    assert_eq!(play.log(), ["ask 1", "run w"]);
}

#[test]
fn undo_does_not_restore_the_approval_of_another_file() {
    let mut play = write_waits();
    play.change("status=pending", "status=approved");
    let approved = play.string();
    play.event(CycleEvent::Advance);
    looked(&mut play, CHANGED);
    play.replace(Text::from(approved.as_str()), ChangeSource::Undo);
    play.event(CycleEvent::Advance);
    play.expect_no_run();
    assert!(play.string().contains("status=pending"));
}

#[test]
fn an_inner_call_is_compared_too() {
    let mut play = write_waits();
    let tool = play.options.tools["write"].clone();
    let runs_others = chat::approval::EXECUTE_TOOL.to_owned();
    play.options.tools.insert(runs_others, tool);
    let inside = r#"{"name":"write","arguments":{"path":"f"}}"#;
    play.type_over(QUESTION);
    play.event(CycleEvent::Advance);
    play.answer("", &[("execute_tool", "w", inside)]);
    play.log();
    alt_enter(&mut play);
    assert_eq!(play.log(), ["ask 1"]);
}

#[test]
fn a_policy_approves_without_comparing() {
    let mut play = Play::typed(QUESTION);
    play.decide_always(Decision::Approve);
    play.event(CycleEvent::Advance);
    play.answer("", &[("write", "w", INPUT)]);
    assert_eq!(play.log(), ["send", "run w"]);
}
