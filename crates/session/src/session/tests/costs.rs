//! What requests cost: shown, counted, and limited.

use provider::{StreamEvent, Usage};
use serde_json::{Value, json};

use super::script::{Answer, calls, says};
use super::setup::anthropic;
use super::{QUESTION, Record, Stage};
use crate::protocol::{Display, UsageNote};

/// An answer that took so many tokens.
fn taking(input: u64, output: u64, mut answer: Answer) -> Answer {
    let usage = Usage {
        input: Some(input),
        output: Some(output),
        ..Usage::default()
    };
    answer.insert(0, StreamEvent::Usage(usage));
    answer
}

/// What is shown for a moment after an answer.
fn usage(record: &Record) -> Option<UsageNote> {
    record.shown.iter().rev().find_map(|it| match it {
        Display::Usage(note) => Some((**note).clone()),
        _ => None,
    })
}

/// Whether the status line reads this.
fn has_statusline(record: &Record, text: &str) -> bool {
    let is_it = |it: &Display| matches!(it, Display::Statusline(it) if it.text == text);
    record.shown.iter().any(is_it)
}

fn openai_compatible(mut options: Value) -> Value {
    options["provider"] = json!("openai_compatible");
    let here = json!({"openai_compatible": {"base_url": "http://127.0.0.1:1"}});
    options["parameters"] = here;
    options
}

#[test]
fn usage_that_is_not_shown_is_still_counted() {
    let options = anthropic(json!({"ui": {"usage": false}}));
    let stage = Stage::with(options, QUESTION).answers([taking(25, 10, says("One."))]);
    stage.press("advance");
    let text = "25 in, 10 out, $0.0002";
    stage.wait("the status line", |it| has_statusline(it, text));
    assert_eq!(usage(&stage.record()).unwrap().seconds, 0);
}

#[test]
fn prices_can_be_set_in_the_options() {
    let price = json!({"input": 2, "output": 4});
    let options = openai_compatible(json!({"model": "mine", "models": {"mine": {"price": price}}}));
    let answer = taking(500_000, 0, says("One."));
    let stage = Stage::with(options, QUESTION).answers([answer]);
    stage.press("advance");
    let text = "500.0k in, 0 out, $1.00";
    stage.wait("the status line", |it| has_statusline(it, text));
}

#[test]
fn a_model_without_prices_has_token_counts_and_no_cost() {
    let options = openai_compatible(json!({"model": "unheard-of"}));
    let stage = Stage::with(options, QUESTION).answers([taking(25, 10, says("One."))]);
    stage.press("advance");
    let lines = ["unheard-of", "25 in, 10 out"];
    assert_eq!(usage(&stage.record()).unwrap().lines, lines);
}

#[test]
fn autopilot_stops_when_its_requests_cost_too_much() {
    let call = |id| calls([(id, "echo", json!({"text": "x"}))]);
    let options = anthropic(json!({"tools": {
        "auto_approve": ["echo"],
        "autopilot": {"max_cost": 0.01},
    }}));
    let answers = ["t_1", "t_2"].map(|id| taking(1000, 200, call(id)));
    let stage = Stage::with(options, QUESTION).answers(answers);
    stage.press("advance");
    stage.expect_notice(
        "Autopilot stopped because its requests cost $0.01 (tools.autopilot.max_cost).",
    );
    stage.expect_requests(2);
    stage.press("advance");
    stage.expect_end("@Assistant:\nDone.\n\n@You:\n\n");
}
