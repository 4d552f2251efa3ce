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
    check_limits(None, 0, (32_000, None));
    check_limits(None, 128, (32_000 + 1024, Some(1024)));
    check_limits(None, 16384, (32_000 + 16384, Some(16384)));
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
#[expect(clippy::too_many_lines, reason = "a table")]
fn each_model_gets_the_thinking_parameters_that_it_accepts() {
    let level = |level| Some(Thinking::Level(level));
    let budget = |tokens| Some(Thinking::Budget(tokens));
    let off = Some(Thinking::Off);
    let adaptive = json!({"type": "adaptive"});
    let shown = json!({"type": "adaptive", "display": "summarized"});
    let bound = json!({
        "type": "adaptive",
        "display": "summarized",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    });
    let disabled = json!({"type": "disabled"});
    let between_tools = json!({"type": "between_tools"});
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
            json!([adaptive, "high", 64_768, false]),
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
            json!([shown, "high", 128_000, false]),
        ),
        (
            "claude-opus-4-7",
            budget(2000),
            json!([shown, "low", 128_000, false]),
        ),
        ("claude-opus-4-7", None, json!([null, null, 128_000, false])),
        (
            "claude-opus-4-7",
            off,
            json!([disabled, null, 128_000, false]),
        ),
        ("claude-opus-5", None, json!([shown, null, 128_000, false])),
        (
            "claude-opus-5",
            off,
            json!([disabled, null, 128_000, false]),
        ),
        (
            "claude-sonnet-5",
            None,
            json!([shown, null, 128_000, false]),
        ),
        (
            "claude-opus-5-5",
            None,
            json!([bound, null, 128_000, false]),
        ),
        (
            "claude-opus-5-5",
            off,
            json!([bound, "low", 128_000, false]),
        ),
        (
            "claude-opus-5-6",
            None,
            json!([bound, null, 128_000, false]),
        ),
        (
            "claude-fable-5-2",
            off,
            json!([bound, "low", 128_000, false]),
        ),
        (
            "claude-mythos-6",
            None,
            json!([bound, null, 128_000, false]),
        ),
        (
            "claude-sonnet-5-5",
            None,
            json!([bound, null, 128_000, false]),
        ),
        (
            "claude-sonnet-5-5",
            off,
            json!([between_tools, null, 128_000, false]),
        ),
        (
            "claude-sonnet-5-5",
            level(ThinkingLevel::Max),
            json!([bound, "max", 128_000, false]),
        ),
        (
            "claude-sonnet-5-5",
            level(ThinkingLevel::XHigh),
            json!([bound, "xhigh", 128_000, false]),
        ),
        (
            "claude-sonnet-5-5",
            budget(8000),
            json!([bound, "medium", 128_000, false]),
        ),
        (
            "claude-haiku-5-5",
            level(ThinkingLevel::Max),
            json!([bound, "max", 128_000, false]),
        ),
        (
            "claude-haiku-5-5",
            off,
            json!([disabled, null, 128_000, false]),
        ),
        ("claude-unheard-of", None, json!([null, null, 32_000, true])),
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

/// Returns the beta header and the body of a request after an answer with thinking.
fn bound_request(model: &str, own: Value, set: fn(&mut Parameters)) -> (Option<String>, Value) {
    let mut parameters = Parameters {
        model: model.to_owned(),
        about: Box::new(catalogue::model("anthropic", model, Some(&own))),
        ..parameters()
    };
    set(&mut parameters);
    let messages = vec![
        user(vec![text("Hi")]),
        assistant(vec![thinking("", Some(("anthropic", "s"))), text("A")]),
        user(vec![text("Go on.")]),
    ];
    let request = request(ANTHROPIC, &prompt(messages), &parameters);
    let headers = headers(&request).into_iter();
    let beta = headers.filter(|it| it.0 == "anthropic-beta");
    let beta = beta.map(|it| it.1.to_owned()).next();
    (beta, serde_json::from_slice(&request.body).unwrap())
}

#[test]
fn requests_to_models_with_preserved_thinking_ask_to_drop_invalid_blocks() {
    const BETA: &str = "thinking-binding-controls-2026-08-01";
    let drop_block = json!({"prefix_mismatch_behavior": "drop_block"});
    let returns = |body: &Value| body["messages"][1]["content"][0]["type"] == "thinking";
    let nothing: fn(&mut Parameters) = |_| {};
    for model in [
        "claude-fable-5-1",
        "claude-fable-5-2",
        "claude-mythos-5-1",
        "claude-mythos-5-2",
        "claude-opus-5-5",
        "claude-opus-5-5-20260922",
        "claude-opus-5-6",
        "claude-sonnet-5-5",
        "claude-sonnet-6",
        "claude-haiku-5-5",
        "claude-haiku-6",
    ] {
        let (beta, body) = bound_request(model, json!({}), nothing);
        assert_eq!(beta.as_deref(), Some(BETA), "{model}");
        assert_eq!(body["thinking"]["block_binding"], drop_block, "{model}");
        assert!(returns(&body), "{model}");
    }
    for model in [
        "claude-opus-5",
        "claude-sonnet-5",
        "claude-fable-5",
        "claude-sonnet-4-6",
        "m",
    ] {
        let (beta, body) = bound_request(model, json!({}), nothing);
        assert_eq!(beta, None, "{model}");
        assert!(body["thinking"].get("block_binding").is_none(), "{model}");
        assert!(returns(&body), "{model}");
    }
    // The user's own facts decide for a model with another name, and against a listed one.
    let (beta, _) = bound_request("our-claude", json!({"preserved_thinking": true}), nothing);
    assert_eq!(beta.as_deref(), Some(BETA));
    let (beta, _) = bound_request(
        "claude-opus-5-5",
        json!({"preserved_thinking": false}),
        nothing,
    );
    assert_eq!(beta, None);
}

#[test]
fn without_the_instruction_no_thinking_is_sent_that_may_be_invalid() {
    let (beta, body) = bound_request("claude-opus-5-5", json!({}), |it| {
        it.without.block_binding = true;
    });
    assert_eq!(beta, None);
    assert_eq!(
        body["thinking"],
        json!({"type": "adaptive", "display": "summarized"})
    );
    assert_eq!(
        body["messages"][1]["content"],
        json!([{"type": "text", "text": "A"}])
    );

    let (beta, body) = bound_request("claude-haiku-5-5", json!({}), |it| {
        it.thinking = Some(Thinking::Off);
    });
    assert_eq!(
        (beta, &body["thinking"]),
        (None, &json!({"type": "disabled"}))
    );
    assert_eq!(
        body["messages"][1]["content"],
        json!([{"type": "text", "text": "A"}])
    );

    // Notes between calls are sent back like all thinking.
    let (_, body) = bound_request("claude-sonnet-5-5", json!({}), |it| {
        it.thinking = Some(Thinking::Off);
    });
    assert_eq!(body["messages"][1]["content"][0]["signature"], "s");
}
