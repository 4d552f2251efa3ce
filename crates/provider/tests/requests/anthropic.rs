//! Requests to Anthropic's Messages API.

use chat::summary::SignedSummary;
use provider::{Feature, ThinkingLevel, catalogue};

use super::*;

const ANTHROPIC: Protocol = Protocol::AnthropicMessages;

#[test]
fn a_whole_request() {
    let prompt = Prompt {
        system: Some("Be brief.".to_owned()),
        messages: conversation(),
        tools: vec![tool("read", false), tool("bash", true)],
    };
    let parameters = Parameters {
        temperature: Some(0.5),
        cache: CacheRetention::Short,
        ..parameters()
    };

    let request = request(ANTHROPIC, &prompt, &parameters);

    let schema = json!({"type": "object", "properties": {}});
    let mark = json!({"type": "ephemeral"});
    assert_eq!(request.url, "https://api.anthropic.com/v1/messages");
    assert_eq!(
        headers(&request),
        [
            ("content-type", "application/json"),
            ("accept", "text/event-stream"),
            ("anthropic-version", "2023-06-01"),
            ("x-api-key", "sk-1"),
        ]
    );
    assert_eq!(
        serde_json::from_slice::<Value>(&request.body).unwrap(),
        json!({
            "model": "m",
            "max_tokens": 32_000,
            "temperature": 0.5,
            "stream": true,
            "tools": [
                {"name": "read", "description": "Runs read.", "input_schema": schema},
                {"name": "bash", "description": "Runs bash.", "input_schema": schema, "cache_control": mark},
            ],
            "tool_choice": {"type": "auto"},
            "system": [{"type": "text", "text": "Be brief.", "cache_control": mark}],
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "List the files.\n\n    indented", "cache_control": mark},
                ]},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "call_1", "name": "bash", "input": {"z": 1.0, "a": "ls"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "call_1", "content": "a.rs"},
                    {"type": "text", "text": "And then?", "cache_control": mark},
                ]},
            ],
        })
    );
}

#[test]
fn unset_parameters_are_not_sent() {
    let body = body(
        ANTHROPIC,
        &prompt(vec![user(vec![text("Hi")])]),
        &parameters(),
    );

    assert_eq!(
        body,
        json!({
            "model": "m",
            "max_tokens": 32_000,
            "stream": true,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        })
    );
}

/// Encodes one assistant message and compares its blocks.
#[track_caller]
fn check_assistant(parts: Vec<Part>, expected: &Value) {
    let prompt = prompt(vec![
        user(vec![text("Hi")]),
        assistant(parts),
        user(vec![text("Go on.")]),
    ]);
    let body = body(ANTHROPIC, &prompt, &parameters());
    assert_eq!(&body["messages"][1]["content"], expected);
}

#[test]
fn an_answer_is_returned_in_the_order_of_the_file() {
    let signed = |name| thinking(name, Some(("anthropic", name)));
    check_assistant(
        vec![
            text("A"),
            text("B"),
            signed("T1"),
            call("c1", "bash", "{}"),
            signed("T2"),
            signed(""),
            call("c2", "bash", "{}"),
            text("C"),
        ],
        &json!([
            {"type": "text", "text": "A"},
            {"type": "text", "text": "B"},
            {"type": "thinking", "thinking": "T1", "signature": "T1"},
            {"type": "tool_use", "id": "c1", "name": "bash", "input": {}},
            {"type": "thinking", "thinking": "T2", "signature": "T2"},
            {"type": "tool_use", "id": "c2", "name": "bash", "input": {}},
            {"type": "text", "text": "C"},
        ]),
    );
}

#[test]
fn thinking_is_returned_only_to_its_signer() {
    let opaque = |provider: Option<&str>| Part::Thinking {
        text: "EmwK".to_owned(),
        signature: provider.map(|provider| Signature {
            provider: provider.to_owned(),
            value: String::new(),
        }),
        redacted: true,
    };
    check_assistant(
        vec![
            thinking("unsigned", None),
            thinking("foreign", Some(("vertex", "s"))),
            opaque(Some("vertex")),
            opaque(None),
            text("A"),
        ],
        &json!([
            {"type": "redacted_thinking", "data": "EmwK"},
            {"type": "text", "text": "A"},
        ]),
    );
}

