//! Thinking that goes back to its provider, and options that a request cannot carry.

use provider::StreamEvent;
use serde_json::{Value, json};

use super::script::{fails, says};
use super::setup::{anthropic, below};
use super::{QUESTION, Stage};

/// A chat with a model that checks what comes before its thinking.
fn preserving(text: &str) -> Stage {
    Stage::with(anthropic(json!({"model": "claude-opus-5-5"})), text)
}

fn signatures(body: &Value) -> Vec<&str> {
    let messages = body["messages"].as_array().unwrap().iter();
    let blocks = messages.flat_map(|it| it["content"].as_array().unwrap());
    blocks.filter_map(|it| it["signature"].as_str()).collect()
}

#[test]
fn a_key_after_refused_thinking_sends_the_chat_without_it() {
    let chat = "@You:\nHi.\n\n@Assistant:\n<thinking anthropic:signature=\"c2ln\"/>\n\nOne.\n\n@You:\nAnd?\n";
    let refused = [
        vec![StreamEvent::ThinkingRefused],
        fails("The thinking was refused."),
    ]
    .concat();
    let stage = preserving(chat).answers([refused, says("Two."), says("Three.")]);
    stage.press("advance");
    assert_eq!(signatures(&stage.script.body()), ["c2ln"]);
    stage.expect_notice("The thinking was refused.");
    stage.expect_text(chat);
    stage.press("advance");
    assert_eq!(signatures(&stage.script.body()), [""; 0]);
    stage
        .say("queue", "Well?")
        .wait_request(3)
        .wait_text("Three.");
    assert_eq!(signatures(&stage.script.body()), [""; 0]);
    assert!(stage.text().contains("c2ln"), "the file keeps it");
}

#[test]
fn a_remark_of_the_provider_is_shown_once() {
    let remark = || vec![StreamEvent::Remark("Thinking was left out.".to_owned())];
    let stage = preserving(QUESTION).answers([
        [remark(), says("One.")].concat(),
        [remark(), says("Two.")].concat(),
    ]);
    stage.press("advance");
    stage.say("queue", "And?").wait_text("Two.").wait_rest();
    let notices = stage.record().notices.clone();
    assert_eq!(notices, ["Thinking was left out."]);
}

#[test]
fn an_option_that_a_request_cannot_carry_is_reported_once_and_marked_at_its_line() {
    let frontmatter = "flemma.opt.temperature = 0.3\nflemma.opt.thinking = false";
    let stage = preserving(&below(frontmatter)).answers([says("One."), says("Two.")]);
    stage.press("advance");
    stage.say("queue", "And?").wait_text("Two.").wait_rest();
    let notices = stage.record().notices.clone();
    assert_eq!(
        notices,
        [
            "claude-opus-5-5 accepts no temperature, so none is sent.",
            "claude-opus-5-5 cannot turn thinking off, so its lowest level, \"low\", is sent.",
        ]
    );
    stage.wait("two diagnostics", |it| it.diagnostics().len() == 2);
    let diagnostics = stage.record().diagnostics();
    let places: Vec<_> = diagnostics
        .iter()
        .map(|it| (it.line, it.message.as_str()))
        .collect();
    assert_eq!(places, [(1, notices[0].as_str()), (2, notices[1].as_str())]);
}

#[test]
fn instructions_below_an_answer_are_sent_at_their_place() {
    let chat = "@System:\nBe kind.\n\n@You:\nGo.\n\n@Assistant:\nHi.\n\n@System:\nBe brief.\n\n@You:\nWell?\n";
    let stage = preserving(chat);
    stage.press("advance");
    let body = stage.script.body();
    assert_eq!(body["system"][0]["text"], "Be kind.");
    assert_eq!(
        body["messages"][3],
        json!({"role": "system", "content": [{"type": "text", "text": "Be brief."}]})
    );
}
