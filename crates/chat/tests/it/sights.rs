//! A manual approval counts only while the file that the call would change is as it was
//! shown.

use chat::approval::{
    Answers, CallKey, Decision, FunctionId, OpinionSource, Policy, Resolver, ResolverChain,
};
use chat::cycle::CycleEvent;
use chat::origin::ChangeSource;
use chat::text::Text;
use chat::tool::{ToolOutcome, ToolUseId};

use crate::cycle::{BASH, QUESTION, bash_waits, line_of};
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
    play.replace(&Text::from(approved.as_str()), ChangeSource::Undo);
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

// Decisions for the log: each one once, with its author.

/// A chat whose model made these calls under the usual rules.
fn called(calls: &[(&str, &str, &str)]) -> Play {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.answer("", calls);
    play
}

#[test]
fn the_policy_approves_one_call_and_leaves_the_other_to_the_user() {
    let mut play = called(&[("read", "t_r", "{}"), BASH]);
    assert_eq!(play.rulings(), ["t_r Approved config", "t_b Waits default"]);
    // A key that changes nothing decides nothing.
    play.finish("t_r", "a");
    play.event(CycleEvent::Advance);
    assert_eq!(play.rulings().len(), 2);
    play.change("status=pending", "status=approved");
    play.event(CycleEvent::Advance);
    assert_eq!(play.rulings()[1], "t_b Approved user: typed");
}

#[test]
fn alt_enter_is_logged_as_the_users_decision() {
    let mut play = bash_waits();
    let line = line_of(&play, "**Tool Result:**");
    play.event(CycleEvent::Resolve { line });
    assert_eq!(
        play.rulings(),
        ["t_b Approved user: Alt-Enter", "t_b Waits default"]
    );
}

#[test]
fn a_refusal_names_the_rule_or_the_chat() {
    let mut play = Play::typed(QUESTION);
    let deny = OpinionSource::List(Policy {
        deny: ["bash".to_owned()].into(),
        ..Policy::default()
    });
    play.options.chain = ResolverChain::new(vec![Resolver::new("my:rules", 50, deny)]);
    play.event(CycleEvent::Advance);
    play.answer("", &[BASH]);
    assert_eq!(play.rulings(), ["t_b Denied my:rules"]);

    for (word, ruling) in [("rejected", "Rejected"), ("denied", "Denied")] {
        let mut play = bash_waits();
        play.change("status=pending", &format!("status={word}"));
        play.event(CycleEvent::Advance);
        let last = format!("t_b {ruling} written in the chat");
        assert_eq!(play.rulings(), ["t_b Waits default", &last]);
    }
}

#[test]
fn a_result_by_hand_and_a_call_that_cannot_run_are_decisions() {
    let mut play = bash_waits();
    play.change("status=pending\n", "status=pending\nmine\n");
    play.event(CycleEvent::Advance);
    assert_eq!(play.rulings()[1], "t_b Answered written in the chat");

    let play = called(&[("bsah", "t_1", "{}"), ("bash", "t_2", "{}")]);
    assert_eq!(
        play.rulings(),
        [
            "t_1 Unfit flemma (the tool does not exist)",
            "t_2 Unfit flemma (its arguments do not fit)"
        ]
    );
}

#[test]
fn calls_from_a_file_are_pending_with_a_logged_reason() {
    let call = "@You:\nq\n\n@Assistant:\n**Tool Use:** `bash` (`x`)\n\n```json\n{\"command\":\"ls\"}\n```\n";
    let mut play = Play::opened(call);
    play.decide_always(Decision::Approve);
    play.event(CycleEvent::Advance);
    let unknown = "x Waits flemma (it was neither made in this session nor typed here)";
    assert_eq!(play.rulings(), [unknown]);

    let approved = "\n@You:\n**Tool Result:** `x`\n\n```flemma:tool status=approved\n```";
    let mut play = Play::opened(&format!("{call}{approved}"));
    play.event(CycleEvent::Advance);
    let elsewhere =
        "x Waits flemma (the approval was not given in this session for these arguments)";
    assert_eq!(play.rulings(), [elsewhere]);
}

#[test]
fn cancelling_running_and_queued_calls_is_logged() {
    let mut play = Play::typed(QUESTION);
    play.options.max_concurrent = 1;
    play.event(CycleEvent::Advance);
    play.answer("", &[("slow", "a", "{}"), ("slow", "b", "{}")]);
    play.event(CycleEvent::Cancel);
    play.end("a", ToolOutcome::Cancelled("Cancelled.".to_owned()));
    assert_eq!(
        play.rulings(),
        [
            "a Approved config",
            "b Approved config",
            "a Cancelled user: cancel",
            "b Cancelled user: cancel"
        ]
    );
}

/// Alt-Enter on another call begins a new batch; the call that is still ending was
/// cancelled once.
#[test]
fn a_second_cancel_is_not_logged_again() {
    let mut play = called(&[("slow", "t_s", "{}"), BASH]);
    let slow = line_of(&play, "`t_s`");
    play.event(CycleEvent::CancelTool { line: slow });
    let bash = line_of(&play, "**Tool Result:** `t_b`");
    play.event(CycleEvent::Resolve { line: bash });
    play.event(CycleEvent::CancelTool { line: slow });
    let cancelled = |it: &&String| *it == "t_s Cancelled user: cancel";
    assert_eq!(play.rulings().iter().filter(cancelled).count(), 1);
}

#[test]
fn a_hundred_decisions_are_one_record() {
    let ids: Vec<String> = (0..100).map(|at| format!("t{at}")).collect();
    let input = r#"{"command":"ls"}"#;
    let calls: Vec<_> = ids.iter().map(|id| ("bash", id.as_str(), input)).collect();
    let play = called(&calls);
    assert_eq!((play.rulings().len(), play.records), (100, 1));
}