#[test]
fn a_chat_whose_thinking_was_refused_is_sent_without_it() {
    let mut parameters = parameters();
    parameters.without.signed_thinking = true;
    let signed = assistant(vec![thinking("T", Some(("anthropic", "s"))), text("A")]);
    let opaque = assistant(vec![Part::Thinking {
        text: "EmwK".to_owned(),
        signature: None,
        redacted: true,
    }]);
    let messages = vec![
        user(vec![text("Hi")]),
        signed,
        user(vec![text("Hm?")]),
        opaque,
        user(vec![text("Go on.")]),
    ];

    let body = body(ANTHROPIC, &prompt(messages), &parameters);

    assert_eq!(
        body["messages"][1],
        json!({"role": "assistant", "content": [{"type": "text", "text": "A"}]})
    );
    assert_eq!(body["messages"].as_array().unwrap().len(), 4);
}

#[test]
fn a_message_of_only_foreign_thinking_is_omitted() {
    let foreign = assistant(vec![thinking("foreign", None)]);
    let messages = vec![user(vec![text("Hi")]), foreign, user(vec![text("Go on.")])];

    let body = body(ANTHROPIC, &prompt(messages), &parameters());

    assert_eq!(body["messages"].as_array().unwrap().len(), 2);
}

#[test]
fn a_failed_call_is_marked_and_results_come_first() {
    let messages = vec![
        assistant(vec![call("c1", "bash", "{}")]),
        user(vec![text("Why?"), result("c1", "no such file", true)]),
    ];

    let body = body(ANTHROPIC, &prompt(messages), &parameters());

    assert_eq!(
        body["messages"][1]["content"],
        json!([
            {"type": "tool_result", "tool_use_id": "c1", "content": "no such file", "is_error": true},
            {"type": "text", "text": "Why?"},
        ])
    );
}

#[test]
fn ids_have_only_accepted_characters_and_stay_unique() {
    let long = "x".repeat(80);
    let longer = "x".repeat(81);
    let ids = [
        "urn:a",
        "urn_a",
        "urn.a",
        "",
        long.as_str(),
        longer.as_str(),
    ];
    let messages = vec![
        assistant(ids.iter().map(|id| call(id, "bash", "{}")).collect()),
        user(ids.iter().map(|id| result(id, "", false)).collect()),
    ];

    let body = body(ANTHROPIC, &prompt(messages), &parameters());

    let blocks = |at: usize| body["messages"][at]["content"].as_array().unwrap().clone();
    let uses: Vec<Value> = blocks(0).iter().map(|block| block["id"].clone()).collect();
    let results: Vec<Value> = blocks(1)
        .iter()
        .map(|block| block["tool_use_id"].clone())
        .collect();
    // The digest of the whole ID tells those apart that begin in the same way.
    let cut = |digest: &str| format!("{}_{digest}", "x".repeat(54));
    assert_eq!(
        uses,
        [
            "urn_a",
            "urn_a_2",
            "urn_a_3",
            "_",
            &cut("zsFO4H9j4"),
            &cut("XnH4az4NM")
        ]
    );
    assert_eq!(results, uses);
}

#[test]
fn a_base_url_may_end_in_the_version() {
    let mut endpoint = endpoint(ANTHROPIC);
    endpoint.base_url = "http://127.0.0.1:9/v1/".to_owned();

    let request = encode(&prompt(conversation()), &endpoint, &parameters()).unwrap();

    assert_eq!(request.url, "http://127.0.0.1:9/v1/messages");
}

#[test]
fn files_are_blocks_in_place_and_the_last_block_has_the_cache_mark() {
    let parts = vec![text("see"), pdf(), text_file(), image("image/png")];
    assert_eq!(
        not_taken(
            &prompt(vec![user(parts.clone())]),
            ANTHROPIC,
            &Model::default()
        ),
        [""; 0]
    );
    let source = |mime: &str| json!({"type": "base64", "media_type": mime, "data": "aGk="});
    assert_eq!(
        messages_of(ANTHROPIC, parts),
        json!([{"role": "user", "content": [
            {"type": "text", "text": "see"},
            {"type": "document", "source": source("application/pdf"), "title": "@./b.pdf"},
            {"type": "text", "text": "@./c.txt:\n```\nc\n```"},
            {"type": "image", "source": source("image/png"), "cache_control": {"type": "ephemeral"}},
        ]}])
    );
    let last = messages_of(ANTHROPIC, vec![text("see"), pdf()])[0]["content"][1].clone();
    assert_eq!(
        last["cache_control"],
        json!({"type": "ephemeral"}),
        "{last}"
    );
}

