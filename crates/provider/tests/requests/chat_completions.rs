//! Requests to Chat Completions.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use provider::{RefusedParameter, ThinkingLevel};

use super::*;

const CHAT: Protocol = Protocol::ChatCompletions;

#[test]
fn a_whole_request() {
    let prompt = Prompt {
        system: Some("Be brief.".to_owned()),
        messages: conversation(),
        tools: vec![tool("read", false), tool("bash", true)],
    };
    let parameters = Parameters {
        max_tokens: Some(100),
        temperature: Some(0.5),
        ..parameters()
    };

    let request = request(CHAT, &prompt, &parameters);

    let schema = json!({"type": "object", "properties": {}});
    assert_eq!(request.url, "http://127.0.0.1:8080/v1/chat/completions");
    assert_eq!(
        headers(&request),
        [
            ("content-type", "application/json"),
            ("accept", "text/event-stream"),
            ("authorization", "Bearer sk-1"),
        ]
    );
    assert_eq!(
        serde_json::from_slice::<Value>(&request.body).unwrap(),
        json!({
            "model": "m",
            "stream": true,
            "stream_options": {"include_usage": true},
            "max_tokens": 100,
            "temperature": 0.5,
            "tools": [
                {"type": "function", "function": {"name": "read", "description": "Runs read.", "parameters": schema}},
                {"type": "function", "function": {"name": "bash", "description": "Runs bash.", "parameters": schema, "strict": true}},
            ],
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "List the files.\n\n    indented"},
                {"role": "assistant", "content": "I look.", "tool_calls": [{
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "bash", "arguments": "{\"z\": 1.0, \"a\": \"ls\"}"},
                }]},
                {"role": "tool", "tool_call_id": "call_1", "content": "a.rs"},
                {"role": "user", "content": "And then?"},
            ],
        })
    );
}

#[test]
fn without_a_key_there_is_no_authorization() {
    let mut endpoint = endpoint(CHAT);
    endpoint.api_key = None;

    let request = encode(&prompt(conversation()), &endpoint, &parameters()).unwrap();

    assert!(
        headers(&request)
            .iter()
            .all(|(name, _)| *name != "authorization")
    );
}

#[test]
fn a_failed_call_is_marked_in_its_text_and_thinking_is_not_sent() {
    let messages = vec![
        user(vec![text("Hi")]),
        assistant(vec![thinking("T", None), call("a.b", "bash", "{}")]),
        user(vec![result("a.b", "no such file", true)]),
        assistant(vec![thinking("T", None)]),
        user(vec![text("One."), text("Two.")]),
    ];

    let body = body(CHAT, &prompt(messages), &parameters());

    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": null, "tool_calls": [{
                "id": "a.b", "type": "function", "function": {"name": "bash", "arguments": "{}"},
            }]},
            {"role": "tool", "tool_call_id": "a.b", "content": "Error: no such file"},
            {"role": "user", "content": "One.\n\nTwo."},
        ])
    );
}

