//! Parameters that models refuse.

use harness::{Answer, Provider, Strict};
use serde_json::{Value as Json, json};

use crate::client::Client;

/// Returns the reason why a model of Anthropic refuses these fields; empty if it does not.
fn refusal(model: &str, fields: &Json) -> String {
    let mut client = Client {
        provider: Provider::anthropic([Answer::says("Hi.")]).strict(Strict::anthropic()),
        path: "/v1/messages",
        betas: "",
        body: json!({
            "model": model, "max_tokens": 20_000, "stream": true,
            "messages": [{"role": "user", "content": "Go."}],
            "tools": [{"name": "bash", "description": "", "input_schema": {"type": "object"}}],
        }),
    };
    for (name, value) in fields.as_object().unwrap() {
        client.body[name] = value.clone();
    }
    client.send().err().unwrap_or_default()
}

const OPUS: &str = "claude-opus-5-5";
const SONNET: &str = "claude-sonnet-5-5";
const HAIKU: &str = "claude-haiku-5-5";
const FABLE: &str = "claude-fable-5-2";

#[test]
fn each_model_refuses_the_parameters_in_its_migration_guide() {
    let thinking = |kind: &str| json!({"thinking": {"type": kind}});
    let budget = json!({"thinking": {"type": "enabled", "budget_tokens": 2000}});
    let off_at = |effort: &str| json!({"thinking": {"type": "disabled"}, "output_config": {"effort": effort}});
    let unsupported =
        |kind: &str| format!("\"thinking.type.{kind}\" is not supported for this model.");
    let (any, one) = (
        json!({"type": "any"}),
        json!({"type": "tool", "name": "bash"}),
    );
    let rows: [(&str, Json, String); 27] = [
        (OPUS, thinking("disabled"), unsupported("disabled")),
        (FABLE, thinking("disabled"), unsupported("disabled")),
        (SONNET, thinking("disabled"), unsupported("disabled")),
        (HAIKU, thinking("disabled"), String::new()),
        (HAIKU, off_at("high"), String::new()),
        (HAIKU, off_at("xhigh"), unsupported("disabled")),
        ("claude-opus-5", off_at("max"), unsupported("disabled")),
        ("claude-sonnet-4-6", thinking("disabled"), String::new()),
        (SONNET, thinking("between_tools"), String::new()),
        (OPUS, thinking("between_tools"), unsupported("between_tools")),
        (OPUS, budget.clone(), unsupported("enabled")),
        (SONNET, budget.clone(), unsupported("enabled")),
        (HAIKU, budget.clone(), unsupported("enabled")),
        ("claude-opus-5", budget.clone(), unsupported("enabled")),
        ("claude-sonnet-4-6", budget, String::new()),
        // A later member of a family has the rules of the present one.
        ("claude-opus-5-6", thinking("disabled"), unsupported("disabled")),
        (OPUS, json!({"temperature": 0.5}), "`temperature` is deprecated for this model.".to_owned()),
        (SONNET, json!({"top_p": 0.5}), "`top_p` is deprecated for this model.".to_owned()),
        (FABLE, json!({"top_k": 5}), "`top_k` is deprecated for this model.".to_owned()),
        ("claude-sonnet-4-6", json!({"temperature": 0.5}), String::new()),
        (OPUS, json!({"tool_choice": any}), "Thinking may not be enabled when tool_choice forces tool use.".to_owned()),
        (SONNET, json!({"tool_choice": one}), "Thinking may not be enabled when tool_choice forces tool use.".to_owned()),
        (OPUS, json!({"output_config": {"effort": "xhigh"}}), String::new()),
        ("claude-sonnet-4-6", json!({"output_config": {"effort": "xhigh"}}), "output_config.effort: \"xhigh\" is not supported for this model.".to_owned()),
        (OPUS, json!({"max_tokens": 200_000}), "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens for claude-opus-5-5".to_owned()),
        (OPUS, json!({"thinking": {"type": "adaptive", "display": "updates"}}), "thinking.adaptive.display: Input should be 'summarized' or 'omitted'".to_owned()),
        (SONNET, json!({"thinking": {"type": "between_tools", "display": "summarized"}}), "thinking.between_tools.display: Extra inputs are not permitted".to_owned()),
    ];
    for (model, fields, expected) in rows {
        assert_eq!(refusal(model, &fields), expected, "{model} {fields}");
    }
}

#[test]
fn a_model_that_does_not_think_sends_no_thinking() {
    let provider = Provider::anthropic([Answer::new().thinks("Hm.").text("Hi.")]);
    let client = Client {
        provider: provider.strict(Strict::anthropic()),
        path: "/v1/messages",
        betas: "",
        body: json!({
            "model": HAIKU, "max_tokens": 1000, "stream": true, "thinking": {"type": "disabled"},
            "messages": [{"role": "user", "content": "Go."}],
        }),
    };
    let content = crate::client::blocks(&client.send().unwrap());
    assert_eq!(content, [json!({"type": "text", "text": "Hi."})]);
}

#[test]
fn models_with_reasoning_refuse_a_temperature_and_unknown_efforts() {
    let client = |fields: Json| Client {
        provider: Provider::responses(["Hi."]).strict(Strict::responses()),
        path: "/v1/responses",
        betas: "",
        body: fields,
    };
    let body = json!({"model": "gpt-6.1-sol", "input": [{"role": "user", "content": "Go."}]});
    assert!(client(body.clone()).send().is_ok());
    for (name, value, why) in [
        (
            "temperature",
            json!(0.5),
            "Unsupported parameter: 'temperature'",
        ),
        (
            "reasoning",
            json!({"effort": "most"}),
            "Invalid value: 'most'.",
        ),
    ] {
        let answered = client(body.clone()).send_changed(|body| body[name] = value);
        crate::client::expect_refused(&answered, why);
    }
}
