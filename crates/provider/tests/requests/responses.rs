//! Requests to OpenAI's Responses API.

use base64::{Engine, engine::general_purpose::STANDARD};
use provider::{ThinkingLevel, catalogue};

use super::*;

const RESPONSES: Protocol = Protocol::Responses;

fn spell(prompt: &Prompt, parameters: &Parameters) -> Value {
    body(RESPONSES, prompt, parameters)
}

/// Returns parameters for a listed model.
fn of_model(model: &str) -> Parameters {
    Parameters {
        model: model.to_owned(),
        about: Box::new(catalogue::model("openai", model, None)),
        ..parameters()
    }
}

/// Returns a reasoning item and its signature in the document.
fn reasoning(id: &str) -> (Value, String) {
    let item = json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAA="});
    let signature = STANDARD.encode(item.to_string());
    (item, signature)
}

/// Returns the model's text as it is sent back.
fn said(id: &str, text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    json!({"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content})
}

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
        cache: CacheRetention::Short,
        cache_key: Some("abc".to_owned()),
        ..parameters()
    };

    let request = request(RESPONSES, &prompt, &parameters);

    let schema = json!({"type": "object", "properties": {}});
    assert_eq!(request.url, "https://api.openai.com/v1/responses");
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
            "store": false,
            "max_output_tokens": 100,
            "temperature": 0.5,
            "prompt_cache_key": "abc",
            "tools": [
                {"type": "function", "name": "read", "description": "Runs read.", "parameters": schema, "strict": false},
                {"type": "function", "name": "bash", "description": "Runs bash.", "parameters": schema, "strict": true},
            ],
            "instructions": "Be brief.",
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "List the files.\n\n    indented"}]},
                said("msg_1", "I look."),
                {"type": "function_call", "call_id": "call_1", "name": "bash", "arguments": "{\"z\": 1.0, \"a\": \"ls\"}"},
                {"type": "function_call_output", "call_id": "call_1", "output": "a.rs"},
                {"role": "user", "content": [{"type": "input_text", "text": "And then?"}]},
            ],
        })
    );
}

#[test]
fn every_reasoning_item_is_returned_in_its_position() {
    let [(one, first), (two, second), (_, last)] = ["rs_1", "rs_2", "rs_3"].map(reasoning);
    let signed = |text: &str, signature: &str| thinking(text, Some(("openai", signature)));
    let messages = vec![
        user(vec![text("Hi")]),
        assistant(vec![
            signed("T1", &first),
            text("A"),
            signed("", &second),
            call("c1", "bash", "{}"),
        ]),
        user(vec![result("c1", "no such file", true)]),
        // Cut off before any text: the API rejects reasoning alone.
        assistant(vec![signed("T3", &last)]),
        user(vec![text("Go on.")]),
    ];

    let body = spell(&prompt(messages), &parameters());

    assert_eq!(
        body["input"],
        json!([
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            one,
            said("msg_2", "A"),
            two,
            {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "Error: no such file"},
            {"role": "user", "content": [{"type": "input_text", "text": "Go on."}]},
        ])
    );
}

#[test]
fn newer_models_get_the_phase_of_each_text() {
    let messages = vec![
        assistant(vec![text("I look."), call("c1", "bash", "{}")]),
        user(vec![result("c1", "a.rs", false)]),
        assistant(vec![text("One file.")]),
        user(vec![text("Thanks.")]),
    ];
    let phases = |model: &str| {
        let body = spell(&prompt(messages.clone()), &of_model(model));
        [
            body["input"][0]["phase"].clone(),
            body["input"][3]["phase"].clone(),
        ]
    };
    assert_eq!(phases("gpt-5.4"), ["commentary", "final_answer"]);
    assert_eq!(phases("gpt-5"), [Value::Null, Value::Null]);
}

/// Compares what a listed model gets for a value of `thinking`: effort, summary, whether
/// encrypted reasoning is requested, and temperature.
#[track_caller]
fn check_thinking(model: &str, thinking: Option<Thinking>, expected: &Value) {
    let parameters = Parameters {
        thinking,
        temperature: Some(0.5),
        ..of_model(model)
    };
    let body = spell(&prompt(conversation()), &parameters);
    let sent = json!([
        body["reasoning"],
        body["include"].is_array(),
        body["temperature"].is_f64()
    ]);
    assert_eq!(sent, *expected, "{model} {thinking:?}");
}