#[test]
fn an_image_is_a_data_url_in_place() {
    let sent = messages_of(CHAT, vec![text("see"), image("image/png"), text("there")]);
    assert_eq!(
        sent,
        json!([{"role": "user", "content": [
            {"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            {"type": "text", "text": "there"},
        ]}])
    );
}

#[test]
fn without_images_content_is_one_string_and_a_pdf_is_its_name() {
    let parts = vec![text("see"), pdf(), text_file(), image("image/tiff")];
    assert_eq!(
        not_taken(&prompt(vec![user(parts.clone())]), CHAT, &Model::default()),
        ["@./b.pdf", "@./a.png"]
    );
    let content = "see\n\n@./b.pdf\n\n@./c.txt:\n```\nc\n```\n\n@./a.png";
    assert_eq!(
        messages_of(CHAT, parts),
        json!([{"role": "user", "content": content}])
    );
}

#[test]
fn a_model_without_vision_gets_the_names_of_images() {
    let parts = vec![text("see"), image("image/png"), pdf(), text_file()];
    for (protocol, images, pdf, names) in [
        (CHAT, Some(false), None, vec!["@./a.png", "@./b.pdf"]),
        (
            Protocol::AnthropicMessages,
            None,
            Some(false),
            vec!["@./b.pdf"],
        ),
        (
            Protocol::Responses,
            Some(false),
            Some(false),
            vec!["@./a.png", "@./b.pdf"],
        ),
        (Protocol::Gemini, Some(false), Some(true), vec!["@./a.png"]),
    ] {
        let about = Model {
            images,
            pdf,
            ..Model::default()
        };
        let prompt = prompt(vec![user(parts.clone())]);
        assert_eq!(not_taken(&prompt, protocol, &about), names);
        let parameters = Parameters {
            about: Box::new(about),
            ..parameters()
        };
        let body = encode(&prompt, &endpoint(protocol), &parameters)
            .unwrap()
            .body;
        let body = String::from_utf8(body).unwrap();
        assert_eq!(body.contains("image/png"), images != Some(false), "{body}");
        assert!(names.iter().all(|name| body.contains(name)), "{body}");
    }
}

// What the named servers get beyond plain Chat Completions.

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
fn check_asked(provider: &str, model: &str, thinking: Option<Thinking>, expected: &Value) {
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
        *expected,
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
        check_asked(provider, model, thinking, &expected);
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

// What servers with rules of their own get: IDs of calls, and requests without the
// parameters that they refuse.

fn at(base_url: &str) -> Endpoint {
    Endpoint {
        base_url: base_url.to_owned(),
        ..endpoint(Protocol::ChatCompletions)
    }
}

/// Returns the IDs of calls and results in a request of calls with these IDs.
fn wire_ids(base_url: &str, model: &str, ids: &[&str]) -> Vec<(String, String)> {
    let calls = ids.iter().map(|id| call(id, "read", "{}")).collect();
    let results = ids.iter().map(|id| result(id, "a", false)).collect();
    let prompt = prompt(vec![
        user(vec![Part::Text("Go.".to_owned())]),
        assistant(calls),
        user(results),
    ]);
    let parameters = Parameters {
        model: model.to_owned(),
        ..parameters()
    };
    let request = encode(&prompt, &at(base_url), &parameters).unwrap();
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let calls = messages[1]["tool_calls"].as_array().unwrap();
    let text = |id: &Value| id.as_str().unwrap().to_owned();
    let results = messages[2..].iter().map(|it| text(&it["tool_call_id"]));
    calls
        .iter()
        .map(|it| text(&it["id"]))
        .zip(results)
        .collect()
}

const LOCAL: &str = "http://127.0.0.1:8080/v1";

/// IDs of other servers, some of which are alike after any mapping.
const FOREIGN: [&str; 9] = [
    "toolu_p13a",
    "toolu_p13b",
    "aB3dE6gH9",
    "call_1",
    "call-1",
    "call 1",
    "functions.bash:0",
    "chatcmpl-tool-0123456789abcdef0123456789abcdef",
    "chatcmpl-tool-0123456789abcdef0123456789abcdee",
];

#[test]
fn mistral_gets_ids_of_nine_letters_and_digits() {
    for (base_url, model) in [
        (LOCAL, "mistral-large"),
        (LOCAL, "mistralai/Ministral-8B"),
        ("https://api.mistral.ai/v1", "any"),
    ] {
        let ids = wire_ids(base_url, model, &FOREIGN);
        for (call, result) in &ids {
            assert_eq!(call, result);
            assert_eq!(call.len(), 9, "{call}");
            assert!(call.chars().all(|c| c.is_ascii_alphanumeric()), "{call}");
        }
        let distinct: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), FOREIGN.len());
        assert_eq!(ids[2].0, "aB3dE6gH9", "its own ID is kept");
        // The same in each request, whatever comes before.
        assert_eq!(wire_ids(base_url, model, &FOREIGN[1..]), ids[1..]);
    }
}

#[test]
fn other_servers_get_ids_of_at_most_forty_visible_characters() {
    let ids = wire_ids(LOCAL, "m", &FOREIGN);
    for ((call, result), sent) in ids.iter().zip(FOREIGN) {
        assert_eq!(call, result);
        assert!(
            call.len() <= 40 && call.chars().all(|c| c.is_ascii_graphic()),
            "{call}"
        );
        let fits = sent.len() <= 40 && !sent.contains(' ');
        assert_eq!(call == sent, fits, "{call} for {sent}");
    }
    let distinct: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), FOREIGN.len());
}

/// Returns the refused parameter of an error, and the body without it.
fn without(parameters: &Parameters, status: u16, error: &str) -> Option<(String, Value)> {
    let mut request = request(
        Protocol::ChatCompletions,
        &prompt(conversation()),
        parameters,
    );
    let refused = RefusedParameter::of_answer(status, error.as_bytes(), &request)?;
    refused.apply(&mut request.body);
    Some((
        refused.to_string(),
        serde_json::from_slice(&request.body).unwrap(),
    ))
}