#[test]
fn each_provider_gets_the_image_types_that_it_accepts() {
    for (mime, is_taken) in [("image/gif", true), ("image/heic", false)] {
        let sent = messages_of(ANTHROPIC, vec![image(mime)]);
        assert_eq!(sent[0]["content"][0]["type"] == "image", is_taken, "{mime}");
    }
}

#[test]
fn an_image_of_another_type_is_sent_as_its_name() {
    let parts = vec![image("image/tiff")];
    assert_eq!(
        not_taken(
            &prompt(vec![user(parts.clone())]),
            ANTHROPIC,
            &Model::default()
        ),
        ["@./a.png"]
    );
    assert_eq!(
        messages_of(ANTHROPIC, parts)[0]["content"][0]["text"],
        "@./a.png"
    );
}

#[test]
fn a_temperature_is_limited_to_the_apis_maximum() {
    for (set, sent) in [(1.5, 1.0), (2.0, 1.0), (1.0, 1.0), (0.3, 0.3), (-1.0, 0.0)] {
        let parameters = Parameters {
            temperature: Some(set),
            ..parameters()
        };
        let body = body(ANTHROPIC, &prompt(conversation()), &parameters);
        assert_eq!(body["temperature"], json!(sent), "{set}");
    }
}

/// Counts the cache marks in a body of three user messages, a tool, and a system text.
#[track_caller]
fn check_marks(cache: CacheRetention, mark: &Value, count: usize) {
    let mut messages = conversation();
    messages.push(assistant(vec![text("Done.")]));
    messages.push(user(vec![text("Thanks.")]));
    let prompt = Prompt {
        system: Some("Be brief.".to_owned()),
        messages,
        tools: vec![tool("read", false), tool("bash", false)],
    };
    let parameters = Parameters {
        cache,
        ..parameters()
    };
    let body = String::from_utf8(request(ANTHROPIC, &prompt, &parameters).body).unwrap();
    let spelled = format!(r#""cache_control":{mark}"#);
    assert_eq!(body.matches(&spelled).count(), count, "{body}");
    assert_eq!(body.matches("cache_control").count(), count, "{body}");
}

#[test]
fn a_prompt_is_cached_for_minutes_an_hour_or_not_at_all() {
    check_marks(CacheRetention::Short, &json!({"type": "ephemeral"}), 4);
    check_marks(
        CacheRetention::Long,
        &json!({"type": "ephemeral", "ttl": "1h"}),
        4,
    );
    check_marks(CacheRetention::None, &json!({}), 0);
}

// Thinking parameters for Anthropic's models, and their effect on other limits.

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
fn check_thinking(model: &str, thinking: Option<Thinking>, expected: &Value) {
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
    assert_eq!(sent, *expected, "{model} {thinking:?}");
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
        check_thinking(model, thinking, &expected);
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
fn bound_request(model: &str, own: &Value, set: fn(&mut Parameters)) -> (Option<String>, Value) {
    let mut parameters = Parameters {
        model: model.to_owned(),
        about: Box::new(catalogue::model("anthropic", model, Some(own))),
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
        let (beta, body) = bound_request(model, &json!({}), nothing);
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
        let (beta, body) = bound_request(model, &json!({}), nothing);
        assert_eq!(beta, None, "{model}");
        assert!(body["thinking"].get("block_binding").is_none(), "{model}");
        assert!(returns(&body), "{model}");
    }
    // The user's own facts decide for a model with another name, and against a listed one.
    let (beta, _) = bound_request("our-claude", &json!({"preserved_thinking": true}), nothing);
    assert_eq!(beta.as_deref(), Some(BETA));
    let (beta, _) = bound_request(
        "claude-opus-5-5",
        &json!({"preserved_thinking": false}),
        nothing,
    );
    assert_eq!(beta, None);
}

#[test]
fn without_the_instruction_no_thinking_is_sent_that_may_be_invalid() {
    let (beta, body) = bound_request("claude-opus-5-5", &json!({}), |it| {
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

    let (beta, body) = bound_request("claude-haiku-5-5", &json!({}), |it| {
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
    let (_, body) = bound_request("claude-sonnet-5-5", &json!({}), |it| {
        it.thinking = Some(Thinking::Off);
    });
    assert_eq!(body["messages"][1]["content"][0]["signature"], "s");
}

#[test]
fn the_files_of_a_result_are_blocks_in_it() {
    let body = body(ANTHROPIC, &shows_files(), &parameters());
    let source = |mime: &str| json!({"type": "base64", "media_type": mime, "data": "aGk="});
    assert_eq!(
        body["messages"][2]["content"][0],
        json!({"type": "tool_result", "tool_use_id": "a", "content": [
            {"type": "text", "text": "[a.png]"},
            {"type": "image", "source": source("image/png")},
            {"type": "document", "source": source("application/pdf"), "title": "@./b.pdf"},
        ]})
    );
}

/// A conversation that begins with a summary, for a model with compaction.
fn summarized(next: PromptMessage, parameters: Parameters) -> (Option<String>, Value) {
    let mut first = user(vec![text("So far.")]);
    if next.role == PromptRole::User {
        first.parts.extend(next.parts.clone());
    }
    let mut messages = vec![first];
    if next.role != PromptRole::User {
        messages.push(next);
        messages.push(user(vec![text("Go on.")]));
    }
    let parameters = Parameters {
        signed_summary: Some(SignedSummary {
            content: "So far.\n".to_owned(),
            signature: "c2ln".to_owned(),
        }),
        ..parameters
    };
    let request = request(Protocol::AnthropicMessages, &prompt(messages), &parameters);
    let headers = request.headers.iter();
    let mut headers = headers.map(|(name, value)| (name.as_str(), value.expose()));
    let beta = headers.find(|it| it.0 == "anthropic-beta");
    let beta = beta.map(|it| it.1.to_owned());
    (beta, serde_json::from_slice(&request.body).unwrap())
}

fn compacting() -> Parameters {
    let about = json!({"compaction": true});
    Parameters {
        about: Box::new(catalogue::model("anthropic", "m", Some(&about))),
        ..parameters()
    }
}

#[test]
fn a_summary_that_the_provider_signed_goes_first_as_it_came() {
    let block = json!({"type": "compaction", "content": "So far.\n", "signature": "c2ln"});
    let (beta, body) = summarized(user(vec![text("Go on.")]), compacting());
    assert_eq!(beta.as_deref(), Some("compact-2026-09-04"));
    let expected = json!([
        {"role": "assistant", "content": [block]},
        {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
    ]);
    assert_eq!(body["messages"], expected);
    let (_, body) = summarized(assistant(vec![text("Yes.")]), compacting());
    let expected = json!([
        {"role": "assistant", "content": [block]},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
        {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
    ]);
    assert_eq!(body["messages"], expected);
}

#[test]
fn a_signed_summary_is_text_where_the_provider_does_not_take_it() {
    let mut refused = compacting();
    refused.without.add(Feature::Compaction);
    for parameters in [parameters(), refused] {
        let (beta, body) = summarized(user(vec![text("Go on.")]), parameters);
        assert_eq!(beta, None);
        let texts =
            json!([{"type": "text", "text": "So far."}, {"type": "text", "text": "Go on."}]);
        assert_eq!(body["messages"][0]["content"], texts);
    }
}

#[test]
fn a_request_for_a_summary_has_the_conversation_and_instructions() {
    let parameters = Parameters {
        summarize: Some("Be brief.".to_owned()),
        ..compacting()
    };
    let said = prompt(vec![user(vec![text("Go.")]), assistant(vec![text("Yes.")])]);
    let endpoint = endpoint(Protocol::AnthropicMessages);
    let request = provider::encode(&said, &endpoint, &parameters).unwrap();
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let expected = json!({"type": "summarize", "instructions": "Be brief."});
    assert_eq!(body["compaction"], expected);
    assert_eq!(body["messages"].as_array().unwrap().len(), 2);
    // As an answer it would mean something else.
    let mut refused = parameters.clone();
    refused.without.add(Feature::Compaction);
    assert!(provider::encode(&said, &endpoint, &refused).is_err());
}