#[test]
fn thinking_is_an_effort_that_the_model_has() {
    let level = |level| Some(Thinking::Level(level));
    let effort = |effort: &str| json!({"effort": effort, "summary": "auto"});
    check_thinking("gpt-5.4", None, &json!([null, true, false]));
    check_thinking(
        "gpt-5.4",
        level(ThinkingLevel::Minimal),
        &json!([effort("low"), true, false]),
    );
    check_thinking(
        "gpt-5.4",
        level(ThinkingLevel::Max),
        &json!([effort("xhigh"), true, false]),
    );
    check_thinking(
        "gpt-5.4",
        Some(Thinking::Budget(8000)),
        &json!([effort("medium"), true, false]),
    );
    check_thinking(
        "gpt-5.4",
        Some(Thinking::Off),
        &json!([{"effort": "none"}, true, true]),
    );
    check_thinking(
        "gpt-5",
        level(ThinkingLevel::Max),
        &json!([effort("high"), true, false]),
    );
    check_thinking(
        "gpt-5",
        Some(Thinking::Off),
        &json!([effort("minimal"), true, false]),
    );
    check_thinking(
        "o3",
        Some(Thinking::Off),
        &json!([effort("low"), true, false]),
    );
    check_thinking(
        "gpt-4.1",
        level(ThinkingLevel::High),
        &json!([null, false, true]),
    );
    check_thinking(
        "unheard-of",
        level(ThinkingLevel::Max),
        &json!([effort("high"), true, false]),
    );
    check_thinking(
        "unheard-of",
        Some(Thinking::Off),
        &json!([null, false, true]),
    );
    check_thinking("unheard-of", None, &json!([null, false, true]));
}

#[test]
fn the_providers_own_terms_take_precedence() {
    let parameters = Parameters {
        thinking: Some(Thinking::Level(ThinkingLevel::Low)),
        effort: Some("xhigh".to_owned()),
        summary: Some("detailed".to_owned()),
        ..of_model("gpt-5.4")
    };
    let body = spell(&prompt(conversation()), &parameters);
    assert_eq!(
        body["reasoning"],
        json!({"effort": "xhigh", "summary": "detailed"})
    );

    let silent = Parameters {
        summary: Some("none".to_owned()),
        ..parameters
    };
    let body = spell(&prompt(conversation()), &silent);
    assert_eq!(body["reasoning"], json!({"effort": "xhigh"}));
}

#[test]
fn a_prompt_is_cached_as_the_model_supports_it() {
    let sent = |model: &str, cache| {
        let parameters = Parameters {
            cache,
            cache_key: Some("abc".to_owned()),
            ..of_model(model)
        };
        let body = spell(&prompt(conversation()), &parameters);
        ["key", "retention", "options"].map(|name| body[format!("prompt_cache_{name}")].clone())
    };
    let key = || json!("abc");
    use CacheRetention::{Long, None, Short};
    assert_eq!(sent("gpt-5.4", Short), [key(), Value::Null, Value::Null]);
    assert_eq!(sent("gpt-5.4", Long), [key(), json!("24h"), Value::Null]);
    assert_eq!(
        sent("gpt-5.4", None),
        [Value::Null, Value::Null, Value::Null]
    );
    assert_eq!(
        sent("gpt-5.6-sol", Long),
        [key(), Value::Null, json!({"ttl": "12h"})]
    );
    assert_eq!(
        sent("gpt-5.6-sol", None),
        [Value::Null, Value::Null, json!({"mode": "explicit"})]
    );
    assert_eq!(sent("gpt-4o", Long), [key(), Value::Null, Value::Null]);
}

#[test]
fn files_are_pieces_in_place() {
    let parts = vec![
        text("see"),
        image("image/png"),
        pdf(),
        text_file(),
        image("image/tiff"),
    ];
    let prompt = prompt(vec![user(parts)]);

    assert_eq!(
        not_taken(&prompt, RESPONSES, &Model::default()),
        ["@./a.png"]
    );
    assert_eq!(
        spell(&prompt, &parameters())["input"][0]["content"],
        json!([
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
            {"type": "input_file", "filename": "b.pdf", "file_data": "data:application/pdf;base64,aGk="},
            {"type": "input_text", "text": "@./c.txt:\n```\nc\n```"},
            {"type": "input_text", "text": "@./a.png"},
        ])
    );
}

#[test]
fn ids_have_the_maximum_length_of_the_api() {
    let long = "x".repeat(80);
    let messages = vec![
        assistant(vec![call(&long, "bash", "{}"), call("a.b", "bash", "{}")]),
        user(vec![result(&long, "", false), result("a.b", "", false)]),
    ];
    let body = spell(&prompt(messages), &parameters());
    let ids: Vec<&Value> = (0..4).map(|at| &body["input"][at]["call_id"]).collect();
    let cut = format!("{}_zsFO4H9j4", "x".repeat(54));
    assert_eq!(ids, [cut.as_str(), "a_b", cut.as_str(), "a_b"]);
}

#[test]
fn the_files_of_a_result_are_pieces_of_its_output() {
    let body = body(RESPONSES, &shows_files(), &parameters());
    let output = body["input"].as_array().unwrap().last().unwrap();
    assert_eq!(
        *output,
        json!({"type": "function_call_output", "call_id": "a", "output": [
            {"type": "input_text", "text": "[a.png]"},
            {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
            {"type": "input_file", "filename": "b.pdf", "file_data": "data:application/pdf;base64,aGk="},
        ]})
    );
}