fn all_parameters() -> Parameters {
    Parameters {
        max_tokens: Some(4000),
        temperature: Some(0.5),
        thinking: Some(Thinking::Level(provider::ThinkingLevel::High)),
        ..parameters()
    }
}

#[test]
fn a_refused_parameter_is_renamed_or_left_out() {
    for (error, expected, name) in [
        (
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}"#,
            "max_tokens, so it is sent as max_completion_tokens",
            "max_tokens",
        ),
        (
            r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.","param":"temperature"}}"#,
            "temperature, so it is left out",
            "temperature",
        ),
        (
            r#"{"error":{"message":"invalid temperature: only 1 is allowed for this model"}}"#,
            "temperature, so it is left out",
            "temperature",
        ),
        (
            r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}}"#,
            "stream_options, so it is left out",
            "stream_options",
        ),
        (
            r#"{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'reasoning_effort'), 'msg': 'Extra inputs are not permitted'}]"}"#,
            "reasoning_effort, so it is left out",
            "reasoning_effort",
        ),
        (
            r#"{"error":"Argument not supported on this model: reasoning_effort"}"#,
            "reasoning_effort, so it is left out",
            "reasoning_effort",
        ),
        (
            r#"{"error":{"message":"Unrecognized request argument supplied: stream_options"}}"#,
            "stream_options, so it is left out",
            "stream_options",
        ),
    ] {
        for status in [400, 422] {
            let (said, body) = without(&all_parameters(), status, error).unwrap();
            assert_eq!(said, expected, "{error}");
            assert_eq!(body.get(name), None, "{error}");
            let renamed = body.get("max_completion_tokens").is_some();
            assert_eq!(renamed, expected.contains("max_completion_tokens"));
        }
        assert_eq!(without(&all_parameters(), 401, error), None);
    }
}

#[test]
fn other_errors_leave_the_request_alone() {
    for error in [
        r#"{"error":{"message":"messages.1.content.0.temperature: unexpected value"}}"#,
        r#"{"error":{"message":"model is not supported"}}"#,
        r#"{"error":{"message":"Unsupported parameter: 'top_k'","param":"top_k"}}"#,
        r#"{"error":{"message":"tools are not supported by this model","param":"tools"}}"#,
        r#"{"error":{"message":"max_tokens must be positive","param":"max_tokens"}}"#,
        "temperature",
        "",
    ] {
        assert_eq!(without(&all_parameters(), 400, error), None, "{error}");
    }
}

#[test]
fn what_was_refused_before_is_not_sent_again_and_the_rest_keeps_its_bytes() {
    let error = r#"{"error":{"message":"'temperature' is not supported","param":"temperature"}}"#;
    let first = request(
        Protocol::ChatCompletions,
        &prompt(conversation()),
        &all_parameters(),
    );
    let refused = RefusedParameter::of_answer(400, error.as_bytes(), &first).unwrap();
    let later = Parameters {
        refused: vec![refused],
        ..all_parameters()
    };
    let body = request(Protocol::ChatCompletions, &prompt(conversation()), &later).body;
    let expected = String::from_utf8(first.body)
        .unwrap()
        .replace("\"temperature\":0.5,", "");
    assert_eq!(String::from_utf8(body).unwrap(), expected);
}

#[test]
fn openai_gets_the_newer_name_of_the_token_limit_at_once() {
    let endpoint = at("https://api.openai.com/v1");
    let request = encode(&prompt(conversation()), &endpoint, &all_parameters()).unwrap();
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["max_completion_tokens"], 4000);
    assert_eq!(body.get("max_tokens"), None);
}

#[test]
fn the_files_of_a_result_are_named_in_its_text() {
    let said = shows_files();
    let names = not_taken(&said, CHAT, &Model::default());
    assert_eq!(names, ["@./a.png", "@./b.pdf"]);
    let body = body(CHAT, &said, &parameters());
    assert_eq!(
        body["messages"].as_array().unwrap().last().unwrap()["content"],
        "[a.png]\n\
         [@./a.png is not shown, because this model sees no such files in results.]\n\
         [@./b.pdf is not shown, because this model sees no such files in results.]"
    );
}
