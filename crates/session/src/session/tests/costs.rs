//! What requests cost: shown, counted, and limited.

use provider::{StreamEvent, Usage};
use serde_json::{Value, json};

use super::script::{Answer, calls, says};
use super::setup::anthropic;
use super::{QUESTION, Record, Stage};
use crate::protocol::{Display, EditorQuestion, Prompted, UsageNote};

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

/// Returns true if the status line reads this.
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
    let stage = Stage::with(options, QUESTION).answers([taking(50, 10, says("One."))]);
    stage.press("advance");
    let text = "50 in, 10 out, $0.0002";
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

/// Options with a limit of cost, and a model without a price.
fn unpriced(max_cost: Option<f64>) -> Value {
    anthropic(json!({
        "model": "claude-unheard-of",
        "tools": {"auto_approve": ["echo"], "autopilot": {"max_cost": max_cost}},
    }))
}

/// The titles of the questions to the user.
fn questions(record: &Record) -> Vec<String> {
    let titles = record.asked.iter().filter_map(|it| match it {
        EditorQuestion::Prompt(prompt) => Some(prompt.title.clone()),
        _ => None,
    });
    titles.collect()
}

fn choosing(stage: &Stage, item: Option<usize>) {
    let prompted = Prompted { text: None, item };
    stage.record().prompted.push_back(prompted);
}

#[test]
fn an_unknown_price_is_asked_about_once_if_there_is_a_limit_of_cost() {
    let answers = [
        calls([("t_1", "echo", json!({"text": "x"}))]),
        says("Done."),
    ];
    let stage = Stage::with(unpriced(Some(0.5)), QUESTION).answers(answers);
    choosing(&stage, Some(0));
    stage.press("advance");
    stage.expect_end("@Assistant:\nDone.\n\n@You:\n\n");
    stage.expect_requests(2);
    let asked = questions(&stage.record());
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(
        asked[0].contains("no price of anthropic claude-unheard-of")
            && asked[0].contains("max_cost ($0.50)"),
        "{asked:?}"
    );
}

#[test]
fn without_consent_to_an_unknown_price_nothing_is_sent() {
    for item in [Some(1), None] {
        let stage = Stage::with(unpriced(Some(0.5)), QUESTION);
        choosing(&stage, item);
        stage.press("advance");
        stage.wait_notice("Set models[\"claude-unheard-of\"].price");
        stage.expect_requests(0);
    }
}

#[test]
fn without_a_limit_of_cost_an_unknown_price_is_no_question() {
    let stage = Stage::with(unpriced(None), QUESTION);
    stage.press("advance");
    stage.expect_requests(1);
    assert_eq!(questions(&stage.record()), Vec::<String>::new());
}

#[test]
fn the_end_of_a_model_is_remarked_on_once() {
    let stage = Stage::with(
        anthropic(json!({"model": "claude-mythos-preview"})),
        QUESTION,
    );
    stage.press("advance");
    stage.wait_notice("claude-mythos-preview ended on 2026-06-30. Choose another model.");
}

#[test]
fn autopilot_stops_when_its_requests_cost_too_much() {
    let call = |id| calls([(id, "echo", json!({"text": "x"}))]);
    let options = anthropic(json!({"tools": {
        "auto_approve": ["echo"],
        "autopilot": {"max_cost": 0.01},
    }}));
    let answers = ["t_1", "t_2"].map(|id| taking(2000, 200, call(id)));
    let stage = Stage::with(options, QUESTION).answers(answers);
    stage.press("advance");
    stage.expect_notice(
        "Autopilot stopped because its requests cost $0.01 (tools.autopilot.max_cost).",
    );
    stage.expect_requests(2);
    stage.press("advance");
    stage.expect_end("@Assistant:\nDone.\n\n@You:\n\n");
}
