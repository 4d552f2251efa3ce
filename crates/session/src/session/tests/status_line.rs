//! What a winbar shows: where requests go, what is going on, and how full the context is.

use provider::{StreamEvent, Usage};
use serde_json::json;

use super::script::{Answer, bash, begins, calls, ends, says, wait};
use super::setup::anthropic;
use super::{QUESTION, Record, Stage, below};
use crate::protocol::{Display, Phase, Statusline};

/// All states that were shown.
fn states(record: &Record) -> Vec<Statusline> {
    let states = record.shown.iter().filter_map(|it| match it {
        Display::Statusline(state) => Some((**state).clone()),
        _ => None,
    });
    states.collect()
}

fn latest(record: &Record) -> Option<Statusline> {
    states(record).pop()
}

fn is_in(phase: Phase) -> impl Fn(&Record) -> bool {
    move |record| latest(record).is_some_and(|it| it.phase == phase)
}

fn taking(usage: Usage, mut answer: Answer) -> Answer {
    answer.insert(0, StreamEvent::Usage(usage));
    answer
}

#[test]
fn the_model_is_known_before_the_first_request() {
    let stage = Stage::with(anthropic(json!({"model": "claude-sonnet-4-5"})), QUESTION);
    stage.wait("the state", |it| latest(it).is_some());
    let state = latest(&stage.record()).unwrap();
    let target = (state.provider.as_str(), state.model.as_str());
    assert_eq!(target, ("anthropic", "claude-sonnet-4-5"));
    assert_eq!((state.phase, state.elapsed_ms), (Phase::Idle, None));
    assert_eq!((state.context, state.tokens.as_str()), (None, ""));
}

#[test]
fn a_frontmatter_may_choose_the_model_so_it_is_not_known_before_a_key() {
    let text = below("flemma.opt.model = \"claude-haiku-4-5\"");
    let stage = Stage::with(anthropic(json!({})), &text);
    stage.wait("the state", |it| latest(it).is_some());
    assert_eq!(latest(&stage.record()).unwrap().model, "");
    stage.press("advance");
    let model = |it: &Record| latest(it).unwrap().model;
    stage.wait("the model", |it| model(it) == "claude-haiku-4-5");
}

#[test]
fn phases_follow_an_answer_and_its_calls() {
    let stage = Stage::with(anthropic(json!({})), QUESTION)
        .answers([begins("I look."), calls([wait("t_1"), wait("t_2")])]);
    stage.key("advance").wait("text", is_in(Phase::Streaming));
    let state = latest(&stage.record()).unwrap();
    assert!(state.elapsed_ms.is_some());
    stage.continues(ends()).wait("the end", is_in(Phase::Idle));
    assert_eq!(latest(&stage.record()).unwrap().elapsed_ms, None);

    stage.say("steer", "Again.");
    stage.wait("the calls", is_in(Phase::Approval));
    let state = latest(&stage.record()).unwrap();
    assert_eq!((state.waiting, state.elapsed_ms), (2, None));
    stage.key_at("approve", "", json!({"1": "all"}));
    stage.wait("running", |it| {
        latest(it).is_some_and(|it| it.phase == Phase::Running && it.running == 2)
    });
    stage.open_gate();
}

#[test]
fn a_run_of_several_requests_has_one_clock() {
    let options =
        anthropic(json!({"tools": {"require_approval": false}, "sandbox": {"enabled": false}}));
    let answers = [calls([bash("t_1", "true")]), says("Done.")];
    let stage = Stage::with(options, QUESTION).answers(answers);
    stage.press("advance").wait("the end", is_in(Phase::Idle));
    let times = states(&stage.record());
    let times: Vec<u64> = times.iter().filter_map(|it| it.elapsed_ms).collect();
    assert!(times.is_sorted(), "{times:?}");
}

#[test]
fn the_context_holds_the_prompt_with_its_cached_part_and_the_answer() {
    let usage = Usage {
        input: Some(1000),
        output: Some(200),
        cache_read: Some(150_000),
        cache_creation: Some(800),
        ..Usage::default()
    };
    let models = json!({"mine": {"context": 200_000}});
    let options = anthropic(json!({"model": "mine", "models": models}));
    let stage = Stage::with(options, QUESTION).answers([taking(usage, says("One."))]);
    stage.press("advance");
    stage.wait("the figures", |it| {
        latest(it).is_some_and(|it| it.phase == Phase::Idle && it.context == Some(152_000))
    });
    let state = latest(&stage.record()).unwrap();
    assert_eq!(state.context_limit, Some(200_000));
    assert_eq!(
        (state.tokens.as_str(), state.cost.as_str()),
        ("151.8k in, 200 out", "")
    );
}

#[test]
fn a_model_without_a_known_limit_has_none() {
    let usage = Usage {
        input: Some(5),
        ..Usage::default()
    };
    let options = anthropic(json!({"model": "unheard-of"}));
    let stage = Stage::with(options, QUESTION).answers([taking(usage, says("One."))]);
    stage.press("advance");
    stage.wait("the figures", |it| {
        latest(it).is_some_and(|it| it.context == Some(5))
    });
    assert_eq!(latest(&stage.record()).unwrap().context_limit, None);
}
