//! Thinking parameters for Anthropic's models, and their effect on other limits.

use provider::{ThinkingLevel, catalogue};

use super::*;

const ANTHROPIC: Protocol = Protocol::AnthropicMessages;

#[track_caller]
fn check_limits(max_tokens: Option<u32>, budget: u32, expected: (u32, Option<u32>)) {
    let thinking = Some(Thinking::Budget(budget));
    let temperature = Some(0.5);
    let parameters = Parameters {
        max_tokens,
        temperature,
        thinking,
        ..parameters()
    };
    let body = body(ANTHROPIC, &prompt(conversation()), &parameters);
    let sent = body["thinking"]["budget_tokens"].as_u64();
    assert_eq!(body["max_tokens"], expected.0);
    assert_eq!(sent, expected.1.map(u64::from));
    assert_eq!(
        body["temperature"].is_null(),
        sent.is_some(),
        "no temperature with thinking"
    );
}

#[test]
fn a_thinking_budget_leaves_a_quarter_of_the_token_limit_for_the_answer() {
    check_limits(None, 0, (8192, None));
    check_limits(None, 128, (8192 + 1024, Some(1024)));
    check_limits(None, 16384, (8192 + 16384, Some(16384)));
    check_limits(Some(4000), 8192, (4000, Some(3000)));
    check_limits(Some(8000), 20_000, (8000, Some(6000)));
    check_limits(Some(8000), 5000, (8000, Some(5000)));
    check_limits(Some(1024), 8192, (1024, None));
}

/// Compares the thinking parameters of a listed model for a value of `thinking`: config,
/// effort, limit, and whether a temperature is sent.
#[track_caller]
fn check_thinking(model: &str, thinking: Option<Thinking>, expected: Value) {
    let parameters = Parameters {
        model: model.to_owned(),
        about: Box::new(catalogue::model("anthropic", model, None)),
        temperature: Some(0.5),
        thinking,
        ..parameters()
    };
    let body = body(ANTHROPIC, &prompt(conversation()), &parameters);
    let sent = json!([
        body["thinking"],
        body["output_config"]["effort"],
        body["max_tokens"],
        body["temperature"].is_f64()
    ]);
    assert_eq!(sent, expected, "{model} {thinking:?}");
}

#[test]
fn each_model_gets_the_thinking_parameters_that_it_accepts() {
    let level = |level| Some(Thinking::Level(level));
    let budget = |tokens| Some(Thinking::Budget(tokens));
    let off = Some(Thinking::Off);
    let adaptive = json!({"type": "adaptive"});
    let shown = json!({"type": "adaptive", "display": "summarized"});
    let disabled = json!({"type": "disabled"});
    let enabled = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens});
    for (model, thinking, expected) in [
        ("claude-sonnet-4-6", None, json!([null, null, 32_000, true])),
        (
            "claude-sonnet-4-6",
            level(ThinkingLevel::Minimal),
            json!([adaptive, "low", 32_128, false]),
        ),
        (
            "claude-sonnet-4-6",
            level(ThinkingLevel::Max),
            json!([adaptive, "high", 64_000, false]),
        ),
        (
            "claude-sonnet-4-6",
            budget(2000),
            json!([enabled(2000), null, 34_000, false]),
        ),
        ("claude-sonnet-4-6", off, json!([null, null, 32_000, true])),
        (
            "claude-opus-4-6",
            level(ThinkingLevel::Max),
            json!([adaptive, "max", 64_768, false]),
        ),
        (
            "claude-opus-4-7",
            level(ThinkingLevel::High),
            json!([shown, "high", 48_384, false]),
        ),
        (
            "claude-opus-4-7",
            budget(2000),
            json!([shown, "low", 34_000, false]),
        ),
        ("claude-opus-5-5", None, json!([null, null, 8192, false])),
        ("claude-opus-5-5", off, json!([disabled, null, 8192, false])),
        ("claude-fable-5-2", off, json!([null, "low", 8192, false])),
        (
            "claude-sonnet-4-5",
            level(ThinkingLevel::Low),
            json!([enabled(2048), null, 34_048, false]),
        ),
        (
            "claude-sonnet-4-5",
            level(ThinkingLevel::Minimal),
            json!([enabled(1024), null, 33_024, false]),
        ),
        ("claude-sonnet-4-5", off, json!([null, null, 32_000, true])),
        (
            "claude-haiku-4-5",
            level(ThinkingLevel::Low),
            json!([enabled(2048), null, 34_048, false]),
        ),
        (
            "claude-3-haiku",
            level(ThinkingLevel::Low),
            json!([null, null, 4096, true]),
        ),
    ] {
        check_thinking(model, thinking, expected);
    }
}

#[test]
fn a_model_with_a_budget_may_think_between_calls() {
    let thinks = |thinking, tools| {
        let parameters = Parameters {
            thinking,
            ..parameters()
        };
        let prompt = Prompt {
            tools,
            ..prompt(conversation())
        };
        let request = request(ANTHROPIC, &prompt, &parameters);
        headers(&request).contains(&("anthropic-beta", "interleaved-thinking-2025-05-14"))
    };
    let budget = Some(Thinking::Budget(2000));
    assert!(thinks(budget, vec![tool("bash", false)]));
    assert!(!thinks(budget, Vec::new()));
    assert!(!thinks(None, vec![tool("bash", false)]));
}
