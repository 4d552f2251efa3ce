//! What the named servers get beyond plain Chat Completions.

use base64::{Engine, engine::general_purpose::STANDARD};
use provider::ThinkingLevel;

use super::*;

/// Returns the body that `provider` gets for `model`.
fn spell(provider: &str, model: &str, prompt: &Prompt, thinking: Option<Thinking>) -> Value {
    let endpoint = Endpoint {
        provider: provider.to_owned(),
        ..endpoint(Protocol::ChatCompletions)
    };
    let parameters = Parameters {
        model: model.to_owned(),
        thinking,
        ..parameters()
    };
    let request = encode(prompt, &endpoint, &parameters).unwrap();
    serde_json::from_slice(&request.body).unwrap()
}

/// Compares the thinking fields of a body.
#[track_caller]
fn check_asked(provider: &str, model: &str, thinking: Option<Thinking>, expected: Value) {
    let body = spell(provider, model, &prompt(conversation()), thinking);
    let mut asked = serde_json::Map::new();
    for name in [
        "reasoning_effort",
        "reasoning_format",
        "reasoning",
        "thinking",
        "chat_template_kwargs",
    ] {
        asked.extend(body.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    assert_eq!(
        Value::Object(asked),
        expected,
        "{provider} {model} {thinking:?}"
    );
}

#[test]
fn each_server_gets_its_own_thinking_parameters() {
    let high = Some(Thinking::Level(ThinkingLevel::High));
    let max = Some(Thinking::Level(ThinkingLevel::Max));
    let tokens = Some(Thinking::Budget(2000));
    let off = Some(Thinking::Off);
    for (provider, model, thinking, expected) in [
        ("openai_compatible", "m", None, json!({})),
        (
            "openai_compatible",
            "m",
            max,
            json!({"reasoning_effort": "high"}),
        ),
        ("openai_compatible", "m", off, json!({})),
        (
            "ollama",
            "qwen3",
            tokens,
            json!({"reasoning_effort": "low"}),
        ),
        ("ollama", "qwen3", off, json!({"reasoning_effort": "none"})),
        (
            "llamacpp",
            "q",
            high,
            json!({"chat_template_kwargs": {"enable_thinking": true, "reasoning_effort": "high"}}),
        ),
        (
            "llamacpp",
            "q",
            off,
            json!({"chat_template_kwargs": {"enable_thinking": false}}),
        ),
        (
            "groq",
            "openai/gpt-oss-120b",
            max,
            json!({"reasoning_effort": "high"}),
        ),
        (
            "groq",
            "qwen/qwen3-32b",
            high,
            json!({"reasoning_effort": "default", "reasoning_format": "parsed"}),
        ),
        (
            "groq",
            "qwen/qwen3-32b",
            off,
            json!({"reasoning_effort": "none"}),
        ),
        ("groq", "llama-3.3-70b-versatile", high, json!({})),
        (
            "together",
            "zai-org/GLM-4.6",
            high,
            json!({"reasoning": {"enabled": true}}),
        ),
        (
            "together",
            "openai/gpt-oss-20b",
            off,
            json!({"reasoning_effort": "low"}),
        ),
        (
            "openrouter",
            "a/b",
            max,
            json!({"reasoning": {"effort": "xhigh"}}),
        ),
        (
            "openrouter",
            "a/b",
            tokens,
            json!({"reasoning": {"max_tokens": 2000}}),
        ),
        (
            "openrouter",
            "a/b",
            off,
            json!({"reasoning": {"effort": "none"}}),
        ),
        (
            "openrouter",
            "a/b",
            Some(Thinking::Budget(0)),
            json!({"reasoning": {"effort": "none"}}),
        ),
        (
            "deepseek",
            "deepseek-v4-pro",
            max,
            json!({"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
        ),
        (
            "deepseek",
            "deepseek-v4-pro",
            off,
            json!({"thinking": {"type": "disabled"}}),
        ),
        (
            "moonshot",
            "kimi-k2.6",
            high,
            json!({"thinking": {"type": "enabled"}}),
        ),
        ("moonshot", "kimi-k2-thinking", off, json!({})),
        ("xai", "grok-4.3", off, json!({"reasoning_effort": "none"})),
        ("xai", "grok-4.5", off, json!({"reasoning_effort": "low"})),
        (
            "xai",
            "grok-3-mini",
            Some(Thinking::Level(ThinkingLevel::Medium)),
            json!({"reasoning_effort": "low"}),
        ),
        ("xai", "grok-4-0709", high, json!({})),
        ("xai", "grok-4.20-reasoning", high, json!({})),
    ] {
        check_asked(provider, model, thinking, expected);
    }
}

#[test]
fn a_server_that_wants_its_thinking_back_gets_only_its_own() {
    let messages = vec![
        user(vec![text("Hi")]),
        assistant(vec![
            thinking("One.", Some(("deepseek", ""))),
            call("c1", "bash", "{}"),
        ]),
        user(vec![result("c1", "a", false)]),
        // A turn of another provider: calls without thinking would be rejected.
        assistant(vec![
            thinking("Foreign.", Some(("anthropic", "s"))),
            thinking("Unsigned.", None),
            call("c2", "bash", "{}"),
        ]),
        user(vec![result("c2", "b", false)]),
        assistant(vec![text("Done.")]),
        user(vec![text("Thanks.")]),
    ];
    let thought = |provider: &str| {
        let body = spell(provider, "m", &prompt(messages.clone()), None);
        [1, 3, 5].map(|at| body["messages"][at]["reasoning_content"].clone())
    };
    assert_eq!(
        thought("deepseek"),
        [json!("One."), json!(" "), Value::Null]
    );
    assert_eq!(thought("moonshot"), [json!(" "), json!(" "), Value::Null]);
    assert_eq!(thought("ollama"), [Value::Null, Value::Null, Value::Null]);
}

#[test]
fn strict_and_parallel_calls_are_requested_only_where_supported() {
    let prompt = Prompt {
        tools: vec![tool("bash", true)],
        ..prompt(conversation())
    };
    let sent = |provider: &str| {
        let body = spell(provider, "m", &prompt, None);
        let strict = body["tools"][0]["function"]["strict"].clone();
        (strict, body["parallel_tool_calls"].clone())
    };
    assert_eq!(sent("openai_compatible"), (json!(true), Value::Null));
    assert_eq!(sent("llamacpp"), (json!(true), json!(true)));
    assert_eq!(sent("deepseek"), (Value::Null, Value::Null));
}

#[test]
fn openrouter_gets_its_thinking_back() {
    let details = json!([{"type": "reasoning.text", "text": "T", "signature": "s", "format": "anthropic-claude-v1", "index": 0}]);
    let more = json!([{"type": "reasoning.encrypted", "data": "AA==", "index": 1}]);
    let [first, second] = [&details, &more].map(|it| STANDARD.encode(it.to_string()));
    let messages = vec![
        user(vec![text("Hi")]),
        assistant(vec![
            thinking("T", Some(("openrouter", &first))),
            text("I look."),
            thinking("", Some(("openrouter", &second))),
            thinking("not its own", Some(("anthropic", "s"))),
            call("c1", "bash", "{}"),
        ]),
        user(vec![result("c1", "a", false)]),
    ];
    let sent = |provider: &str, model: &str| {
        let body = spell(provider, model, &prompt(messages.clone()), None);
        body["messages"][1].get("reasoning_details").cloned()
    };
    let claude = "anthropic/claude-sonnet-4.5";
    assert_eq!(
        sent("openrouter", claude),
        Some(json!([details[0], more[0]]))
    );
    assert_eq!(sent("openrouter", "openai/gpt-5"), Some(more));
    assert_eq!(sent("openai_compatible", claude), None);
}
